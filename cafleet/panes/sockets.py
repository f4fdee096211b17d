"""Where tmux servers listen."""

from __future__ import annotations

import os

# Where tmux itself puts its sockets; every process comes to the same one, whatever its TMPDIR.
SHARED_TMP = "/tmp"  # noqa: S108 - nothing is created here but a folder that is checked


def default_socket() -> str:
    """The socket of the server in ``$TMUX``, else of tmux's default one (tmux(1), option -L)."""
    caller = os.environ.get("TMUX")
    if caller:
        return os.path.abspath(caller.rsplit(",", 2)[0])
    chosen = os.environ.get("TMUX_TMPDIR", "")
    folder = os.path.realpath(chosen if os.path.isdir(chosen) else SHARED_TMP)
    return os.path.join(folder, f"tmux-{os.getuid()}", "default")
