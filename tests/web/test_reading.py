"""What can be read: the keys and their order, the order of rows, what is masked, pages of history."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cafleet.clock import seconds_since, stamp, utc_now
from cafleet.courier.process_lock import ProcessLock, courier_lock_path
from tests.harness.program import Program
from tests.harness.registry import NOW, THEN, Registry
from tests.harness.web import WebServer

LATER = stamp(NOW + timedelta(seconds=5))
LATEST = stamp(NOW + timedelta(seconds=9))
MONITOR_KEYS = [
    "running",
    "pid",
    "tick_seconds",
    "wake_interval_seconds",
    "last_tick_at",
    "last_tick_age_seconds",
    "started_at",
    "last_wake_at",
    "last_wake_age_seconds",
    "members",
]


def ids(page: dict[str, Any]) -> list[int]:
    assert list(page) == ["messages"]
    return [message["message_id"] for message in page["messages"]]


def test_fleets_are_a_bare_array_newest_first(web: WebServer, registry: Registry) -> None:
    assert web.get("/api/fleets", fleet=None).ok() == []
    director, _, ann = registry.crew("ann")
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = ?", ann)
    registry.fleet(deleted_at=THEN)
    registry.fleet(name="Ünïcode \u202e fleet")
    newest, oldest = web.get("/api/fleets", fleet="not read here").ok()
    assert newest["name"] == "Ünïcode \u202e fleet"
    assert list(oldest.items()) == [
        ("fleet_id", 1),
        ("director_member_id", director),
        ("name", "f"),
        ("created_at", THEN),
        ("member_count", 2),
    ]


def test_the_roster_holds_whoever_is_active_or_owns_a_message(
    web: WebServer, registry: Registry
) -> None:
    director, monitor, ann, bob, cid = registry.crew("ann", "bob", "cid")
    registry.crew("stranger")
    registry.place(director, "%0", mux_socket="/secret/socket")
    registry.place(ann, None)
    registry.message(bob, cid)
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id IN (?, ?)", bob, cid)
    found = web.get("/api/members").ok()
    assert list(found) == ["members"]
    first, second, third, fourth = found["members"]
    assert list(first.items()) == [
        ("member_id", director),
        ("name", "Director"),
        ("description", "d"),
        ("status", "active"),
        ("registered_at", THEN),
        ("kind", "director"),
        (
            "placement",
            {
                "backend": "tmux",
                "mux_session": "main",
                "mux_window_id": "@0",
                "mux_pane_id": "%0",
                "coding_agent": "claude",
                "created_at": THEN,
            },
        ),
    ]
    assert list(first["placement"])[-1] == "created_at"
    assert (second["member_id"], second["kind"], second["placement"]) == (monitor, "monitor", None)
    assert (third["member_id"], third["placement"]["mux_pane_id"]) == (ann, None)
    assert (fourth["member_id"], fourth["status"]) == (cid, "deregistered")


def test_a_message_on_the_wire(web: WebServer, registry: Registry) -> None:
    _, _, ann, bob = registry.crew("ann", "böb")
    body = "<script>alert(1)</script> \x1b[31m \u2028 💥"
    message = registry.message(ann, bob, body, delivery_state="held", origin_message_id=7)
    [found] = web.get("/api/timeline").ok()["messages"]
    assert list(found.items()) == [
        ("message_id", message),
        ("from_member_id", ann),
        ("from_member_name", "ann"),
        ("to_member_id", bob),
        ("to_member_name", "böb"),
        ("type", "unicast"),
        ("status", "input_required"),
        ("created_at", THEN),
        ("status_timestamp", THEN),
        ("origin_message_id", 7),
        ("body", body),
        ("delivery_state", "held"),
    ]


def test_histories_are_in_the_order_of_the_last_change_without_summaries(
    web: WebServer, registry: Registry
) -> None:
    director, monitor, ann, bob = registry.crew("ann", "bob")
    old = registry.message(ann, bob, status_timestamp=LATEST)
    new = registry.message(ann, bob, status_timestamp=LATER)
    same = registry.message(bob, ann, status_timestamp=LATER)
    registry.message(ann, ann, to_member_id=None, type="broadcast_summary")
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = ?", bob)
    assert ids(web.get("/api/timeline").ok()) == [old, same, new]
    assert ids(web.get(f"/api/members/{bob}/inbox").ok()) == [old, new]
    assert ids(web.get(f"/api/members/{ann}/sent").ok()) == [old, new]
    assert ids(web.get(f"/api/members/{ann}/inbox").ok()) == [same]
    assert ids(web.get(f"/api/members/{monitor}/inbox").ok()) == []
    assert ids(web.get(f"/api/members/{director}/sent").ok()) == []


def test_the_timeline_ends_at_200_and_pages_reach_the_rest(
    web: WebServer, registry: Registry
) -> None:
    _, _, ann, bob = registry.crew("ann", "bob")
    written = [registry.message(ann, bob, str(number)) for number in range(205)]
    # Changed last, but written first.
    registry.rows("UPDATE messages SET status_timestamp = ? WHERE message_id = 1", LATEST)
    newest = ids(web.get("/api/timeline").ok())
    assert newest == [1, *reversed(written[-199:])]
    assert len(ids(web.get(f"/api/members/{bob}/inbox").ok())) == 205
    for path in ("/api/timeline", f"/api/members/{bob}/inbox", f"/api/members/{ann}/sent"):
        read: list[int] = []
        query = "limit=50"
        while page := ids(web.get(f"{path}?{query}").ok()):
            read += page
            query = f"before={read[-1]}&limit=50"
        assert read == list(reversed(written))
        assert ids(web.get(f"{path}?before=10").ok()) == list(range(9, 0, -1))
        assert ids(web.get(f"{path}?before=1").ok()) == []
    assert ids(web.get("/api/timeline?limit=1000").ok()) == list(reversed(written))[:200]
    assert len(ids(web.get(f"/api/members/{bob}/inbox?limit=1000").ok())) == 205


@pytest.mark.parametrize("limit", [1001, 999_999, 2**63 - 1])
def test_a_page_has_at_most_a_thousand(web: WebServer, registry: Registry, limit: int) -> None:
    _, _, ann, bob = registry.crew("ann", "bob")
    first = registry.message(ann, bob)
    registry.rows(
        "INSERT INTO messages (owner_member_id, from_member_id, to_member_id, type, status_state, "
        "created_at, status_timestamp, text) "
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100) "
        "SELECT owner_member_id, from_member_id, to_member_id, type, status_state, created_at, "
        "status_timestamp, i FROM n, messages WHERE message_id = ?",
        first,
    )
    for path in (f"/api/members/{bob}/inbox", f"/api/members/{ann}/sent"):
        page = ids(web.get(f"{path}?limit={limit}").ok())
        assert page == list(range(first + 1100, first + 100, -1))
        assert len(ids(web.get(f"{path}?limit={limit}&before={page[-1]}").ok())) == 101


@pytest.mark.parametrize("name", ["before", "limit"])
@pytest.mark.parametrize("value", ["", "0", "-1", "1.0", "x", "%201", "01", str(2**63)])
def test_a_page_needs_whole_numbers(
    web: WebServer, registry: Registry, name: str, value: str
) -> None:
    _, _, ann = registry.crew("ann")
    for path in ("/api/timeline", f"/api/members/{ann}/inbox", f"/api/members/{ann}/sent"):
        assert name in web.get(f"{path}?{name}={value}").detail(422)


def test_a_fleet_sees_its_own_messages_alone(web: WebServer, registry: Registry) -> None:
    _, _, ann, bob = registry.crew("ann", "bob")
    *_, eve, fay = registry.crew("eve", "fay")
    own, foreign = registry.message(ann, bob), registry.message(eve, fay)
    assert ids(web.get("/api/timeline", fleet=1).ok()) == [own]
    assert ids(web.get("/api/timeline", fleet=2).ok()) == [foreign]
    for member in (eve, 999, 0, -1, 2**63, 10**40, "x", "1.0", "%20", "%EF%BC%91"):
        for box in ("inbox", "sent"):
            assert web.get(f"/api/members/{member}/{box}").detail(404) == "Member not found"
    for message in (foreign, 999, 0, -1, 2**63, 10**40, "x"):
        assert web.get(f"/api/messages/{message}/why").detail(404) == "Message not found"


def test_a_life_line_is_that_of_the_command_line(
    web: WebServer, registry: Registry, program: Program
) -> None:
    _, _, ann, bob = registry.crew("ann", "bob")
    one = registry.message(ann, bob)
    summary = web.post(
        "/api/messages/send", {"from_member_id": ann, "to_member_id": "*", "text": "all"}
    ).ok()["message_id"]
    program.run("message", "poll", str(bob), env=registry.identity(bob)).ok()
    for message, key in ((one, "events"), (summary, "recipients")):
        told = program.run("message", "why", str(message), "--json").ok().stdout
        found = web.get(f"/api/messages/{message}/why")
        assert found.ok()[key]
        assert found.body.decode() + "\n" == told


def test_a_monitor_that_never_ran(web: WebServer, registry: Registry) -> None:
    registry.crew("ann")
    card = web.get("/api/monitor").ok()
    assert list(card) == MONITOR_KEYS
    assert card == dict.fromkeys(MONITOR_KEYS) | {"running": False, "members": []}


def row(registry: Registry, **columns: Any) -> None:
    """The monitor's row of fleet 1."""
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    registry.rows(
        f"INSERT INTO monitor_runtime (fleet_id, {names}) VALUES (1, {marks})", *columns.values()
    )


