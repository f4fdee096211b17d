"""What `monitor status` and `monitor stop` say where no loop runs."""

from __future__ import annotations

import pytest

from tests.harness.program import Program, assert_refused
from tests.harness.registry import Registry


@pytest.fixture
def crew(cafleet: Program, registry: Registry) -> Registry:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.crew("ann", "bob")
    return registry


def test_a_long_queue_is_counted_by_member(cafleet: Program, crew: Registry) -> None:
    for number in range(60):
        crew.message(1, 3 if number % 3 else 4, delivery_state="held")
    crew.message(1, 4, delivery_state="unsure")
    crew.message(1, 2, delivery_state="unsure")
    lines = cafleet.run("monitor", "status", "1").ok().stdout.splitlines()
    at = lines.index("owed: 60")
    assert lines[at : at + 5] == [
        "owed: 60",
        "unsure: 2",
        "  member 2: 0 owed, 1 unsure",
        "  member 3: 40 owed, 0 unsure",
        "  member 4: 20 owed, 1 unsure",
    ]
    rest = lines[at + 5 :]
    assert [line.split()[1] for line in rest[:-1]] == [str(number) for number in range(1, 11)]
    assert rest[-1] == "  50 more are owed; --json has them all"
    told = cafleet.run("monitor", "status", "1", "--json").json()
    assert len(told["owed"]) == 60
    assert [(each["message_id"], each["state"]) for each in told["unsure"]] == [
        (61, "unsure"),
        (62, "unsure"),
    ]


def test_a_stop_of_what_does_not_run_says_what_it_does(cafleet: Program, crew: Registry) -> None:
    bars = "none is started unasked until somebody runs `cafleet monitor run 1`"
    told = cafleet.run("monitor", "stop", "1").ok()
    assert told.stdout.startswith(f"The courier of fleet 1 was not running; {bars}")
    told = cafleet.run("monitor", "stop", "1", "--json").ok()
    assert (told.stdout, bars in told.stderr) == ('{"stopped":false}\n', True)


def test_a_loop_that_cannot_run_is_not_detached(cafleet: Program, crew: Registry) -> None:
    detach = ("monitor", "run", "1", "--detach")
    assert_refused(cafleet.run(*detach), 1, "no member of fleet 1 has a placement")
    crew.place(1, "%1", mux_socket="/nonexistent/socket")
    assert_refused(cafleet.run(*detach), 1, "/nonexistent/socket")
    assert_refused(cafleet.run(*detach[:2], "9", "--detach"), 1, "fleet 9 does not exist")
