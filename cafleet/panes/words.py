"""Words of tmux's command line, and of its error messages."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.errors import MultiplexerError


def packed(*commands: Sequence[str]) -> list[bytes]:
    """Escape the words of ``commands`` for tmux's command line.

    tmux ends a command at a word that ends in ``;`` (tmux(1), COMMAND PARSING AND EXECUTION) unless
    a backslash stands before it, which it then removes.
    """
    words: list[bytes] = []
    for command in commands:
        if words:
            words.append(b";")
        for word in command:
            data = encode(word)
            words.append(data[:-1] + b"\\;" if data.endswith(b";") else data)
    return words


def one_line(text: str) -> str:
    """Make ``text`` fit for an error message."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def encode(word: str) -> bytes:
    """The bytes of a word, or of a path, for tmux.

    Raises:
        MultiplexerError: it holds a NUL or a lone surrogate.
    """
    if "\0" in word:
        raise MultiplexerError("a NUL character cannot be passed to tmux; remove it")
    try:
        # Not the locale's encoding: tmux speaks UTF-8, and a path may hold any byte.
        return word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise MultiplexerError("a lone surrogate cannot be passed to tmux; remove it") from None


def plain(text: str) -> str:
    """Make ``text`` fit for a title or a name, which tmux reads as a format.

    ``#`` begins a variable, a command or a style, and ``%`` a part of the time (tmux(1), FORMATS
    and STYLES); the wide forms of both look like them and mean nothing.
    """
    return one_line(text).translate({ord("#"): "\uff03", ord("%"): "\uff05"})
