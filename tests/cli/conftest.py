"""Fixtures of the tests of the command line."""

from __future__ import annotations

import pytest

from tests.harness.journals import Recorders
from tests.harness.program import Program
from tests.harness.refusals import Refusals
from tests.harness.registry import Registry, database_at_head, registry
from tests.harness.tmux import TmuxServer

__all__ = ["database_at_head", "registry"]


@pytest.fixture
def refusals(
    cafleet: Program, registry: Registry, tmux_server: TmuxServer, recorders: Recorders
) -> Refusals:
    """Refusals on the test's own registry, which the program is given."""
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    return Refusals(cafleet, registry, tmux_server, recorders)
