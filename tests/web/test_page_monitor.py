"""The card of the monitor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.harness.crew import CrewMaker
from tests.harness.journals import Recorders
from tests.harness.loops import running
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.harness.web import WebServer, serving
from tests.web.crews import after

pytestmark = pytest.mark.xdist_group("browser")
FLEET = "/#/fleets/1/members"


@pytest.fixture
def web(cafleet: Program, registry: Registry) -> Iterator[WebServer]:
    """A server that shares its runtime folder with the loops of a test."""
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.record_assets(Path(cafleet.environment["HOME"]))
    with serving(cafleet) as server:
        yield server


@pytest.fixture
def crew(registry: Registry, tmux_server: TmuxServer, recorders: Recorders) -> CrewMaker:
    return CrewMaker(registry, tmux_server, recorders)


def test_a_monitor_that_never_ran(registry: Registry, window: Page) -> None:
    registry.crew("ann")
    window.goto(FLEET)
    card = window.get_by_role("region", name="Monitor")
    expect(card).to_contain_text("never ran")
    expect(card.get_by_label("Wake interval, seconds")).to_be_disabled()
    expect(card.get_by_role("button", name="Wake now")).to_be_disabled()


def test_a_stopped_monitor_and_its_interval(registry: Registry, window: Page) -> None:
    registry.crew("ann")
    registry.rows(
        "INSERT INTO monitor_runtime (fleet_id, pid, started_at, last_tick_at, tick_seconds) "
        "VALUES (1, 1, ?, ?, 5)",
        after(0),
        after(0),
    )
    window.goto(FLEET)
    card = window.get_by_role("region", name="Monitor")
    field = card.get_by_label("Wake interval, seconds")
    save = card.get_by_role("button", name="Save")
    expect(card).to_contain_text("stopped")
    expect(card).to_contain_text("Not set")
    expect(field).to_have_value("")
    expect(save).to_be_disabled()
    for wrong in ("-1", "1.5", "1e3", "x", "0x1F", "١"):
        field.fill(wrong)
        expect(card).to_contain_text("Whole seconds, 0 or more.")
        expect(save).to_be_disabled()
    field.fill("90")
    expect(card).to_contain_text("Every 1 min 30 s.")
    save.click()
    expect(card).to_contain_text("Interval saved.")
    interval = "SELECT wake_interval_seconds FROM monitor_runtime"
    assert registry.value(interval) == 90
    field.fill("x")
    expect(card.get_by_text("Interval saved.")).to_have_count(0)
    field.fill("0")
    # What is being edited stays, whatever comes from elsewhere.
    registry.rows("UPDATE monitor_runtime SET wake_interval_seconds = 300")
    window.wait_for_timeout(1_000)
    expect(field).to_have_value("0")
    field.press("Enter")
    wait_for(lambda: registry.value(interval) == 0, "the interval is stored")
    expect(save).to_be_disabled()
    registry.rows("UPDATE monitor_runtime SET wake_interval_seconds = 300")
    expect(field).to_have_value("300")


@pytest.mark.parametrize("seconds", [2**53 + 1, 2**63 - 1, 1234567890123456789])
def test_a_long_interval_is_shown_and_stored_to_the_last_digit(
    registry: Registry, window: Page, seconds: int
) -> None:
    registry.crew("ann")
    registry.rows(
        "INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds) VALUES (1, ?)", seconds
    )
    window.goto(FLEET)
    card = window.get_by_role("region", name="Monitor")
    field = card.get_by_label("Wake interval, seconds")
    save = card.get_by_role("button", name="Save")
    expect(field).to_have_value(str(seconds))
    expect(card).to_contain_text(f"Every {seconds} s.")
    interval = "SELECT wake_interval_seconds FROM monitor_runtime"
    for written, stored in ((f"00{seconds - 1}", seconds - 1), (str(seconds), seconds)):
        field.fill(written)
        save.click()
        expect(card).to_contain_text("Interval saved.")
        expect(field).to_have_value(str(stored))
        assert registry.value(interval) == stored
    for wrong in (2**63, 10**30):
        field.fill(str(wrong))
        expect(card).to_contain_text("At most 9223372036854775807 seconds.")
        expect(save).to_be_disabled()


def test_a_running_monitor(
    cafleet: Program, registry: Registry, crew: CrewMaker, window: Page
) -> None:
    crew.make("ann")
    window.goto(FLEET)
    card = window.get_by_role("region", name="Monitor")
    expect(card).to_contain_text("never ran")
    with running(cafleet, registry, "--tick", "1", "--interval", "0") as loop:
        expect(card.locator(".state")).to_have_text("running")
        expect(card).to_contain_text(str(loop.pid))
        expect(card).to_contain_text("Scheduled wakes are off.")
        expect(card).to_contain_text("0 s ago")
        card.get_by_role("button", name="Wake now").click()
        expect(card).to_contain_text("Wake requested at")
        cafleet.run("monitor", "stop", "1").ok()
        expect(card.locator(".state")).to_have_text("stopped")
    expect(card.get_by_role("button", name="Wake now")).to_be_disabled()


def test_a_monitor_that_died_is_noticed(
    cafleet: Program, registry: Registry, crew: CrewMaker, window: Page
) -> None:
    crew.make("ann")
    with running(cafleet, registry, "--tick", "1") as loop:
        window.goto(FLEET)
        state = window.get_by_role("region", name="Monitor").locator(".state")
        expect(state).to_have_text("running")
        loop.kill()
        loop.wait()
    # Nobody writes that it is dead; the page asks once its tick is overdue.
    expect(state).to_have_text("stopped", timeout=40_000)
