"""The panel of a member."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.harness.program import Program
from tests.harness.registry import THEN, Registry
from tests.harness.web import WebServer
from tests.web.crews import ANN, BOB, DIRECTOR, after, past_messages, send

pytestmark = pytest.mark.xdist_group("browser")


def test_inbox_and_sent_of_a_deregistered_member(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew("ann", "bob")
    registry.message(BOB, ANN, "to ann")
    registry.message(ANN, BOB, "from ann")
    program.run("member", "delete", str(ANN)).ok()
    window.goto("/#/fleets/1/members")
    link = window.get_by_role("navigation").get_by_role("link", name="ann")
    expect(link).to_contain_text("deregistered")
    link.click()
    panel = window.get_by_role("complementary", name="ann")
    expect(link).to_have_attribute("aria-current", "true")
    expect(panel).to_contain_text("deregistered")
    expect(panel.get_by_role("tabpanel", name="Inbox").locator(".body")).to_have_text("to ann")
    panel.get_by_role("tab", name="Sent").click()
    expect(panel.get_by_role("tabpanel", name="Sent").locator(".body")).to_have_text("from ann")
    expect(panel.get_by_role("tabpanel", name="Inbox")).to_have_count(0)


def test_the_work_tree_of_a_member_is_shown(
    registry: Registry, web: WebServer, window: Page
) -> None:
    registry.crew("ann", "bob")
    registry.rows(
        "INSERT INTO member_launches (member_id, coding_agent, working_directory, agent_base,"
        " worktree, branch, launch_number, launched_at)"
        " VALUES (?, 'claude', '/t', '/c', '/t', 'b <i>', 1, ?)",
        ANN,
        THEN,
    )
    ann, bob = web.get("/api/members").ok()["members"][2:]
    assert (ann["worktree"], ann["branch"]) == ("/t", "b <i>")
    assert "worktree" not in bob
    window.goto(f"/#/fleets/1/members/{ANN}")
    expect(window.get_by_role("complementary", name="ann")).to_contain_text("/t (b <i>)")
    window.goto(f"/#/fleets/1/members/{BOB}")
    panel = window.get_by_role("complementary", name="bob")
    expect(panel).to_contain_text("Registered")
    expect(panel).not_to_contain_text("Work tree")


def test_a_member_that_only_sent_is_reached_from_its_message(
    registry: Registry, window: Page
) -> None:
    registry.crew("ann", "bob")
    registry.message(ANN, BOB, "from ann")
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = ?", ANN)
    window.goto("/#/fleets/1/members")
    expect(window.get_by_role("navigation").get_by_role("link")).to_have_count(3)
    window.locator(".entry").get_by_role("link", name="ann").click()
    panel = window.get_by_role("complementary")
    expect(panel).to_contain_text("Not in the roster")
    panel.get_by_role("tab", name="Sent").click()
    expect(panel.locator(".body:visible")).to_have_text("from ann")


def test_the_life_line_of_a_delivery(program: Program, registry: Registry, window: Page) -> None:
    registry.crew("ann", "bob")
    message = registry.message(DIRECTOR, ANN, "review this", delivery_state="held")
    registry.rows(
        "INSERT INTO delivery_events (message_id, at, state, reason, evidence) "
        "VALUES (?, ?, 'held', 'working: 3 s', ?)",
        message,
        after(5),
        "<b>esc to interrupt</b>",
    )
    window.goto(f"/#/fleets/1/members/{ANN}")
    panel = window.get_by_role("complementary")
    expect(panel.locator(".chip[data-state=held]")).to_have_text("held")
    button = panel.get_by_role("button", name="Life line")
    button.click()
    life = panel.locator(".life")
    expect(life.get_by_role("listitem")).to_have_count(2)
    expect(life).to_contain_text("working: 3 s – <b>esc to interrupt</b>")
    expect(life).to_contain_text("held (working: 3 s). The agent works; the notice is typed")
    expect(button).to_have_attribute("aria-expanded", "true")
    # It follows what happens while it is unfolded.
    program.run("message", "ack", str(message)).ok()
    expect(life).to_contain_text("The recipient has read it.")
    expect(life.get_by_role("listitem").last).to_contain_text("ACK")
    button.click()
    expect(life).to_be_hidden()


def test_new_messages_and_acks_show_in_an_open_panel(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew("ann", "bob")
    window.goto(f"/#/fleets/1/members/{ANN}")
    panel = window.get_by_role("complementary")
    expect(panel.get_by_text("Nothing was sent to this member.")).to_be_visible()
    count = window.get_by_role("navigation").get_by_role("link", name="ann").locator(".count")
    expect(count).to_be_hidden()
    registry.place(ANN, "%7")
    message = send(program, "hello", sender=BOB, recipient=ANN)
    expect(panel.locator(".entry")).to_contain_text("hello")
    expect(panel).to_contain_text("claude")
    expect(count).to_have_text("1 pending")
    expect(panel.locator(".ack")).to_have_text("no ACK yet")
    program.run("message", "ack", str(message)).ok()
    expect(panel.locator(".ack")).to_have_text("ACK")
    expect(count).to_be_hidden()


def test_the_history_of_a_member(registry: Registry, window: Page) -> None:
    registry.crew("ann", "bob")
    past_messages(registry, 450)
    window.goto(f"/#/fleets/1/members/{ANN}")
    panel = window.get_by_role("complementary")
    panel.get_by_role("tab", name="Sent").click()
    listed = panel.get_by_role("tabpanel", name="Sent").locator(".entry")
    expect(listed).to_have_count(200)
    expect(listed.first).to_contain_text("past 450")
    for count in (400, 450):
        panel.get_by_role("button", name="Show earlier messages").click()
        expect(listed).to_have_count(count)
    expect(listed.last).to_contain_text("past 1")
    expect(panel.get_by_role("button", name="Show earlier messages")).to_have_count(0)
