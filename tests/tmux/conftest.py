"""Fixtures of the tests of panes."""

from __future__ import annotations

from tests.tmux.panes_fixtures import mux, recorder, tmux_wrapper

__all__ = ["mux", "recorder", "tmux_wrapper"]
