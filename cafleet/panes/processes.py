"""The processes in the foreground of a terminal: what would read the next key that is typed there.
And those that a pane has started, which may outlive it.

Linux tells it in ``/proc`` (proc_pid_stat(5)), a few small files for a pane. Elsewhere ``ps`` is
asked once for all panes. Processes of another PID namespace or another machine cannot be seen.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from cafleet.screens import Process

# More of a command line tells nothing more, and a spawn prompt may be long.
_COMMAND_LINE_BYTES = 2048
# A terminal's foreground has a handful of processes; a runaway must not make a look slow.
_MOST_PROCESSES = 200
_PS_SECONDS = 2.0
_PAUSE_SECONDS = 0.05
# How long a process may take to end after each of the two signals.
_ENDING_SECONDS = 2.0
# Processes that have ended and that nobody has asked about yet.
_ENDED = ("Z", "X")
_LINUX = platform.system() == "Linux"


class Terminal(msgspec.Struct, frozen=True, kw_only=True):
    """A pane's terminal: its device, the pane's first process, and that one's parent, the server."""

    device: str
    pid: int
    parent: int


class _Stat(msgspec.Struct, frozen=True, kw_only=True):
    """What is used of ``/proc/<pid>/stat``."""

    name: str
    state: str
    parent: int
    group: int
    session: int
    terminal: int
    foreground: int
    started: str


def in_foreground(terminals: Sequence[Terminal]) -> list[tuple[Process, ...] | None]:
    """For each terminal the processes of its foreground group, ``None`` where there are none to be
    seen."""
    if _LINUX:
        return [_linux_foreground(each) for each in terminals]
    return _listed(terminals)


def is_in_foreground(process: Process) -> bool:
    """Whether it is still the same process, still in its terminal's foreground, and not stopped."""
    if _LINUX:
        stat = _stat(process.pid)
        return (
            stat is not None
            and stat.started == process.started
            and stat.group == stat.foreground
            and not _is_stopped(stat.state)
        )
    found = (_from_ps(line) for line in _ps("-p", str(process.pid)))
    return any(
        each is not None and each[1] and each[2].started == process.started and not each[2].stopped
        for each in found
    )


def environment_of(process: Process) -> dict[str, str] | None:
    """The variables that a process was started with; ``None`` where they cannot be seen.

    Linux alone tells them, to the process's own user.
    """
    try:
        with open(f"/proc/{process.pid}/environ", "rb") as file:
            words = os.fsdecode(file.read()).split("\0")
    except OSError:
        return None
    if not _is_still(process):
        return None
    return dict(word.split("=", 1) for word in words if "=" in word)


def folder_of(process: Process) -> str | None:
    """The folder that a process works in now; ``None`` where it cannot be seen."""
    try:
        folder = os.readlink(f"/proc/{process.pid}/cwd")
    except OSError:
        return None
    return folder if _is_still(process) else None


def _is_still(process: Process) -> bool:
    """Whether the id is that process's still: it is given to another one later."""
    stat = _stat(process.pid)
    return stat is not None and stat.started == process.started


def _linux_foreground(terminal: Terminal) -> tuple[Process, ...] | None:
    first = _stat(terminal.pid)
    try:
        device = os.stat(terminal.device).st_rdev
    except (OSError, ValueError):
        return None
    # In another PID namespace this number may be another process's.
    if first is None or (first.parent, first.terminal) != (terminal.parent, device):
        return None
    found = []
    waiting = [(terminal.pid, first)]
    for _ in range(_MOST_PROCESSES):
        if not waiting:
            break
        pid, stat = waiting.pop()
        is_member = stat.group == first.foreground
        if is_member and stat.state not in _ENDED:
            found.append(_process(pid, stat))
        for child in _children(pid):
            inner = _stat(child)
            # Below the foreground group only its own members matter.
            if inner is not None and (not is_member or inner.group == first.foreground):
                waiting.append((child, inner))
    return tuple(sorted(found, key=lambda each: each.pid)) or None


def _stat(pid: int) -> _Stat | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            data = file.read()
    except OSError:
        return None
    # The name stands in parentheses and may hold any character.
    head, _, tail = data.rpartition(b")")
    fields = tail.split()
    if len(fields) < 20:
        return None
    # The terminal's number is a signed integer in this file.
    return _Stat(
        name=os.fsdecode(head.partition(b"(")[2]),
        state=fields[0].decode(),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        terminal=int(fields[4]) & 0xFFFFFFFF,
        foreground=int(fields[5]),
        started=fields[19].decode(),
    )


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                yield from map(int, file.read().split())


def _process(pid: int, stat: _Stat) -> Process:
    words: list[str] = []
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        words = [os.fsdecode(word) for word in file.read(_COMMAND_LINE_BYTES).split(b"\0")]
    return Process(
        pid=pid,
        name=stat.name,
        words=tuple(word for word in words if word),
        started=stat.started,
        stopped=_is_stopped(stat.state),
    )


