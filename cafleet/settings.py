"""The environment, read by exact names; a bad value fails at once and names itself."""

from __future__ import annotations

import os
from typing import NamedTuple

from cafleet.errors import NoHomeError, SettingError
from cafleet.texts import is_unicode

DATABASE_URL = "CAFLEET_DATABASE_URL"
MULTIPLEXER = "CAFLEET_MULTIPLEXER"
MAX_TEXT_LEN = "CAFLEET_MAX_TEXT_LEN"
MONITOR_WAKE_INTERVAL = "CAFLEET_MONITOR_WAKE_INTERVAL"
DELIVERY_HOLD_TIMEOUT = "CAFLEET_DELIVERY_HOLD_TIMEOUT"
BROKER_HOST = "CAFLEET_BROKER_HOST"
BROKER_PORT = "CAFLEET_BROKER_PORT"

# Set in every pane that is opened for a member, and only there.
DATABASE_ID = "CAFLEET_DATABASE_ID"
FLEET_ID = "CAFLEET_FLEET_ID"
MEMBER_ID = "CAFLEET_MEMBER_ID"
IDENTITY = (DATABASE_ID, FLEET_ID, MEMBER_ID)

LARGEST_INTEGER = 2**63 - 1
LARGEST_PORT = 65_535
_SCHEME = "sqlite:///"
_DIGITS = frozenset("0123456789")


def decimal(text: str, *, low: int = 0, high: int = LARGEST_INTEGER) -> int | None:
    """The integer that plain decimal digits name, if it lies in ``low``…``high``, else ``None``.

    ``1_000``, ``+7``, blanks around, leading zeros and digits of other scripts are not numbers here.
    """
    if (
        not text
        or not _DIGITS.issuperset(text)
        or len(text) > 19
        or (text[0] == "0" and text != "0")
    ):
        return None
    value = int(text)
    return value if low <= value <= high else None


def _number(variable: str, default: int, *, low: int = 0, high: int = LARGEST_INTEGER) -> int:
    text = os.environ.get(variable)
    if text is None:
        return default
    value = decimal(text, low=low, high=high)
    if value is None:
        raise SettingError(
            f"{variable} is {text!r}, which is not a whole number from {low} to {high}; "
            f"correct or unset it"
        )
    return value


def max_text_len() -> int:
    """How many code points of a body are shown in text output and in a notice."""
    return _number(MAX_TEXT_LEN, 200)


def delivery_hold_timeout() -> int:
    """Seconds after which a held notice is put into the queue of a working agent; 0 is never."""
    return _number(DELIVERY_HOLD_TIMEOUT, 0)


def monitor_wake_interval() -> int:
    """Seconds between wakes of a monitor whose courier runs for the first time; 0 is none."""
    return _number(MONITOR_WAKE_INTERVAL, 600)


class TmuxPane(NamedTuple):
    """A pane as tmux tells it to what runs there: ``socket`` is absolute, ``server_pid`` the process
    id of the server (tmux(1), GLOBAL AND SESSION ENVIRONMENT)."""

    socket: str
    server_pid: int
    pane: str


def tmux_pane() -> TmuxPane | None:
    """The pane that TMUX and TMUX_PANE name, ``None`` unless they name one."""
    parts = os.environ.get("TMUX", "").rsplit(",", 2)
    pane = os.environ.get("TMUX_PANE", "")
    if len(parts) != 3 or not parts[0] or not pane:
        return None
    pid = decimal(parts[1], low=1)
    return None if pid is None else TmuxPane(os.path.abspath(parts[0]), pid, pane)


class MemberVariables(NamedTuple):
    """Whose pane the variables of this process say it is; ``fleet_id`` is null if they leave it out."""

    member_id: int
    fleet_id: int | None
    database_id: str


def member_variables() -> MemberVariables | None:
    """What the pane of a member was given, ``None`` unless it names a member of a database."""
    member_id = decimal(os.environ.get(MEMBER_ID, ""), low=1)
    database_id = os.environ.get(DATABASE_ID)
    if member_id is None or not database_id:
        return None
    fleet_id = os.environ.get(FLEET_ID)
    # What is no id is that of no fleet.
    named = None if fleet_id is None else decimal(fleet_id, low=1) or 0
    return MemberVariables(member_id, named, database_id)


