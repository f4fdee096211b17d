"""The commands of every turn load what their packages bring, and the modules that are named here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.population import Population
from tests.bench.start_up import living_courier
from tests.cli.test_command_line_help import imported
from tests.harness.registry import Registry

BARE = "import sqlite3, msgspec, aiosql, typer, sys; print(*sys.modules)"

# For locks, for putting off the search for garbage, and for reading the SQL files.
STANDARD = {
    "fcntl",
    "gc",
    "importlib.readers",
    "importlib.resources._itertools",
    "importlib.resources.readers",
}
TYPER = {"typer._click.decorators"}
EVERY = {
    "cafleet",
    "cafleet.agents",
    "cafleet.agents.paths",
    "cafleet.broker",
    "cafleet.broker.assets",
    "cafleet.broker.cards",
    "cafleet.broker.composing",
    "cafleet.broker.fleets",
    "cafleet.broker.ids",
    "cafleet.broker.members",
    "cafleet.cli",
    "cafleet.cli.arguments",
    "cafleet.cli.bodies",
    "cafleet.cli.main",
    "cafleet.cli.output",
    "cafleet.cli.parser",
    "cafleet.cli.session",
    "cafleet.cli.tree",
    "cafleet.clock",
    "cafleet.errors",
    "cafleet.file_lock",
    "cafleet.operations",
    "cafleet.operations.asset_guard",
    "cafleet.present",
    "cafleet.present.visible",
    "cafleet.present.wire",
    "cafleet.records",
    "cafleet.settings",
    "cafleet.store",
    "cafleet.store.access",
    "cafleet.store.catalogue",
    "cafleet.store.connection",
    "cafleet.store.failures",
    "cafleet.store.files",
    "cafleet.store.guard",
    "cafleet.store.mounts",
    "cafleet.store.queries",
    "cafleet.store.recognition",
    "cafleet.store.repository",
    "cafleet.store.rows",
    "cafleet.store.turns",
    "cafleet.store.untouched",
    "cafleet.texts",
}
MESSAGE = {
    "cafleet.broker.deliveries",
    "cafleet.broker.messages",
    "cafleet.cli.message",
    "cafleet.present.envelope",
    "cafleet.present.message_text",
}
# What tells a poll whose it is.
IDENTITY = {"cafleet.operations.caller"}
MEMBER = {
    "cafleet.cli.member",
    "cafleet.present.cells",
    "cafleet.present.member_text",
    "cafleet.present.table",
    "cafleet.widths",
}
# What tells a sender that a courier runs.
LIVENESS = {
    "cafleet.broker.monitor",
    "cafleet.courier",
    "cafleet.courier.liveness",
    "cafleet.courier.process_lock",
    "cafleet.operations.sending",
}


@pytest.mark.parametrize(
    ("arguments", "own"),
    [
        (("message", "poll", "3"), MESSAGE | IDENTITY),
        (("message", "poll", "3", "--json"), MESSAGE | IDENTITY),
        (("message", "ack", "1"), MESSAGE),
        (("message", "send", "--from-member-id=3", "--to-member-id=4", "hi"), MESSAGE | LIVENESS),
        (("member", "list", "1"), MEMBER),
        (("member", "list", "1", "--json"), MEMBER),
    ],
)
def test_a_command_of_every_turn_imports_what_is_named(
    registry: Registry, tmp_path: Path, arguments: tuple[str, ...], own: set[str]
) -> None:
    for member_id in registry.crew("a", "b"):
        registry.place(member_id, f"%{member_id}")
    registry.message(4, 3)
    environment = {"HOME": str(tmp_path / "home"), "CAFLEET_DATABASE_URL": registry.url}
    with living_courier(Population(registry.path, 1), 1):
        loaded = imported(*arguments, env=environment)
    bare = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=True)
    assert {"cafleet.store.queries", f"cafleet.cli.{arguments[0]}"} <= loaded
    assert loaded - set(bare.stdout.split()) - STANDARD - TYPER - EVERY - own == set()
