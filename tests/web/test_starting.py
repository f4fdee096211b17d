"""How the server starts, and why it does not."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.program import CAFLEET, Program, assert_refused
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.harness.web import WebServer, free_port, serving


def test_the_variables_say_where_it_listens(program: Program, registry: Registry) -> None:
    port = free_port()
    env = {"CAFLEET_BROKER_HOST": "localhost", "CAFLEET_BROKER_PORT": str(port)}
    process = program.start("server", env=env)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"Serving http://localhost:%d/\n" % port
        with socket.create_connection(("localhost", port), timeout=20) as connection:
            connection.sendall(b"GET /api/fleets HTTP/1.0\r\nHost: localhost\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
    finally:
        process.kill()
        process.communicate()


def test_a_flag_beats_its_variable(program: Program, registry: Registry) -> None:
    with serving(program, "--host", "127.0.0.1") as server:
        assert server.get("/api/fleets").ok() == []


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x", "", "1_000", "+80", " 80", "80.0"])
def test_a_port_is_a_number_from_1_to_65535(program: Program, port: str) -> None:
    assert_refused(program.run("server", f"--port={port}"), 2, "is not a port from 1 to 65535")
    refused = program.run("server", env={"CAFLEET_BROKER_PORT": port})
    assert_refused(refused, 1, f"CAFLEET_BROKER_PORT is {port!r}")


@pytest.mark.parametrize("host", ["no.such.host.invalid", "999.1.1.1", "a" * 300, "x y"])
def test_a_host_that_is_not_known(program: Program, registry: Registry, host: str) -> None:
    for result in (
        program.run("server", "--host", host),
        program.run("server", env={"CAFLEET_BROKER_HOST": host}),
    ):
        assert_refused(result, 1, "is not known")


def test_a_blank_host(program: Program, registry: Registry) -> None:
    assert_refused(program.run("server", "--host", " "), 2, "--host")
    refused = program.run("server", env={"CAFLEET_BROKER_HOST": ""})
    assert_refused(refused, 1, "CAFLEET_BROKER_HOST")


def test_an_address_of_another_machine(program: Program, registry: Registry) -> None:
    assert_refused(program.run("server", "--host", "192.0.2.1"), 1, "cannot listen on 192.0.2.1")


def test_a_port_in_use(program: Program, registry: Registry, web: WebServer) -> None:
    refused = program.run("server", "--port", str(web.port))
    assert_refused(refused, 1, f"cannot listen on 127.0.0.1 port {web.port}")
    assert "; " in refused.stderr
    assert web.get("/api/fleets").ok() == []


def test_a_port_is_free_again_at_once(program: Program, registry: Registry) -> None:
    with serving(program) as server:
        server.get("/api/fleets").ok()
        assert server.stop() == (0, "")
    with serving(program, port=server.port) as again:
        assert again.get("/api/fleets").ok() == []


def test_the_schema_guard_stands_in_front(
    program: Program, database_at_head: Path, tmp_path: Path
) -> None:
    older = Registry(shutil.copyfile(database_at_head, tmp_path / "older.db"))
    older.rows("DELETE FROM schema_migrations WHERE version > 8")
    refused = program.run("server", env={"CAFLEET_DATABASE_URL": older.url})
    assert_refused(refused, 1, "run `cafleet setup`")


def test_the_assets_guard_does_not(program: Program, registry: Registry) -> None:
    registry.rows("DELETE FROM asset_installs")
    assert_refused(program.run("fleet", "list"), 1, "skill")
    with serving(program) as server:
        assert server.get("/api/fleets").ok() == []


@pytest.mark.parametrize(
    "variable",
    ["CAFLEET_DELIVERY_HOLD_TIMEOUT", "CAFLEET_MAX_TEXT_LEN", "CAFLEET_MONITOR_WAKE_INTERVAL"],
)
def test_what_the_loops_of_its_fleets_would_refuse(
    program: Program, registry: Registry, variable: str
) -> None:
    assert_refused(program.run("server", env={variable: "soon"}), 1, variable)


def test_without_the_extra_it_says_how_to_install_it(
    program: Program, registry: Registry, tmp_path: Path
) -> None:
    """Packages that cannot be imported, as where they were never installed."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "for name in ('starlette', 'uvicorn', 'anyio', 'h11'):\n"
        "    sys.modules[name] = None\n"
    )
    refused = program.run("server", env={"PYTHONPATH": str(tmp_path)})
    assert_refused(refused, 1, "pip install 'cafleet[web]'")
    for arguments in (("--help",), ("server", "--help"), ("fleet", "list")):
        program.run(*arguments, env={"PYTHONPATH": str(tmp_path)}).ok()


def test_closed_streams_do_not_keep_it_from_serving(program: Program, registry: Registry) -> None:
    port = free_port()
    command = f'exec "{CAFLEET}" server --port {port} <&- >&- 2>&-'
    process = subprocess.Popen(["/bin/sh", "-c", command], env=program.environment)
    try:
        answer = wait_for(lambda: _first_bytes(port), "it serves", seconds=60)
        assert answer.startswith(b"HTTP/1.1 200 ")
    finally:
        process.kill()
        process.wait()


def _first_bytes(port: int) -> bytes:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"GET /api/fleets HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return connection.recv(100)
    except ConnectionRefusedError:
        return b""


def test_only_the_server_loads_what_it_needs() -> None:
    code = (
        "import sys; from cafleet.cli.main import main; main(); "
        "heavy = {name.partition('.')[0] for name in sys.modules}; "
        "sys.stderr.write(str(sorted(heavy & {'starlette', 'uvicorn', 'anyio', 'h11', 'asyncio'})))"
    )
    for arguments in (("--help",), ("server", "--help"), ("fleet", "--help")):
        run = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True
        )
        assert run.stderr.endswith("[]"), run