def broker_host() -> str:
    """The name or address on which the web server listens."""
    host = os.environ.get(BROKER_HOST, "127.0.0.1")
    if not host.strip():
        raise SettingError(f"{BROKER_HOST} is {host!r}, which is no host; correct or unset it")
    return host


def broker_port() -> int:
    """The TCP port on which the web server listens."""
    return _number(BROKER_PORT, 8000, low=1, high=LARGEST_PORT)


def home_folder() -> str:
    """The user's home by HOME, or by the system's list of users where HOME is unset; absolute and UTF-8.

    An empty HOME is no home, though :func:`os.path.expanduser` takes it for the root folder.

    Raises:
        NoHomeError: it is neither, or there is none.
    """
    home = "" if os.environ.get("HOME") == "" else os.path.expanduser("~")
    if not os.path.isabs(home):
        raise NoHomeError(
            f"the home folder is {home!r}, which is not an absolute path; set HOME to one"
        )
    if not is_unicode(home):
        raise NoHomeError(f"the home folder is {home!r}, which is not UTF-8; set HOME to another")
    return home


def config_folder() -> str:
    """The folder of CAFleet's own settings of this user: below XDG_CONFIG_HOME or ``~/.config``.

    The XDG Base Directory Specification says that a relative path counts as unset.

    Raises:
        NoHomeError: there is no home folder for the default.
    """
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return os.path.join(base if os.path.isabs(base) else f"{home_folder()}/.config", "cafleet")


def database_path() -> str:
    """The absolute path of the database file, every link in it followed.

    So one file has one path, by whatever name it was reached: locks, logs and prompts that lie beside
    it are found by all. The path of an override is taken as it is written: nothing in it is expanded
    or decoded, and a `?` or `#` is one of its characters. What ends like a query is refused: whoever
    writes ``fleet.db?mode=ro`` means another file than the one of that name.

    Raises:
        SettingError: the override has another scheme, a query, or a relative or empty path; or a link
            in the path leads nowhere.
        NoHomeError: there is no home folder for the default.
    """
    url = os.environ.get(DATABASE_URL)
    if url is None:
        return _resolved(os.path.join(home_folder(), ".local/share/cafleet/cafleet.db"))
    path = url.removeprefix(_SCHEME)
    if path == url or not path.startswith("/") or path.endswith("/") or not is_unicode(path):
        raise SettingError(
            f"{DATABASE_URL} is {url!r}; it must be sqlite:/// and an absolute path, such as sqlite:////home/me/fleet.db"
        )
    if _has_query(path):
        raise SettingError(
            f"{DATABASE_URL} is {url!r}, which ends in a query; there are no options, give the path alone"
        )
    return _resolved(path)


def predecessor_path() -> str:
    """Where the published Python program, from its release 0.18 on, keeps its database by default.

    Raises:
        NoHomeError: there is no home folder.
    """
    return os.path.join(home_folder(), ".local/share/cafleet/cafleet_v5.db")


def _resolved(path: str) -> str:
    nearest = path
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)
    if os.path.islink(nearest) and not os.path.exists(nearest):
        try:
            os.stat(nearest)
        except FileNotFoundError:
            # The file may be on a disk that is not mounted now: nothing is to be made there.
            raise SettingError(
                f"{nearest} is a link to {os.readlink(nearest)}, where there is no file; correct "
                f"the link, or remove it and run `cafleet setup`"
            ) from None
        except OSError:
            return path
    real = os.path.realpath(path)
    if not is_unicode(real):
        raise SettingError(
            f"the database at {path} is in a folder whose name is not UTF-8; move it to another"
        )
    return real


def _has_query(path: str) -> bool:
    """Whether the last part of the path goes on with ``?name=`` as the query of a URL does."""
    _, mark, query = path.rpartition("/")[2].partition("?")
    return bool(mark) and query.partition("=")[0].isidentifier() and "=" in query


def database_url(path: str) -> str:
    """The value of CAFLEET_DATABASE_URL that names the file at ``path``."""
    return _SCHEME + path
