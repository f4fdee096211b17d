"""`member restart`, `fleet pause` and `fleet resume` killed before every statement, file operation and
call of tmux: the next `fleet resume` completes what was cut off."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.harness.journals import Recorders
from tests.harness.loops import end_loops
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.test_killed_creations import FLEET, MEMBER, Killing

pytestmark = pytest.mark.slow


class Fleet(Killing):
    """A fleet of three, from whose state each try begins anew."""

    def __init__(
        self, cafleet: Program, registry: Registry, server: TmuxServer, recorders: Recorders
    ) -> None:
        cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
        (recorders.programs / "claude").write_text("#!/bin/sh\nexec sleep 1000\n")
        self.other = server.session("other")
        director = server.session("main")
        cafleet.run(*FLEET, pane=director).ok()
        cafleet.run(*MEMBER, pane=director).ok()
        end_loops(registry.path.parents[1])
        # The file is copied, so all has to stand in it.
        checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)"
        wait_for(lambda: registry.rows(checkpoint) == [(0, 0, 0)], "nothing is left in the log")
        self.director = director
        self._digests = Path(cafleet.environment["HOME"]) / ".config/cafleet/launches"
        self._kept = registry.path.parent.parent / "launches-kept"
        shutil.copytree(self._digests, self._kept)
        super().__init__(cafleet, registry, server, recorders, self.other)

    def remember(self) -> None:
        """Begin each try from here."""
        self.panes = self._panes()

    def before(self) -> None:
        super().before()
        shutil.rmtree(self._digests)
        shutil.copytree(self._kept, self._digests)

    def completes(self) -> None:
        """The next resume brings everybody back, once."""
        assert self.database.rows("SELECT DISTINCT status FROM members") == [("active",)]
        resumed = self.cafleet.run("fleet", "resume", "1", "--json")
        assert resumed.exit_code == 0, resumed
        outcomes: list[dict[str, Any]] = resumed.json()["members"]
        assert {each["outcome"] for each in outcomes} <= {"left", "back"}, outcomes
        placed = dict(self.database.rows("SELECT member_id, mux_pane_id FROM member_placements"))
        tagged = {pane: int(tag.split(":")[2]) for pane, tag in self.tags().items() if tag}
        assert sorted(tagged.values()) == [1, 2, 3], (tagged, placed)
        assert {pane: member_id for member_id, pane in placed.items()} == tagged
        assert self.database.value("SELECT paused_at FROM fleets") is None
        prompts = self.database.rows("SELECT prompt FROM member_launches WHERE member_id = 3")
        assert prompts == [("hi",)]


@pytest.fixture
def fleet(
    cafleet: Program, registry: Registry, tmux_server: TmuxServer, recorders: Recorders
) -> Fleet:
    return Fleet(cafleet, registry, tmux_server, recorders)


def test_a_restart_that_is_killed_is_completed(fleet: Fleet, tmux_server: TmuxServer) -> None:
    gone = next(pane for pane, tag in fleet.tags().items() if tag.split(":")[2:3] == ["3"])
    tmux_server.run("kill-pane", "-t", gone)
    fleet.remember()
    assert fleet.run(("member", "restart", "3"), fleet.completes) > 20


def test_a_resume_that_is_killed_is_completed(fleet: Fleet, tmux_server: TmuxServer) -> None:
    """The Director's pane is gone as well."""
    for pane, tag in fleet.tags().items():
        if tag:
            tmux_server.run("kill-pane", "-t", pane)
    fleet.remember()
    fleet.environment = fleet.cafleet.environment
    assert fleet.run(("fleet", "resume", "1"), fleet.completes) > 40


def test_a_pause_that_is_killed_is_completed_or_undone(fleet: Fleet) -> None:
    # A pause closes the others; each try needs them again, in new panes.
    fleet.panes = {pane: tag for pane, tag in fleet.tags().items() if not tag or ":1:1:" in tag}

    def before() -> None:
        Fleet.before(fleet)
        fleet.cafleet.run("fleet", "resume", "1").ok()
        end_loops(fleet.database.path.parents[1])

    fleet.before = before  # type: ignore[method-assign]
    assert fleet.run(("fleet", "pause", "1", "--now"), fleet.completes) > 10
