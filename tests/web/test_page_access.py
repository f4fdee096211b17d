"""The page by keyboard, on a phone, in the dark, and as axe-core sees it."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.harness.web import serving
from tests.web.browsing import Profiles, keep
from tests.web.crews import ANN, BOB, DIRECTOR, after, past_broadcast

pytestmark = pytest.mark.xdist_group("browser")

FLEET = "/#/fleets/1/members"
PHONE = {"width": 320, "height": 640}
DESK = {"width": 1280, "height": 800}


@pytest.fixture
def busy_fleet(registry: Registry) -> Registry:
    """A fleet with something of everything."""
    registry.crew("ann", "bob the builder", "w" * 120, "مهندس", "gone")
    registry.rows("UPDATE fleets SET name = 'release 2.4' WHERE fleet_id = 1")
    registry.fleet(name="x" * 200)
    registry.place(ANN, "%3", coding_agent="codex")
    registry.place(BOB, None)
    registry.message(DIRECTOR, 7, "You are no longer needed.", created_at=after(5))
    registry.rows("UPDATE members SET status = 'deregistered' WHERE name = 'gone'")
    registry.message(ANN, DIRECTOR, "line\n" * 40, created_at=after(10))
    past_broadcast(registry, "Freeze: nobody merges.", {ANN: after(30), BOB: None, 5: None})
    registry.message(6, DIRECTOR, "مرحبا بالعالم", created_at=after(40))
    for seconds, state in enumerate(["held", "unreachable", "unsure", "submitted", "seen"]):
        registry.message(
            DIRECTOR, ANN, f"notice {state}", created_at=after(50 + seconds), delivery_state=state
        )
    registry.message(5, DIRECTOR, "u" * 400, created_at=after(90))
    registry.rows(
        "INSERT INTO monitor_runtime (fleet_id, tick_seconds, wake_interval_seconds) "
        "VALUES (1, 5, 600)"
    )
    return registry


def picker(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("link", name="release 2.4")).to_be_visible()


def fleet(page: Page) -> None:
    page.goto(FLEET)
    expect(page.locator(".entry").last).to_be_in_viewport()
    expect(page.get_by_text("Every 10 min.")).to_be_attached()


def completion(page: Page) -> None:
    fleet(page)
    page.get_by_label("Message", exact=True).fill("@")
    expect(page.get_by_role("option").first).to_be_visible()


def member(page: Page) -> None:
    page.goto(f"{FLEET}/{ANN}")
    panel = page.get_by_role("complementary", name="ann")
    panel.get_by_role("button", name="Life line").first.click()
    expect(panel.locator(".life strong").last).to_be_visible()


def failed(page: Page) -> None:
    refusal = "The database is locked."
    page.route("**/api/members", lambda route: route.fulfill(status=500, json={"detail": refusal}))
    page.goto("/")
    page.goto(FLEET)
    expect(page.get_by_text(refusal)).to_be_attached()


VIEWS = [picker, fleet, completion, member, failed]


@pytest.mark.usefixtures("busy_fleet")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_views(profile: Profiles, scheme: str) -> None:
    for width, size in (("desk", DESK), ("phone", PHONE)):
        page = profile(viewport=size, color_scheme=scheme, reduced_motion="reduce").new_page()
        for view in VIEWS:
            view(page)
            name = f"{view.__name__}-{width}-{scheme}"
            keep(page, name)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            found = Axe().run(page).response["violations"]
            serious = [each for each in found if each["impact"] in {"serious", "critical"}]
            assert serious == [], name


@pytest.mark.usefixtures("busy_fleet")
def test_dark_and_light_differ(profile: Profiles) -> None:
    grounds = set()
    for scheme in ("light", "dark"):
        page = profile(color_scheme=scheme).new_page()
        picker(page)
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds == {"rgb(244, 246, 245)", "rgb(14, 19, 18)"}


@pytest.mark.usefixtures("busy_fleet")
def test_the_page_by_keyboard_alone(window: Page, busy_fleet: Registry) -> None:
    picker(window)
    focused = window.locator(":focus")

    def tab_to(name: str, *, most: int = 60) -> None:
        for _ in range(most):
            window.keyboard.press("Tab")
            outline = focused.evaluate("(each) => getComputedStyle(each).outlineStyle")
            assert outline != "none", "what has the focus shows it"
            label = focused.evaluate(
                "(each) => each.ariaLabel ?? each.labels?.[0]?.innerText ?? each.innerText"
            )
            if label.startswith(name):
                return
        raise AssertionError(f"Tab does not lead to {name}")

    tab_to("Skip to the content")
    window.keyboard.press("Enter")
    expect(window.get_by_role("main")).to_be_focused()
    tab_to("release 2.4")
    window.keyboard.press("Enter")
    expect(window.locator(".entry").last).to_be_in_viewport()
    expect(window.get_by_role("main")).to_be_focused()

    tab_to("ann")
    window.keyboard.press("Enter")
    panel = window.get_by_role("complementary", name="ann")
    expect(panel.get_by_role("heading")).to_be_focused()
    tab_to("Inbox")
    window.keyboard.press("ArrowRight")
    expect(panel.get_by_role("tab", name="Sent")).to_be_focused()
    expect(panel.get_by_role("tabpanel", name="Sent")).to_be_visible()
    tab_to("Life line")
    window.keyboard.press("Enter")
    expect(panel.locator(".life:visible strong").last).to_be_visible()
    window.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(window.get_by_role("navigation").get_by_role("link", name="ann")).to_be_focused()

    tab_to("Messages")
    scroller = window.get_by_role("region", name="Messages")
    window.keyboard.press("Home")
    wait_for(lambda: scroller.evaluate("(each) => each.scrollTop === 0"), "the first is in view")
    tab_to("Show all 200 characters")
    window.keyboard.press("Enter")
    expect(scroller.get_by_role("button", name="Show less")).to_be_focused()
    tab_to("Message")
    window.keyboard.type("@ann thanks")
    window.keyboard.press("Enter")
    expect(window.locator(".entry").last).to_contain_text("thanks")
    assert (
        busy_fleet.value("SELECT text FROM messages ORDER BY message_id DESC LIMIT 1") == "thanks"
    )


@pytest.mark.usefixtures("busy_fleet")
def test_a_phone_unfolds_members_and_monitor(profile: Profiles) -> None:
    page = profile(viewport=PHONE, has_touch=True).new_page()
    fleet(page)
    unfold = page.get_by_role("button", name="Members and monitor")
    expect(page.get_by_role("navigation")).to_be_hidden()
    unfold.tap()
    expect(unfold).to_have_attribute("aria-expanded", "true")
    page.get_by_role("navigation").get_by_role("link", name="ann").tap()
    panel = page.get_by_role("complementary", name="ann")
    box = panel.bounding_box()
    assert box is not None
    assert box["width"] == PHONE["width"]
    page.get_by_role("link", name="Close the member's panel").tap()
    expect(panel).to_have_count(0)


@pytest.mark.usefixtures("busy_fleet")
def test_nothing_moves_for_those_who_want_no_motion(profile: Profiles) -> None:
    moving = (
        "[...document.querySelectorAll('*')].filter((each) => { const style = "
        "getComputedStyle(each); return style.transitionDuration !== '0s' || "
        "style.animationName !== 'none' || style.scrollBehavior !== 'auto'; }).length"
    )
    page = profile(reduced_motion="reduce").new_page()
    fleet(page)
    assert page.evaluate(moving) == 0


def test_a_banner_warns_where_other_machines_reach_the_server(
    program: Program, window: Page, busy_fleet: Registry
) -> None:
    banner = window.get_by_role("complementary", name="Warning")
    fleet(window)
    expect(banner).to_be_hidden()
    with serving(program, "--host", "0.0.0.0") as server:
        window.goto(f"http://127.0.0.1:{server.port}{FLEET}")
        expect(window.locator(".entry").last).to_be_in_viewport()
        expect(banner).to_contain_text("sends as any member")
        expect(banner).to_be_in_viewport()
        keep(window, "exposed")
