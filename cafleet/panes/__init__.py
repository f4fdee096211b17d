"""The multiplexer: panes, their pictures, and what is typed into them.

Importing this is cheap. The first use of a server loads the tmux modules; the first new pane loads
libtmux.
"""

from __future__ import annotations

from cafleet.panes.choice import detect_backend, detect_caller, multiplexer, sign_of
from cafleet.panes.command import ARGV_LIMIT_BYTES, command_bytes
from cafleet.panes.identity import PaneTag, belongs, parse_tag
from cafleet.panes.interface import CallerPane, Multiplexer, NewPane, SplitError, Spot
from cafleet.panes.locks import pane_lock, pane_lock_path

__all__ = [
    "ARGV_LIMIT_BYTES",
    "CallerPane",
    "Multiplexer",
    "NewPane",
    "PaneTag",
    "SplitError",
    "Spot",
    "belongs",
    "command_bytes",
    "detect_backend",
    "detect_caller",
    "multiplexer",
    "pane_lock",
    "pane_lock_path",
    "parse_tag",
    "sign_of",
]
