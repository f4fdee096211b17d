"""Fixtures of the tests of panes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.tmux import TmuxServer
from tests.tmux.faults import FaultyTmux
from tests.tmux.panes_fixtures import mux, recorder, tmux_wrapper

__all__ = ["faulty_tmux", "mux", "recorder", "tmux_wrapper"]


@pytest.fixture
def faulty_tmux(tmux_server: TmuxServer, tmp_path: Path) -> FaultyTmux:
    return FaultyTmux.installed(tmp_path / "faulty", tmux_server)
