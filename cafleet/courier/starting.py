"""Starting a fleet's loop in the background, where none runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from cafleet import settings
from cafleet.broker import members, monitor
from cafleet.courier.liveness import is_running
from cafleet.errors import CafleetError, MultiplexerError
from cafleet.panes import multiplexer
from cafleet.store import Connection

CLAIM_SECONDS = 5.0
_LOOK_SECONDS = 0.05
# The log starts anew beyond this size; it is for the person who asks why a loop has ended.
_LOG_BYTES = 1_000_000


def ensure_running(conn: Connection, *, database: str, fleet_id: int) -> bool:
    """Start the fleet's loop if none runs; whether one runs or has been started.

    A loop that was stopped stays stopped. Nothing is started from where the fleet's multiplexer
    cannot be reached, such as an agent's sandbox.
    """
    if is_running(conn, database=database, fleet_id=fleet_id):
        return True
    row = monitor.runtime(conn, fleet_id=fleet_id)
    if row is not None and row.stopped_at is not None:
        return False
    if not can_reach_server(conn, fleet_id=fleet_id):
        return False
    try:
        start_detached(database, fleet_id)
    except CafleetError:
        return False
    return True


def can_reach_server(conn: Connection, *, fleet_id: int) -> bool:
    """Whether the multiplexer server of the fleet's Director answers."""
    try:
        require_server(conn, fleet_id=fleet_id)
    except CafleetError:
        return False
    return True


def require_server(conn: Connection, *, fleet_id: int) -> None:
    """Raise MultiplexerError unless the multiplexer server of the fleet's Director answers.

    Raises:
        UnknownIdError, RefusedError, DatabaseError: the fleet has no active Director.
    """
    placement = members.active_director(conn, fleet_id=fleet_id).placement
    if placement is None:
        raise MultiplexerError(
            f"the Director of fleet {fleet_id} has no placement, so its multiplexer is unknown; delete "
            f"the fleet with `cafleet fleet delete {fleet_id}`"
        )
    multiplexer(placement.backend, placement.mux_socket).tagged_panes()


def is_server_listening(conn: Connection, *, fleet_id: int) -> bool:
    """The same, found by the server's socket alone."""
    placement = members.active_director(conn, fleet_id=fleet_id).placement
    if placement is None:
        return False
    return multiplexer(placement.backend, placement.mux_socket).is_listening()


def start_detached(database: str, fleet_id: int) -> None:
    """Start a loop that outlives this process. Whether it claims the fleet is yet to be seen.

    Raises:
        CafleetError: the program or its log cannot be opened.
    """
    path = log_path(database, fleet_id)
    try:
        _start(database, fleet_id, path)
    except OSError as error:
        raise CafleetError(
            f"the monitor loop of fleet {fleet_id} cannot be started ({error.strerror}); see {path}"
        ) from error


def _start(database: str, fleet_id: int, path: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    log = os.open(path, flags, 0o600)
    try:
        if os.fstat(log).st_size > _LOG_BYTES:
            os.ftruncate(log, 0)
        subprocess.Popen(
            [sys.executable, "-P", "-m", "cafleet", "monitor", "run", str(fleet_id)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env={**os.environ, settings.DATABASE_URL: settings.database_url(database)},
            start_new_session=True,
        )
    finally:
        os.close(log)


def wait_for_claim(conn: Connection, *, database: str, fleet_id: int) -> int | None:
    """Wait until a live loop has claimed the fleet, 5 s at most; its process id, or ``None``."""
    ends = time.monotonic() + CLAIM_SECONDS
    while time.monotonic() < ends:
        if is_running(conn, database=database, fleet_id=fleet_id):
            row = monitor.runtime(conn, fleet_id=fleet_id)
            return None if row is None else row.pid
        time.sleep(_LOOK_SECONDS)
    return None


def log_path(database: str, fleet_id: int) -> str:
    """The log of a fleet's loop, beside the database."""
    return f"{database}.loop-{fleet_id}.log"