@pytest.mark.parametrize("interval", [None, 0, 600])
def test_a_monitor_that_is_not_live_tells_nothing_of_its_last_life(
    web: WebServer, registry: Registry, interval: int | None
) -> None:
    _, _, ann = registry.crew("ann")
    registry.place(ann, "%1")
    registry.message(ann, ann)
    fresh = stamp(utc_now())
    row(
        registry,
        pid=1,
        started_at=fresh,
        last_tick_at=fresh,
        last_wake_at=fresh,
        tick_seconds=7,
        wake_interval_seconds=interval,
    )
    card = web.get("/api/monitor").ok()
    [waiting] = card["members"]
    # That is a fact of the messages, not of the loop.
    assert (waiting["pending_count"], waiting["oldest_pending_ts"]) == (1, THEN)
    assert waiting["oldest_pending_age_seconds"] > 0
    told = {"running": False, "tick_seconds": 7, "wake_interval_seconds": interval}
    told["members"] = [waiting]
    assert card == dict.fromkeys(MONITOR_KEYS) | told


def test_a_live_monitor_and_whom_it_watches(web: WebServer, registry: Registry) -> None:
    _, _, ann, bob, _ = registry.crew("ann", "bob", "placeless")
    for member, pane in ((ann, "%1"), (bob, None)):
        registry.place(member, pane)
    registry.message(bob, ann)
    registry.message(bob, ann, status_timestamp="whenever")
    lock = ProcessLock(courier_lock_path(str(registry.path), 1))
    assert lock.acquire()
    now = utc_now()
    ticked, woken = stamp(now - timedelta(seconds=2)), stamp(now - timedelta(seconds=90))
    row(
        registry,
        pid=4711,
        started_at=woken,
        last_tick_at=ticked,
        last_wake_at=woken,
        tick_seconds=5,
        wake_interval_seconds=600,
    )
    try:
        card = web.get("/api/monitor").ok()
        asked_at = web.ask("POST", "/api/monitor/wake", fleet=1, body=b"any {").ok()
    finally:
        lock.release()
    waiting, idle = card.pop("members")
    tick_age, wake_age = card.pop("last_tick_age_seconds"), card.pop("last_wake_age_seconds")
    assert 2 <= tick_age <= 30
    assert wake_age - tick_age == 88
    assert card == {
        "running": True,
        "pid": 4711,
        "tick_seconds": 5,
        "wake_interval_seconds": 600,
        "last_tick_at": ticked,
        "started_at": woken,
        "last_wake_at": woken,
    }
    age = waiting.pop("oldest_pending_age_seconds")
    assert 0 <= (seconds_since(THEN, utc_now()) or 0) - age <= 30
    assert waiting == {
        "member_id": ann,
        "name": "ann",
        "pending_count": 2,
        "oldest_pending_ts": THEN,
    }
    assert list(idle.items()) == [
        ("member_id", bob),
        ("name", "bob"),
        ("pending_count", 0),
        ("oldest_pending_ts", None),
        ("oldest_pending_age_seconds", None),
    ]
    stored = registry.value("SELECT wake_requested_at FROM monitor_runtime")
    assert asked_at == {"wake_requested_at": stored}


def test_no_age_is_negative(web: WebServer, registry: Registry) -> None:
    _, _, ann = registry.crew("ann")
    registry.place(ann, "%1")
    now = utc_now()
    ahead = stamp(now + timedelta(days=26_330))
    registry.message(ann, ann, created_at=ahead, status_timestamp=ahead)
    row(registry, pid=1, started_at=ahead, last_tick_at=stamp(now), last_wake_at=ahead)
    lock = ProcessLock(courier_lock_path(str(registry.path), 1))
    assert lock.acquire()
    try:
        card = web.get("/api/monitor").ok()
    finally:
        lock.release()
    assert (card["last_wake_at"], card["last_wake_age_seconds"]) == (ahead, 0)
    assert card["members"][0]["oldest_pending_ts"] == ahead
    assert card["members"][0]["oldest_pending_age_seconds"] == 0


def test_head_answers_as_get_without_a_body(web: WebServer, registry: Registry) -> None:
    registry.crew("ann")
    for path in ("/api/fleets", "/api/members", "/api/timeline", "/api/changes"):
        reply = web.ask("HEAD", path, fleet=1)
        assert (reply.status, reply.body) == (200, b"")
