"""The composer: whom a draft is for, and what the keys do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.harness.registry import Registry
from tests.web.crews import ANN, BOB, DIRECTOR

pytestmark = pytest.mark.xdist_group("browser")

FLEET = "/#/fleets/1/members"
REFUSED = {
    "hello": "Begin with @name or @all.",
    "@nobody hello": "No active member has this name.",
    "@annette hello": "No active member has this name.",
    "@gone hello": "No active member has this name.",
    "@ann": "Write a message after the name.",
    "@ann \n ": "Write a message after the name.",
}

Stored = Callable[[], list[tuple[Any, ...]]]


@pytest.fixture
def stored(registry: Registry) -> Stored:
    """Gives the deliveries that are in the registry: sender, recipient, text."""
    return lambda: registry.rows(
        "SELECT from_member_id, to_member_id, text FROM messages WHERE type = 'unicast' "
        "ORDER BY message_id"
    )


def draft(window: Page) -> Locator:
    """The text field, on a page that knows the fleet's members."""
    window.goto(FLEET)
    expect(window.get_by_role("link", name="monitor")).to_be_visible()
    return window.get_by_label("Message", exact=True)


def test_enter_sends_and_shift_enter_breaks_the_line(
    registry: Registry, window: Page, stored: Stored
) -> None:
    registry.crew("ann", "bob")
    text = draft(window)
    text.press_sequentially("@ann first")
    expect(window.get_by_text("To: ann #3")).to_be_visible()
    text.press("Shift+Enter")
    text.press_sequentially("  second ")
    assert stored() == []
    text.press("Enter")
    expect(window.locator(".entry")).to_contain_text("second")
    expect(text).to_have_value("")
    assert stored() == [(DIRECTOR, ANN, "first\n  second ")]


def test_all_is_everyone_else(registry: Registry, window: Page, stored: Stored) -> None:
    registry.crew("ann", "all")
    text = draft(window)
    text.fill("@all freeze")
    expect(window.get_by_text("To: everyone")).to_be_visible()
    window.get_by_role("button", name="Send").click()
    expect(window.locator(".entry")).to_contain_text("3 fetched recipients")
    assert [to for _, to, _ in stored()] == [2, ANN, BOB]


def test_completion_by_keyboard(registry: Registry, window: Page, stored: Stored) -> None:
    registry.crew("ann", "joanna", "hannah smith")
    text = draft(window)
    options = window.get_by_role("listbox", name="Members").get_by_role("option")
    text.press_sequentially("@AN")
    expect(options).to_have_text(["@ann#3 member", "@joanna#4 member", "@hannah smith#5 member"])
    expect(options.nth(0)).to_have_attribute("aria-selected", "true")
    text.press("ArrowUp")
    chosen = options.nth(2)
    expect(chosen).to_have_attribute("aria-selected", "true")
    expect(text).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "none")
    text.press("Enter")
    expect(text).to_have_value("@hannah smith ")
    expect(options).to_have_count(0)
    text.press_sequentially("hi")
    text.press("Enter")
    expect(window.locator(".entry")).to_contain_text("hi")
    assert stored() == [(DIRECTOR, 5, "hi")]
    text.press_sequentially("@")
    expect(options).to_have_count(6)
    text.press("Escape")
    expect(options).to_have_count(0)
    expect(text).to_have_value("@")


def test_members_of_one_name_are_told_apart(
    registry: Registry, window: Page, stored: Stored
) -> None:
    registry.crew("ann", "ann")
    text = draft(window)
    text.fill("@ann hi")
    text.press("Enter")
    expect(window.get_by_role("alert")).to_have_text(
        "More than one member has this name: write @ann#3 or @ann#4."
    )
    expect(text).to_have_value("@ann hi")
    assert stored() == []
    text.fill("@ann")
    window.get_by_role("option", name="#4").click()
    expect(text).to_have_value("@ann#4 ")
    text.press_sequentially("hi")
    text.press("Enter")
    expect(window.locator(".entry")).to_contain_text("hi")
    assert stored() == [(DIRECTOR, 4, "hi")]


def test_what_is_not_sent(registry: Registry, window: Page, stored: Stored) -> None:
    registry.crew("ann", "gone")
    registry.rows("UPDATE members SET status = 'deregistered' WHERE name = 'gone'")
    text = draft(window)
    for written, told in REFUSED.items():
        text.fill(written)
        expect(window.get_by_role("alert")).to_have_text("")
        window.get_by_role("button", name="Send").click()
        expect(window.get_by_role("alert")).to_have_text(told)
        expect(text).to_have_value(written)
    assert stored() == []


def test_a_failed_send_keeps_the_draft_and_can_be_tried_again(
    registry: Registry, window: Page, stored: Stored
) -> None:
    registry.crew("ann")
    text = draft(window)
    fails = True

    def answer(route: Route) -> None:
        route.abort() if fails else route.continue_()

    window.route("**/api/messages/send", answer)
    text.fill("@ann hi")
    text.press("Enter")
    expect(window.get_by_role("alert")).to_contain_text("may be stored")
    expect(text).to_have_value("@ann hi")
    fails = False
    window.get_by_role("button", name="Retry sending").click()
    expect(window.locator(".entry")).to_contain_text("hi")
    assert stored() == [(DIRECTOR, ANN, "hi")]


def test_a_draft_outlives_a_look_at_another_fleet(registry: Registry, window: Page) -> None:
    registry.crew("ann")
    registry.crew("zoe")
    text = draft(window)
    text.fill("@ann not yet")
    window.goto("/#/fleets/2/members")
    expect(window.get_by_role("link", name="zoe")).to_be_visible()
    expect(text).to_have_value("")
    window.go_back()
    expect(text).to_have_value("@ann not yet")


def test_how_names_are_read(registry: Registry, window: Page) -> None:
    """Pairs of a draft and what it means: the id of the recipient and the text, or a refusal."""
    names = ["ann", "ann b", "x#9", "x", "a\u202eb", "Ann", "all", ""]
    members = [{"member_id": 3 + place, "name": name} for place, name in enumerate(names)]
    meanings = {
        "@ann hi": [3, "hi"],
        "@ann b hi": [4, "hi"],
        "@ann  b": [3, "b"],
        "@ann#3 b hi": [3, "b hi"],
        "  @Ann\nhi": [8, "hi"],
        "@ANN hi": None,
        "@X hi": [6, "hi"],
        "@x#9 hi": [5, "hi"],
        "@#10 hi": [10, "hi"],
        "@all hi": ["*", "hi"],
        "@ALL hi": ["*", "hi"],
        "@all#9 hi": [9, "hi"],
        "@anna hi": None,
        "@ hi": None,
        "hi @ann": None,
    }
    window.goto("/")
    read = window.evaluate(
        """async ([drafts, members]) => {
            const { read } = await import("/static/mentions.js");
            return drafts.map((draft) => {
                const found = read(draft, members);
                return found.problem === undefined ? [found.to, found.text] : null;
            });
        }""",
        [list(meanings), members],
    )
    assert dict(zip(meanings, read, strict=True)) == meanings
    mentions = window.evaluate(
        """async (members) => {
            const { mention } = await import("/static/mentions.js");
            return members.map((member) => mention(member, members));
        }""",
        members,
    )
    assert mentions == ["ann", "ann b", "x#9", "x", "#7", "Ann", "all#9", "#10"]
