"""Readers of single arguments: each takes the text of one and returns its value.

What they refuse is the command line's fault: exit 2, naming the option or argument.
"""

from __future__ import annotations

import typer

from cafleet.errors import UnknownIdError
from cafleet.records import CodingAgent, WaitState
from cafleet.settings import LARGEST_INTEGER, LARGEST_PORT, decimal
from cafleet.texts import is_blank

# Python reads no integer of more digits (sys.set_int_max_str_digits), and no id has 20.
_MOST_DIGITS = 4300
LARGEST_PAGE = 1000


def identifier(text: str) -> int:
    """An id, or any other integer: that nobody has it is for the registry to say.

    Raises:
        UnknownIdError: it is an integer that is too long to be one here.
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or (digits[0] == "0" and digits != "0"):
        raise typer.BadParameter(f"{_shown(text)} is not an integer id")
    if len(digits) > _MOST_DIGITS:
        raise UnknownIdError(f"no id has {len(digits)} digits; give the id as it was printed")
    return int(text)


def positive(text: str | int) -> int:
    """A count from 1 to 2**63 - 1; a default comes as the integer that it is."""
    value = decimal(str(text), low=1)
    if value is None:
        raise typer.BadParameter(
            f"{_shown(str(text))} is not a whole number from 1 to {LARGEST_INTEGER}"
        )
    return value


def whole(text: str | int) -> int:
    """A number from 0 to 2**63 - 1; a default comes as the integer that it is."""
    value = decimal(str(text))
    if value is None:
        raise typer.BadParameter(
            f"{_shown(str(text))} is not a whole number from 0 to {LARGEST_INTEGER}"
        )
    return value


def page_size(text: str | int) -> int:
    """A number of messages from 1 to 1,000; a default comes as the integer that it is."""
    value = decimal(str(text), low=1, high=LARGEST_PAGE)
    if value is None:
        raise typer.BadParameter(
            f"{_shown(str(text))} is not a whole number from 1 to {LARGEST_PAGE}"
        )
    return value


def tcp_port(text: str) -> int:
    """A TCP port."""
    value = decimal(text, low=1, high=LARGEST_PORT)
    if value is None:
        raise typer.BadParameter(f"{_shown(text)} is not a port from 1 to {LARGEST_PORT}")
    return value


def utf8(text: str) -> str:
    """Any text that is valid UTF-8, which is what the registry stores."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise typer.BadParameter(f"it is not valid UTF-8 at character {error.start + 1}") from error
    return text


def filled(text: str) -> str:
    """Valid UTF-8 that is not blank."""
    if is_blank(utf8(text)):
        raise typer.BadParameter("it is blank")
    return text


def path(text: str) -> str:
    """A path, of any bytes, that is not blank."""
    if is_blank(text):
        raise typer.BadParameter("it is blank")
    return text


def new_name(text: str) -> str:
    """The name of a member or fleet to come: filled, and to be seen whole."""
    from cafleet.broker import naming

    wrong = naming.fault(filled(text))
    if wrong is not None:
        raise typer.BadParameter(wrong)
    return text


def wait_state(text: str) -> WaitState:
    """What a sender can wait for."""
    try:
        return WaitState(text)
    except ValueError:
        names = ", ".join(WaitState)
        raise typer.BadParameter(f"{_shown(text)} is not one of {names}") from None


def coding_agent(text: str) -> CodingAgent:
    """The name of a coding agent."""
    try:
        return CodingAgent(text)
    except ValueError:
        names = ", ".join(CodingAgent)
        raise typer.BadParameter(f"{_shown(text)} is not one of {names}") from None


def monitor_role(text: str) -> str:
    """The one role that can be asked for."""
    if text != "monitor":
        raise typer.BadParameter(f"{_shown(text)} is not a role; the only one is monitor")
    return text


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
