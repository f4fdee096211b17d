"""The addresses of the page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.harness.registry import Registry

pytestmark = pytest.mark.xdist_group("browser")

NEAREST = {
    "": "#/fleets",
    "#": "#/fleets",
    "#/fleets/": "#/fleets",
    "#/fleets/0/members": "#/fleets",
    "#/fleets/-1/members": "#/fleets",
    "#/fleets/01/members": "#/fleets",
    "#/fleets/1.0/members": "#/fleets",
    "#/fleets/1e3/members": "#/fleets",
    "#/fleets/٣/members": "#/fleets",
    "#/fleets/%31/members": "#/fleets",
    "#/other": "#/fleets",
    "#/fleets/1": "#/fleets/1/members",
    "#/fleets/1/": "#/fleets/1/members",
    "#/fleets/1/members/": "#/fleets/1/members",
    "#/fleets/1/members/x": "#/fleets/1/members",
    "#/fleets/1/members/0": "#/fleets/1/members",
    "#/fleets/1/members/3/x": "#/fleets/1/members",
    "#/fleets/1/other": "#/fleets/1/members",
}


def hash_of(window: Page) -> str:
    found = window.evaluate("location.hash")
    assert isinstance(found, str)
    return found


def test_from_the_picker_to_a_member_and_back(registry: Registry, window: Page) -> None:
    registry.crew("ann")
    registry.fleet(name=None)
    window.goto("/")
    assert hash_of(window) == "#/fleets"
    expect(window.get_by_role("main").get_by_role("link")).to_have_count(2)
    expect(window.get_by_role("link", name="Fleet 2")).to_be_visible()
    window.get_by_role("link", name="f 3 active members").click()
    expect(window).to_have_title("f – CAFleet")
    assert hash_of(window) == "#/fleets/1/members"
    window.get_by_role("link", name="ann").click()
    panel = window.get_by_role("complementary", name="ann")
    expect(panel).to_be_visible()
    assert hash_of(window) == "#/fleets/1/members/3"
    window.get_by_role("link", name="Close the member's panel").click()
    expect(panel).to_have_count(0)
    window.go_back()
    expect(panel).to_be_visible()
    window.get_by_role("link", name="CAFleet").click()
    expect(window.get_by_role("heading", name="Fleets")).to_be_visible()
    expect(window).to_have_title("Fleets – CAFleet")


def test_wrong_addresses_are_replaced(registry: Registry, window: Page) -> None:
    registry.crew("ann")
    for wrong, right in NEAREST.items():
        window.goto("/#/fleets/1/members/3")
        expect(window.get_by_role("heading", name="ann")).to_be_visible()
        window.evaluate("(hash) => (location.hash = hash)", wrong)
        expect(window).to_have_url(re.compile(f"{re.escape(right)}$"))
        # Replaced: the way back does not lead through what was wrong.
        window.go_back()
        expect(window.get_by_role("heading", name="ann")).to_be_visible()
        assert hash_of(window) == "#/fleets/1/members/3"


def test_fleets_and_members_that_do_not_exist(registry: Registry, window: Page) -> None:
    registry.crew("ann")
    registry.crew("zoe")
    window.goto("/#/fleets/77/members")
    expect(window.get_by_text("Fleet not found").first).to_be_visible()
    window.goto("/#/fleets/99999999999999999999999/members")
    expect(window.get_by_text("Fleet not found").first).to_be_visible()
    for member in ("77", "6"):  # nobody, and a member of the other fleet
        window.goto(f"/#/fleets/1/members/{member}")
        panel = window.get_by_role("complementary")
        expect(panel.get_by_text("Member not found").first).to_be_visible()
        expect(panel.get_by_text("zoe")).to_have_count(0)


def test_other_paths_serve_the_page(registry: Registry, window: Page) -> None:
    registry.crew("ann")
    for path in ("/", "/fleets", "/index.html", "/static/nothing.js"):
        window.goto(f"{path}#/fleets/1/members")
        expect(window.get_by_role("link", name="ann")).to_be_visible()
