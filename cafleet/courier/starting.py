"""Start a fleet's courier in the background if none runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from cafleet import settings
from cafleet.broker import fleets, members, monitor
from cafleet.courier.liveness import is_running
from cafleet.courier.process_lock import ProcessLock
from cafleet.errors import CafleetError, IntegrityError, MultiplexerError
from cafleet.panes import Multiplexer, multiplexer
from cafleet.records import Placement
from cafleet.store import Connection

CLAIM_SECONDS = 5.0
# The options of a courier that nobody has asked for.
UNASKED = ("--unless-stopped",)
_LOOK_SECONDS = 0.05
# Beyond this size the log starts anew. It tells a person why a courier has ended.
_LOG_BYTES = 1_000_000


def ensure_running(conn: Connection, *, database: str, fleet_id: int) -> bool:
    """Start the fleet's courier if none runs. Returns whether one runs now, or another process starts one.

    A stopped courier stays stopped, and a paused fleet has none. Nothing is started where the multiplexer
    cannot be reached, or where the courier would end with an agent's sandbox.
    """
    if is_running(conn, database=database, fleet_id=fleet_id):
        return True
    row = monitor.runtime(conn, fleet_id=fleet_id)
    if row is not None and row.stopped_at is not None:
        return False
    try:
        fleets.refuse_paused(conn, fleet_id=fleet_id)
        if not require_server(conn, fleet_id=fleet_id).is_in_sight():
            return False
        starting = ProcessLock(f"{database}.start-{fleet_id}.lock")
        # Of many senders at the same time one starts it.
        if not starting.acquire():
            return True
        try:
            return start(conn, database=database, fleet_id=fleet_id) is not None
        finally:
            starting.release()
    except CafleetError:
        return False


def require_server(conn: Connection, *, fleet_id: int) -> Multiplexer:
    """The multiplexer server of the fleet. Raises MultiplexerError unless it answers."""
    placement = _placement(conn, fleet_id)
    if placement is None:
        raise MultiplexerError(
            f"no member of fleet {fleet_id} has a placement, so its multiplexer is unknown; delete the "
            f"fleet with `cafleet fleet delete {fleet_id}`"
        )
    server = multiplexer(placement.backend, placement.mux_socket)
    server.tagged_panes()
    return server


def is_server_listening(conn: Connection, *, fleet_id: int) -> bool:
    """Whether the fleet's server listens at its socket. Asks the server nothing."""
    placement = _placement(conn, fleet_id)
    if placement is None:
        return False
    return multiplexer(placement.backend, placement.mux_socket).is_listening()


def _placement(conn: Connection, fleet_id: int) -> Placement | None:
    """Where the fleet lives: the Director's placement, or the first of another that can be read."""
    with suppress(CafleetError):
        director = members.active_director(conn, fleet_id=fleet_id)
        if director.placement is not None:
            return director.placement
    active, damage = members.list_readable(conn, fleet_id=fleet_id)
    found = next((each.placement for each in active if each.placement is not None), None)
    if found is None and damage:
        raise IntegrityError(damage[0])
    return found


def start(
    conn: Connection, *, database: str, fleet_id: int, options: Sequence[str] = UNASKED
) -> int | None:
    """Start a courier that outlives this process, and wait at most 5 s until one has claimed the fleet.

    Returns its process id, or ``None``. ``options`` are those of `monitor run`. By default a stopped
    courier stays stopped.

    Raises:
        CafleetError: the program or its log cannot be opened.
    """
    path = log_path(database, fleet_id)
    try:
        process = _spawn(database, fleet_id, path, options)
    except OSError as error:
        raise CafleetError(
            f"the courier of fleet {fleet_id} cannot be started ({error.strerror}); see {path}"
        ) from error
    ends = time.monotonic() + CLAIM_SECONDS
    ended = False
    while not ended and time.monotonic() < ends:
        # Whoever ends without a claim may have met another that has one.
        ended = process.poll() is not None
        if is_running(conn, database=database, fleet_id=fleet_id):
            row = monitor.runtime(conn, fleet_id=fleet_id)
            return None if row is None else row.pid
        time.sleep(_LOOK_SECONDS)
    return None


def _spawn(
    database: str, fleet_id: int, path: str, options: Sequence[str]
) -> subprocess.Popen[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    log = os.open(path, flags, 0o600)
    program = [sys.executable, "-P", "-m", "cafleet"]
    try:
        if os.fstat(log).st_size > _LOG_BYTES:
            os.ftruncate(log, 0)
        return subprocess.Popen(
            [*program, "monitor", "run", str(fleet_id), *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=_environment(database),
            start_new_session=True,
        )
    finally:
        os.close(log)


def _environment(database: str) -> dict[str, str]:
    """The environment without the variables of the sending member: the courier acts for no member."""
    kept = {name: text for name, text in os.environ.items() if name not in settings.IDENTITY}
    return {**kept, settings.DATABASE_URL: settings.database_url(database)}


def log_path(database: str, fleet_id: int) -> str:
    """The log of a fleet's courier, beside the database."""
    return f"{database}.loop-{fleet_id}.log"
