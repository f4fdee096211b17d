"""The command of a new pane: how tmux is told it, and how long it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cafleet.panes.words import packed

ARGV_LIMIT_BYTES = 16_000
"""What ``argv`` and ``env`` of a new pane may take up, as :func:`command_bytes` counts.

tmux 3.3a carries a whole command to its server in one message of 16,384 bytes; 16,364 of them were
measured to be free for words. The rest of the command that opens a pane takes less than 300.
"""


def command_bytes(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """What the program's words and its variables take up of :data:`ARGV_LIMIT_BYTES`.

    Raises:
        MultiplexerError: one of them holds a NUL or a lone surrogate.
    """
    return sum(len(word) + 1 for word in packed([*variables(env), *executed(argv)]))


def executed(argv: Sequence[str]) -> list[str]:
    """``argv`` so that tmux executes it as it is: it gives a single word to a shell to parse."""
    return list(argv) if len(argv) > 1 else ["/bin/sh", "-c", 'exec "$0"', *argv]


def variables(env: Mapping[str, str]) -> list[str]:
    """The options that add ``env`` to the environment of the pane."""
    return [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
