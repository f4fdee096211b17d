"""Every failure that a user can meet, each class with its exit code.

The message of an error is one sentence of the form ``what happened; what to do``. The command
line prints it after ``Error: `` on stderr. Clean-ups that failed as well are kept beside the first
cause (:meth:`CafleetError.add_remains`) and printed after it, so that the cause keeps its wording.
"""

from __future__ import annotations

import os

FROM_BACKUP = "from a backup as `cafleet db backup --help` says"
"""How a sentence goes on that tells to restore something."""


class CafleetError(Exception):
    """The request could not be carried out. Root of every error that this program raises itself."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.remains: list[str] = []

    def add_remains(self, what: str) -> None:
        """Note something a failed clean-up has left behind; ``what`` names it."""
        self.remains.append(what)

    def __str__(self) -> str:
        return "; ".join([self.message, *self.remains])


class UsageError(CafleetError):
    """The command line itself is wrong: a placeholder, a model, an effort, a blank text."""

    exit_code = 2


class SettingError(CafleetError):
    """A variable of the environment holds something unusable; names the variable and the value."""


class NoHomeError(SettingError):
    """A home folder is needed, and there is none: HOME is empty, relative or not UTF-8."""


class UnknownIdError(CafleetError):
    """No fleet, member or message has this id, or none that the command may act on; or no query has
    this name."""


class RefusedError(CafleetError):
    """A rule of the registry forbids it: another fleet, a second monitor, a second ACK."""


class BodyError(CafleetError):
    """A body from a file or stdin cannot be used: missing, unreadable, blank, not UTF-8."""


class DatabaseError(CafleetError):
    """The database cannot do it: missing, locked, full, read-only, damaged."""


class SchemaError(DatabaseError):
    """The database is not at this program's schema: missing, older, newer, or not ours."""


class IntegrityError(DatabaseError):
    """A stored value is outside what its column may hold; names table, column, value and row.

    ``key`` is the rowid of that row, where it is one row of one table, for whoever goes on after it.
    """

    def __init__(self, message: str, *, key: int | None = None) -> None:
        super().__init__(message)
        self.key = key


class MultiplexerError(CafleetError):
    """tmux (or another multiplexer) is missing, unreachable, too slow, or refused."""


class MultiplexerTimeoutError(MultiplexerError):
    """It did not answer, or not in time; what it was asked for may have been done or not."""


class PaneGoneError(MultiplexerError):
    """The pane does not exist any more, or is not the member's."""


class AgentError(CafleetError):
    """A coding agent cannot be started: its program or preset is missing."""


class PaneLockedError(MultiplexerError):
    """Another process has been typing into the pane for longer than the limit."""


def internal(error: BaseException) -> str:
    """The sentence for a fault of the program itself: its kind and the place in the code alone.

    A traceback shows lines of text that may be a message's.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "an unknown place"
    if last is not None:
        place = f"{os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}"
    return f"internal error: {type(error).__name__} at {place}; please report it"
