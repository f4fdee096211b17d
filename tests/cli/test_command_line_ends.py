"""How the program ends: quietly where nobody listens, with one line where something broke."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.database import Database
from tests.harness.program import CAFLEET, Program

# The program with one thing broken inside: what `poll` calls first raises as told.
BROKEN = """
import sys
from cafleet import settings
def broken():
    raise {error}
settings.max_text_len = broken
from cafleet.cli.main import main
sys.argv[1:] = ["message", "poll", "1"]
sys.exit(main())
"""


def run_broken(error: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", BROKEN.format(error=error)]
    return subprocess.run(program, capture_output=True, text=True)


def test_a_fault_of_ours_is_one_line_without_its_text() -> None:
    run = run_broken("KeyError('the body of a message')")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "Error: internal error: KeyError at <string>:5; please report it\n"


def test_an_interrupt_is_quiet() -> None:
    run = run_broken("KeyboardInterrupt")
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "")


# The program that is interrupted while it loads a module, the first but so many after the entry
# point itself.
LOADING = """
import sys
left = {number}
ENTRY = ("__future__", "cafleet", "cafleet.cli", "cafleet.cli.main")
class Interrupt:
    def find_spec(name, path, target=None):
        global left
        if name not in ENTRY and name not in sys.builtin_module_names:
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt)
from cafleet.cli.main import main
sys.argv[1:] = ["message", "poll", "1"]
sys.exit(main())
"""


@pytest.mark.parametrize("number", [0, 1, 2, 5, 20, 80])
def test_an_interrupt_while_the_program_loads_is_quiet(number: int) -> None:
    program = [sys.executable, "-c", LOADING.format(number=number)]
    run = subprocess.run(program, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "")


def test_an_error_with_remains_is_one_line() -> None:
    run = run_broken("__import__('cafleet.errors').errors.CafleetError('a\\nb; do c\\x1b[2J')")
    assert run.returncode == 1
    assert run.stderr == "Error: a\\x0ab; do c\\x1b[2J\n"


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("message", "--help")])
def test_a_closed_pipe_ends_quietly(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        run = subprocess.run([CAFLEET, *arguments], stdout=closed, stderr=subprocess.PIPE)
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "wb") as full:
        run = subprocess.run([CAFLEET, "--version"], stdout=full, stderr=subprocess.PIPE)
    assert run.returncode == 1
    assert run.stderr.startswith(b"Error: the result could not be written (No space left")
    assert run.stderr.count(b"\n") == 1


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_do_no_harm(closed: str) -> None:
    run = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" "$@" {closed}', CAFLEET, "--version"], capture_output=True
    )
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("number", "exit_code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_while_stdin_is_read_ends_quietly_and_stores_nothing(
    cafleet: Program, database: Database, number: signal.Signals, exit_code: int
) -> None:
    send = ("message", "send", "--from-member-id=1", "--to-member-id=1", "--file=-")
    process = cafleet.start(*send)
    wait_until_reading(process.pid)
    process.send_signal(number)
    # Nobody has closed its stdin: it is the signal that ends it.
    assert process.wait(10) == exit_code
    result = cafleet.finish(process)
    assert (result.stdout, result.stderr) == ("", "")


def wait_until_reading(pid: int) -> None:
    """Wait until the process sleeps in a read of its stdin, a pipe."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if "pipe" in Path(f"/proc/{pid}/wchan").read_text():
            return
        time.sleep(0.02)
    pytest.fail("the program never came to read its stdin")
