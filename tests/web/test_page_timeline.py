"""The timeline: its order, its history, and texts of every kind."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from cafleet.invisible import spelled
from tests.harness.odd_texts import HIDDEN_KINDS, REAL_TEXTS
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.web.crews import ANN, BOB, DIRECTOR, after, past_broadcast, past_messages, send

pytestmark = pytest.mark.xdist_group("browser")

FLEET = "/#/fleets/1/members"
HOSTILE = (
    "<script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 1'>",
    "javascript:window.owned=1",
    "</textarea>&lt;b&gt;\"'`${1}{{1}}",
    "\x1b[31mred\x1b]0;title\x07\u009b2J",
    "a\u202etxt.exe",
)
TOP = "(element) => element.getBoundingClientRect().top"


def test_hostile_texts_are_shown_as_text(registry: Registry, window: Page) -> None:
    members = registry.crew(*HOSTILE)[2:]
    registry.rows("UPDATE fleets SET name = ?", HOSTILE[0])
    registry.rows("UPDATE members SET description = name WHERE member_id > 2")
    for member, text in zip(members, HOSTILE, strict=True):
        registry.message(member, DIRECTOR, text)
    window.goto("/")
    expect(window.get_by_role("main").get_by_role("link")).to_contain_text(HOSTILE[0])
    window.goto(FLEET)
    expect(window.locator("#place")).to_have_text(HOSTILE[0])
    shown = list(map(as_page, HOSTILE))
    expect(window.locator(".entry .body")).to_have_text(shown)
    for member, text in zip(members, shown, strict=True):
        window.goto(f"{FLEET}/{member}")
        expect(window.get_by_role("complementary").get_by_role("heading")).to_have_text(text)
    text_field = window.get_by_label("Message", exact=True)
    text_field.fill("@")
    expect(window.get_by_role("option").nth(3)).to_contain_text(HOSTILE[0])
    for tag in ("main script", "main img", "main b"):
        expect(window.locator(tag)).to_have_count(0)
    assert window.evaluate("window.owned") is None


def as_page(text: str) -> str:
    """A text as the page shows it: as everything else does, but for the glyphs of C0 and DEL."""
    glyphs = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {0x7F: 0x2421}
    return spelled(text.replace("\r\n", "\n").translate(glyphs), keep="\n\t")


def test_nothing_in_a_text_is_hidden(registry: Registry, window: Page) -> None:
    texts = [*map("a{}b".format, HIDDEN_KINDS.values()), *REAL_TEXTS.values()]
    texts = [text.replace("\ud800", "").replace("\udfff", "") for text in texts]
    name = "dir\u200bector\U000e0041"
    registry.crew(name)
    for text in texts:
        registry.message(ANN, DIRECTOR, text)
    window.goto(f"{FLEET}/{DIRECTOR}")
    expect(window.locator(".panel .entry .body").first).to_be_visible()
    shown = window.locator(".panel .entry .body").all_text_contents()
    assert sorted(shown) == sorted(map(as_page, texts))
    assert spelled(name) in window.locator(".roster").all_text_contents()[0]


def test_long_and_foreign_texts(registry: Registry, window: Page) -> None:
    registry.crew("ann", "مهندس", "n" * 300)
    long = ("word " * 2000)[:10_000]
    registry.message(ANN, DIRECTOR, "x" * 10_000, created_at=after(1))
    registry.message(ANN, DIRECTOR, long, created_at=after(2))
    registry.message(BOB, DIRECTOR, "مرحبا بالعالم", created_at=after(3))
    registry.message(5, DIRECTOR, "🦊👩‍💻 café", created_at=after(4))
    window.goto(FLEET)
    bodies = window.locator(".entry .body")
    expect(bodies).to_have_count(4)
    unfold = window.get_by_role("button", name="Show all 10,000 characters")
    expect(unfold).to_have_count(2)
    folded = bodies.nth(1).bounding_box()
    unfold.nth(1).click()
    unfolded = bodies.nth(1).bounding_box()
    assert folded is not None
    assert unfolded is not None
    assert folded["height"] < 250 < 2 * 250 < unfolded["height"]
    expect(bodies.nth(1)).to_have_text(long)
    expect(window.get_by_role("button", name="Show less")).to_have_attribute(
        "aria-expanded", "true"
    )
    directions = bodies.evaluate_all("all => all.map((each) => getComputedStyle(each).direction)")
    assert directions == ["ltr", "ltr", "rtl", "ltr"]
    expect(bodies.nth(3)).to_have_text("🦊👩‍💻 café")
    assert window.evaluate(
        "[...document.querySelectorAll('.scroller, .side')].every("
        "(each) => each.scrollWidth <= each.clientWidth)"
    )


def test_order_and_grouping(registry: Registry, window: Page) -> None:
    registry.crew("ann", "bob")
    registry.message(ANN, DIRECTOR, "second", created_at=after(10))
    registry.message(ANN, DIRECTOR, "third", created_at=after(20))
    registry.message(ANN, DIRECTOR, "tomorrow", created_at=after(86_400))
    summary = past_broadcast(registry, "first", {ANN: after(30), BOB: None})
    # One delivery of the broadcast is dated later; the entry stands at the earliest.
    registry.rows(
        "UPDATE messages SET created_at = ? WHERE origin_message_id = ? AND to_member_id = ?",
        after(15),
        summary,
        BOB,
    )
    window.goto(FLEET)
    expect(window.locator(".entry .body")).to_have_text(["first", "second", "third", "tomorrow"])
    expect(window.locator(".day")).to_have_count(2)
    expect(window.locator(".entry.broadcast summary")).to_have_text("2 fetched recipients, 1 ACK")
    # A broadcast to one is a broadcast.
    past_broadcast(registry, "alone", {ANN: None})
    expect(window.locator(".entry.broadcast")).to_have_count(2)


def test_history_beyond_a_page(program: Program, registry: Registry, window: Page) -> None:
    registry.crew("ann", "bob")
    past_messages(registry, 210)
    cut = past_broadcast(registry, "cut", {ANN: None, BOB: None, 2: None})
    past_messages(registry, 198)
    window.goto(FLEET)
    entries = window.locator(".entry")
    expect(entries).to_have_count(199)
    newest = entries.last
    expect(newest).to_be_in_viewport()
    broadcast = window.locator(f"[data-origin='{cut}'] summary")
    expect(broadcast).to_have_text("2 fetched recipients, 0 ACKs")

    earlier = window.get_by_role("button", name="Show earlier messages")
    earlier.scroll_into_view_if_needed()
    mark = window.locator(f".entry[data-message='{cut + 5}']")
    before = mark.evaluate(TOP)
    earlier.click()
    expect(entries).to_have_count(398)
    expect(broadcast).to_have_text("3 fetched recipients, 0 ACKs")
    assert abs(mark.evaluate(TOP) - before) < 2

    earlier.click()
    expect(entries).to_have_count(409)
    expect(earlier).to_have_count(0)
    # A reader of the past is not moved by what comes in, and is told of it.
    window.get_by_role("region", name="Messages").evaluate("(each) => (each.scrollTop = 400)")
    place = entries.nth(20)
    before = place.evaluate(TOP)
    send(program, "just now")
    newer = window.get_by_role("button", name="New messages below")
    expect(newer).to_be_visible()
    assert abs(place.evaluate(TOP) - before) < 2
    newer.click()
    expect(entries.last).to_be_in_viewport()
    expect(entries.last).to_contain_text("just now")
    expect(newer).to_be_hidden()


def test_an_old_message_shows_its_late_ack(
    program: Program, registry: Registry, window: Page
) -> None:
    registry.crew("ann", "bob")
    late = registry.message(ANN, BOB, "due for long")
    past_messages(registry, 250)
    window.goto(FLEET)
    window.get_by_role("button", name="Show earlier messages").click()
    ack = window.locator(f".entry[data-message='{late}'] .ack")
    expect(ack).to_have_text("no ACK yet")
    program.run("message", "ack", str(late)).ok()
    expect(ack).to_have_text("ACK")


def test_a_burst_of_more_than_a_page_leaves_no_gap(registry: Registry, window: Page) -> None:
    registry.crew("ann", "bob")
    past_messages(registry, 250)
    window.goto(FLEET)
    entries = window.locator(".entry")
    expect(entries).to_have_count(200)
    with window.expect_response(lambda response: "timeline" in response.url):
        # In one transaction, as the page could see them at worst.
        registry.rows(
            "INSERT INTO messages (owner_member_id, from_member_id, to_member_id, type, created_at,"
            " status_state, status_timestamp, text, delivery_state)"
            " SELECT owner_member_id, from_member_id, to_member_id, type, created_at,"
            " status_state, status_timestamp, 'again', 'none' FROM messages"
        )
    expect(entries).to_have_count(450)


def test_an_empty_fleet(registry: Registry, window: Page) -> None:
    registry.member(registry.fleet(name=None), "Director", kind="director")
    window.goto(FLEET)
    expect(window.locator("#place")).to_have_text("Fleet 1")
    expect(window.get_by_text("No messages yet.")).to_be_visible()
    expect(window.get_by_role("navigation").get_by_role("link")).to_have_count(1)


def test_no_fleets(registry: Registry, window: Page) -> None:
    window.goto("/")
    expect(window.get_by_text("No fleets yet.")).to_be_visible()
    registry.crew("ann")
    expect(window.get_by_role("main").get_by_role("link")).to_have_count(1)


def entries_at_the_end(registry: Registry, window: Page) -> Locator:
    """A timeline that is longer than its window, the newest message in view."""
    registry.crew("ann", "bob")
    past_messages(registry, 40)
    window.goto(FLEET)
    entries = window.locator(".entry")
    expect(entries.last).to_be_in_viewport(ratio=1)
    return entries


def test_the_end_stays_in_view_while_the_composer_grows(
    program: Program, registry: Registry, window: Page
) -> None:
    entries = entries_at_the_end(registry, window)
    text = window.get_by_label("Message", exact=True)
    text.press_sequentially("@ann")
    low = text.bounding_box()
    for number in range(6):
        text.press("Shift+Enter")
        text.press_sequentially("line")
        expect(entries.last).to_be_in_viewport(ratio=1)
        send(program, f"news {number}")
        expect(entries.last).to_contain_text(f"news {number}")
        expect(entries.last).to_be_in_viewport(ratio=1)
    high = text.bounding_box()
    assert low is not None
    assert high is not None
    assert high["height"] > low["height"] + 80
    text.press("ControlOrMeta+A")
    text.press("Delete")
    assert text.bounding_box() == low
    send(program, "after all")
    expect(entries.last).to_contain_text("after all")
    expect(entries.last).to_be_in_viewport(ratio=1)
    expect(window.get_by_role("button", name="New messages below")).to_be_hidden()


def test_a_reader_of_the_past_stays_there_while_the_composer_grows(
    program: Program, registry: Registry, window: Page
) -> None:
    entries = entries_at_the_end(registry, window)
    window.get_by_role("region", name="Messages").evaluate("(each) => (each.scrollTop = 400)")
    before = entries.nth(10).evaluate(TOP)
    text = window.get_by_label("Message", exact=True)
    for _ in range(6):
        text.press("Shift+Enter")
    send(program, "news")
    expect(window.get_by_role("button", name="New messages below")).to_be_visible()
    assert abs(entries.nth(10).evaluate(TOP) - before) < 2
