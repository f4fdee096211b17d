"""Where a member works, and what it may run: `member create --cwd` and `--allow`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet
from tests.harness.journals import Recorders
from tests.harness.program import Program, Result
from tests.harness.refusals import assert_refused
from tests.harness.tmux import TmuxServer


class Create:
    def __init__(self, cafleet: Program, fleet: Fleet) -> None:
        self.cafleet, self.home, self.fleet_id = cafleet, fleet.director.pane, str(fleet.fleet_id)

    def __call__(self, *options: str | bytes, cwd: Path | None = None) -> Result:
        words = ("--fleet-id", self.fleet_id, "--name", "n", "--description", "d", "--json")
        return self.cafleet.run("member", "create", *words, *options, "hi", pane=self.home, cwd=cwd)


@pytest.fixture
def create(cafleet: Program, fleet: Fleet) -> Create:
    return Create(cafleet, fleet)


@pytest.mark.parametrize("name", ["plain", "a b\nc", "-P", "$(id)`id`#{pid};", "界", b"\xff\x01"])
def test_it_works_in_the_folder_that_is_named(
    name: str | bytes, create: Create, recorders: Recorders, tmp_path: Path
) -> None:
    folder = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    os.mkdir(folder)
    for said in (folder, os.fsencode(tmp_path.name) + b"/./" + os.fsencode(name)):
        made = create("--cwd", said, cwd=tmp_path.parent).json()
        pane = made["placement"]["mux_pane_id"]
        assert os.fsencode(recorders.of(pane).started()["cwd"]) == folder
        create.cafleet.run("member", "delete", str(made["member_id"])).ok()


def test_a_folder_that_cannot_be_entered_is_refused_before_anything_is_made(
    create: Create, database: Database, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    before = (database.dump(), tmux_server.panes())
    for folder in (tmp_path / "none", tmp_path / "file", "", " "):
        code = 1 if str(folder).strip() else 2
        assert_refused(create("--cwd", str(folder)), code, "--cwd")
    assert (database.dump(), tmux_server.panes()) == before


def test_what_is_allowed_reaches_the_agent(
    create: Create, recorders: Recorders, database: Database, tmux_server: TmuxServer
) -> None:
    allow = ("--allow", "make test*", "--allow", "git push")
    pane = create(*allow).json()["placement"]["mux_pane_id"]
    argv = recorders.of(pane).started()["argv"]
    assert {"Bash(make test*)", "Bash(git push)"} < set(argv)
    codex = create(*allow, "--coding-agent", "codex", "--allow-same-name")
    assert "its sandbox decides" in codex.stderr
    pane = codex.json()["placement"]["mux_pane_id"]
    assert "make test*" not in json.dumps(recorders.of(pane).started()["argv"])
    before = (database.dump(), tmux_server.panes())
    for pattern in ("*", "", "**", "?*", " ", "sh *", "x) Bash(*"):
        assert_refused(create("--allow", "make", "--allow", pattern), 2, "--allow")
    assert (database.dump(), tmux_server.panes()) == before
