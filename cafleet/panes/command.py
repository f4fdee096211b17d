"""The command of a new pane, in the form that tmux takes, and its longest length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cafleet.panes.words import packed

ARGV_LIMIT_BYTES = 15_000
"""What a new pane's command may take up, as :func:`command_bytes` counts.

tmux 3.3a carries a whole command to its server in one message of 16,384 bytes; 16,364 of them were
measured to be free for words. The rest of the command that opens a pane takes less than 1,000.
"""

# The data are positional arguments, so the shell parses none of it.
_START = 'cd -- "$1" && shift && exec "$@"'


def command_bytes(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> int:
    """The number of bytes that words, variables and folder use of :data:`ARGV_LIMIT_BYTES`.

    Raises:
        MultiplexerError: one of them holds a NUL or a lone surrogate.
    """
    return sum(len(word) + 1 for word in packed([*variables(env), *started(argv, cwd, "")]))


def started(argv: Sequence[str], cwd: str, mark: str) -> list[str]:
    """Return the command that changes to ``cwd`` and then executes ``argv``.

    The option ``-c`` of tmux is not enough: tmux 3.7 ignores it if the folder that its server was
    started in was removed since. ``mark`` makes the pane known by its ``pane_start_command``.
    """
    return ["/bin/sh", "-c", _START, f"cafleet-{mark}", cwd, *argv]


def variables(env: Mapping[str, str]) -> list[str]:
    """The options that add ``env`` to the environment of the pane."""
    return [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
