"""The roster: who is in the fleet, and what each has not acknowledged."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.web.crews import ANN, BOB, DIRECTOR, MONITOR, past_messages, send

pytestmark = pytest.mark.xdist_group("browser")

FLEET = "/#/fleets/1/members"


def count(window: Page, name: str) -> Locator:
    return window.get_by_role("navigation").get_by_role("link", name=name).locator(".count")


def test_what_each_member_is(registry: Registry, window: Page) -> None:
    registry.crew("ann", "bob", "gone")
    registry.place(ANN, "%3", coding_agent="codex")
    registry.place(BOB, None)
    registry.message(ANN, 5)
    registry.rows("UPDATE members SET status = 'deregistered' WHERE name = 'gone'")
    window.goto(FLEET)
    expect(window.locator(".members .about")).to_have_text(
        [
            "#1 · director · active · no pane",
            "#2 · monitor · active · no pane",
            "#3 · member · active · codex",
            "#4 · member · active · claude · pane pending",
            "#5 · member · deregistered",
        ]
    )
    expect(count(window, "gone")).to_be_hidden()


def test_what_waits_for_whom_the_monitor_does_not_watch(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew("ann", "bob")
    registry.place(ANN, "%3")
    window.goto(FLEET)
    expect(window.get_by_text("No messages yet.")).to_be_visible()
    for name in ("Director", "monitor", "ann", "bob"):
        expect(count(window, name)).to_be_hidden()
    first = send(program, "one")
    send(program, "two")
    send(program, "three", recipient=MONITOR)
    send(program, "four", recipient=BOB)
    for name, waiting in (("Director", "2"), ("monitor", "1"), ("bob", "1")):
        expect(count(window, name)).to_have_text(f"{waiting} pending")
    program.run("message", "ack", str(first)).ok()
    expect(count(window, "Director")).to_have_text("1 pending")
    expect(count(window, "ann")).to_be_hidden()


def test_a_count_says_so_while_older_messages_are_not_here(
    registry: Registry, window: Page
) -> None:
    registry.crew("ann", "bob")
    registry.place(ANN, "%3")
    for owner in (DIRECTOR, ANN):
        registry.message(BOB, owner, "due for long")
    past_messages(registry, 210)
    registry.message(ANN, DIRECTOR, "due")
    window.goto(FLEET)
    expect(count(window, "Director")).to_have_text("1+ pending")
    expect(count(window, "monitor")).to_have_text("0+ pending")
    expect(count(window, "ann")).to_have_text("1 pending")
    window.get_by_role("button", name="Show earlier messages").click()
    expect(count(window, "Director")).to_have_text("2 pending")
    expect(count(window, "monitor")).to_be_hidden()
    expect(count(window, "ann")).to_have_text("1 pending")
