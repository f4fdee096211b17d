"""What a page shows follows the database, whatever fails in between."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.web import serving
from tests.web.browsing import Profiles
from tests.web.crews import ANN, NAMES, send

pytestmark = pytest.mark.xdist_group("browser")

FLEET = "/#/fleets/1/members"


def test_every_window_shows_a_message_without_a_reload(
    program: Program, registry: Registry, profile: Profiles
) -> None:
    registry.crew(*NAMES)
    first = profile()
    windows = [first.new_page(), first.new_page(), profile().new_page()]
    for page in windows:
        page.goto(FLEET)
        expect(page.get_by_text("No messages yet.")).to_be_visible()
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        page.evaluate("window.mark = 1")
    send(program, "build OK")
    for page in windows:
        expect(page.locator(".entry")).to_contain_text("build OK")
        expect(page.locator("#announcer")).to_have_text("ann to Director: build OK")
        assert page.evaluate("window.mark") == 1
    # The window that listened for all of this profile is closed; the next one takes over.
    windows.pop(0).close()
    send(program, "second")
    for page in windows:
        expect(page.locator(".entry").last).to_contain_text("second")


def test_what_is_as_it_was_does_not_travel_again(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew(*NAMES)
    send(program, "first")
    window.goto(FLEET)
    expect(window.locator(".entry")).to_contain_text("first")
    expect(window.get_by_text("Live", exact=True)).to_be_visible()
    with (
        window.expect_response("**/api/timeline*") as timeline,
        window.expect_response("**/api/members") as members,
    ):
        registry.rows("INSERT INTO monitor_runtime (fleet_id) VALUES (1)")
    assert timeline.value.status == members.value.status == 304
    expect(window.locator(".entry")).to_contain_text("first")
    expect(window.get_by_role("button", name="Retry")).to_have_count(0)
    send(program, "second")
    expect(window.locator(".entry").last).to_contain_text("second")


def test_without_events_the_page_polls(program: Program, registry: Registry, window: Page) -> None:
    registry.crew(*NAMES)
    window.route("**/api/changes", lambda route: route.abort())
    window.goto(FLEET)
    expect(window.get_by_text("Polling", exact=True)).to_be_visible()
    expect(window.get_by_text("No messages yet.")).to_be_visible()
    send(program, "build OK")
    expect(window.locator(".entry")).to_contain_text("build OK")


def test_a_server_that_is_killed_and_started_again(
    program: Program, registry: Registry, profile: Profiles
) -> None:
    registry.crew(*NAMES)
    send(program, "before")
    with serving(program) as server:
        window = profile(base_url=f"http://127.0.0.1:{server.port}").new_page()
        window.goto(FLEET)
        expect(window.locator(".entry")).to_contain_text("before")
    unanswered = window.get_by_text("The server does not answer.")
    expect(window.get_by_text("Server not reached")).to_be_visible()
    expect(unanswered.first).to_be_visible()
    expect(window.locator(".entry")).to_contain_text("before")
    send(program, "meanwhile")
    with serving(program, port=server.port):
        expect(window.locator(".entry").last).to_contain_text("meanwhile")
        expect(window.get_by_text("Live", exact=True)).to_be_visible()
        expect(unanswered).to_have_count(0)


def test_a_database_that_goes_away_and_comes_back(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew(*NAMES)
    send(program, "before")
    window.goto(FLEET)
    expect(window.locator(".entry")).to_contain_text("before")
    away = registry.path.with_suffix(".away")
    registry.path.rename(away)
    retry = window.get_by_role("button", name="Retry loading the timeline")
    expect(retry).to_be_visible()
    expect(window.locator(".entry")).to_contain_text("before")
    away.rename(registry.path)
    expect(retry).to_be_hidden()
    send(program, "after")
    expect(window.locator(".entry").last).to_contain_text("after")


def test_a_part_that_fails_leaves_the_others_alone(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew(*NAMES)
    send(program, "build OK")
    shown = {
        "members": window.get_by_role("link", name="bob"),
        "timeline": window.locator(".entry"),
        "monitor": window.get_by_text("never ran"),
    }
    failing = ""

    def answer(route: Route) -> None:
        if failing and f"/api/{failing}" in route.request.url:
            route.fulfill(status=500, json={"detail": "a bad row"})
        else:
            route.continue_()

    window.route("**/api/*", answer)
    notice = window.get_by_text("a bad row", exact=True)
    for failing in shown:
        window.goto("/")
        window.goto(FLEET)
        for part, what in shown.items():
            expect(what.first).to_be_visible(visible=part != failing)
        expect(notice).to_be_visible()
        part = failing
        with window.expect_request(re.compile(rf"/api/{part}")):
            window.get_by_role("button", name="Retry").click()
        # From here on any change may ask again, before a second click could.
        failing = ""
        send(program, "more")
        expect(shown[part].first).to_be_visible()
        expect(notice).to_be_hidden()
        # What is shown already stays when its next answer fails.
        failing = part
        send(program, "another")
        expect(notice).to_be_visible()
        expect(shown[part].first).to_be_visible()


def test_a_part_that_is_slow_leaves_the_others_alone(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew(*NAMES)
    send(program, "build OK")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    window.route("**/api/members", hold)
    window.goto(FLEET)
    expect(window.locator(".entry")).to_contain_text("build OK")
    send(program, "another")
    expect(window.locator(".entry").last).to_contain_text("another")
    held[0].continue_()
    expect(window.get_by_role("link", name="bob")).to_be_visible()


def test_a_fleet_switch_shows_nothing_of_the_old_fleet(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew(*NAMES)
    other, *_ = registry.crew("zoe")
    send(program, "secret of the first fleet")
    registry.message(other, other, "news of the second fleet")
    held: list[Route] = []

    def hold(route: Route) -> None:
        old = route.request.headers.get("x-fleet-id") == "1"
        held.append(route) if old else route.continue_()

    window.route("**/api/timeline*", hold)
    window.route("**/api/members*", hold)
    window.goto(FLEET)
    expect(window.locator("#place")).to_have_text("f")
    window.evaluate("""() => {
        window.seen = "";
        const note = () => (window.seen += document.body.innerText);
        new MutationObserver(note).observe(document, {subtree: true, childList: true});
    }""")
    window.goto("/#/fleets/2/members")
    expect(window.get_by_text("news of the second fleet")).to_be_visible()
    for route in held:
        route.continue_()
    send(program, "more", sender=other, recipient=other)
    expect(window.locator(".entry").last).to_contain_text("more")
    seen = window.evaluate("window.seen")
    assert "news of the second fleet" in seen
    assert "secret of the first fleet" not in seen
    assert "ann" not in seen.split()


def test_broadcasts_are_one_entry(program: Program, registry: Registry, window: Page) -> None:
    registry.crew(*NAMES)
    window.goto(FLEET)
    expect(window.get_by_text("No messages yet.")).to_be_visible()
    program.run("message", "broadcast", "--from-member-id", "1", "Freeze").ok()
    entry = window.locator(".entry")
    expect(entry).to_have_count(1)
    expect(entry).to_contain_text("everyone")
    summary = entry.locator("summary")
    expect(summary).to_have_text("3 fetched recipients, 0 ACKs")
    summary.click()
    expect(entry.get_by_role("link", name="bob")).to_be_visible()
    acked = registry.value("SELECT message_id FROM messages WHERE to_member_id = ?", ANN)
    program.run("message", "ack", str(acked)).ok()
    expect(summary).to_have_text("3 fetched recipients, 1 ACK")
    assert "ann: " in (summary.get_attribute("title") or "")
    row = entry.locator(f"[data-message='{acked}']")
    expect(row.get_by_text("ACK", exact=True)).to_have_attribute(
        "title", re.compile("Acknowledged .*20")
    )
    # It was unfolded, and stays so.
    expect(entry.get_by_role("link", name="bob")).to_be_visible()
    expect(window.get_by_text("Broadcast sent to")).to_have_count(0)


def test_a_fleet_switch_silences_what_was_announced(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew(*NAMES)
    registry.crew("zoe")
    announcer = window.locator("#announcer")
    for elsewhere in ("/#/fleets", "/#/fleets/2/members"):
        window.goto(FLEET)
        expect(window.get_by_role("link", name="bob").first).to_be_visible()
        expect(window.get_by_text("Loading…")).to_have_count(0)
        send(program, "secret of the first fleet")
        expect(announcer).to_have_text("ann to Director: secret of the first fleet")
        window.goto(f"{FLEET}/{ANN}")
        expect(window.get_by_role("complementary")).to_be_visible()
        expect(announcer).to_have_text("ann to Director: secret of the first fleet")
        window.goto(elsewhere)
        expect(announcer).to_be_empty()