def _is_stopped(state: str) -> bool:
    """Whether a signal or a debugger holds the process."""
    return state[:1] in ("T", "t")


def _listed(terminals: Sequence[Terminal]) -> list[tuple[Process, ...] | None]:
    seen: dict[str, list[Process]] = {}
    parents: dict[tuple[int, str], int] = {}
    for line in _ps("-A") if terminals else []:
        read = _from_ps(line)
        if read is None:
            continue
        (parent, device), is_foreground, process = read
        parents[process.pid, device] = parent
        if is_foreground:
            seen.setdefault(device, []).append(process)
    found = []
    for each in terminals:
        device = each.device.removeprefix("/dev/")
        is_here = parents.get((each.pid, device)) == each.parent
        found.append(tuple(seen.get(device, ())) or None if is_here else None)
    return found


def _ps(*which: str) -> list[str]:
    """The lines of ps(1), which POSIX has everywhere but for the start time."""
    columns = ["pid", "ppid", "tty", "stat", "lstart", "args"]
    options = [word for name in columns for word in ("-o", f"{name}=")]
    try:
        done = subprocess.run(
            ["ps", *options, *which],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_PS_SECONDS,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.decode("utf-8", "surrogateescape").splitlines()


def _from_ps(line: str) -> tuple[tuple[int, str], bool, Process] | None:
    """Parent and terminal of a process, whether it is in the foreground, and the process."""
    # The start time, as in `Tue Dec  1 03:15:15 2026`, is five words.
    fields = line.split(None, 9)
    if len(fields) < 10 or not (fields[0].isdecimal() and fields[1].isdecimal()):
        return None
    words = tuple(fields[9][:_COMMAND_LINE_BYTES].split())
    process = Process(
        pid=int(fields[0]),
        name=words[0].rpartition("/")[2],
        words=words,
        started=" ".join(fields[4:9]),
        stopped=_is_stopped(fields[3]),
    )
    return (int(fields[1]), fields[2].removeprefix("/dev/")), "+" in fields[3], process


def family(pid: int) -> tuple[Process, ...]:
    """The processes of the session that ``pid`` leads, and what they have started; Linux alone tells."""
    if not _LINUX:
        return ()
    found: dict[int, _Stat] = {}
    waiting = [pid, *(each for each in _every() if _session(each) == pid)]
    while waiting:
        each = waiting.pop()
        stat = _stat(each)
        if each not in found and stat is not None:
            found[each] = stat
            waiting += _children(each)
    return tuple(_process(each, stat) for each, stat in sorted(found.items()))


def ancestors(pid: int) -> tuple[Process, ...]:
    """The processes that have started ``pid``, the nearest first; Linux alone tells."""
    found: list[Process] = []
    stat = _stat(pid) if _LINUX else None
    while stat is not None and stat.parent > 0:
        parent = stat.parent
        stat = _stat(parent)
        if stat is not None:
            found.append(_process(parent, stat))
    return tuple(found)


def heirs(variables: Mapping[str, str]) -> list[Process]:
    """The other processes that were started with all of these variables; Linux alone tells.

    So an agent's daemon is found that has left its pane, its session and its parent behind.
    """
    wanted = {os.fsencode(f"{name}={value}") for name, value in variables.items()}
    found = []
    for pid in _every() if _LINUX else []:
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if pid != os.getpid() and wanted <= set(file.read().split(b"\0")):
                stat = _stat(pid)
                if stat is not None:
                    found.append(_process(pid, stat))
    return sorted(found, key=lambda each: each.pid)


def _every() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _session(pid: int) -> int | None:
    stat = _stat(pid)
    return None if stat is None else stat.session


def living(processes: Iterable[Process]) -> list[Process]:
    """Those that still run; another process that was given the same id is none of them."""
    return [each for each in processes if _runs(each)]


def _runs(process: Process) -> bool:
    stat = _stat(process.pid)
    # A zombie has ended, and its parent has not noticed.
    return stat is not None and stat.started == process.started and stat.state not in ("Z", "X")


def outlasting(processes: Iterable[Process], seconds: float) -> list[Process]:
    """Those that still run after so long; it waits no longer than it has to."""
    ends = time.monotonic() + seconds
    while (left := living(processes)) and time.monotonic() < ends:
        time.sleep(_PAUSE_SECONDS)
    return left


def end(processes: Sequence[Process]) -> list[Process]:
    """End processes, those by force that do not heed a request; the ones that could not be ended."""
    left = list(processes)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in left:
            _signal(process, number)
        left = outlasting(left, _ENDING_SECONDS)
    return left


def _signal(process: Process, number: signal.Signals) -> None:
    """Send a signal to this very process: its id may be another's at any moment."""
    with suppress(OSError):
        handle = os.pidfd_open(process.pid)
        try:
            if _runs(process):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def boot() -> str:
    """What tells this run of the system from others: ids and start times repeat after it."""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
    return ""
