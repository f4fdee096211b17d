"""When a pane is looked at again."""

from __future__ import annotations

from cafleet.courier.schedule import Schedule
from cafleet.records import OwingPane


class Courier:
    """Serves whoever is due, on a clock of its own; ``servers`` are what stands at each socket."""

    def __init__(self) -> None:
        self.servers: dict[str | None, int] = {}
        self.schedule = Schedule(self.servers.get)

    def serve(
        self, now: float, *rows: OwingPane, failed: bool = False, unanswered: bool = False
    ) -> list[int]:
        due = self.schedule.due(rows, now)
        for row in due:
            self.schedule.begin(row, now)
        served = [row.member_id for row in due]
        self.schedule.note(
            rows,
            served,
            now,
            failed=served if failed else (),
            unanswered=served if unanswered else (),
        )
        return served


def owing(
    member_id: int = 3,
    *,
    pane: str = "%1",
    socket: str | None = None,
    untried: bool = False,
    unreachable: bool = False,
) -> OwingPane:
    return OwingPane(
        member_id=member_id,
        mux_pane_id=pane,
        mux_socket=socket,
        untried=int(untried),
        typed=0,
        unsure=0,
        pressing=0,
        unreachable=int(unreachable),
    )


def times(courier: Courier, row: OwingPane, seconds: int) -> list[int]:
    """At which whole seconds the row is served."""
    return [now for now in range(seconds) if courier.serve(now, row)]


def test_a_held_notice_is_tried_every_second_then_every_five() -> None:
    expected = [*range(60), *range(60, 100, 5)]
    assert times(Courier(), owing(), 100) == expected


def test_an_unreachable_pane_is_tried_every_thirty_seconds() -> None:
    assert times(Courier(), owing(unreachable=True), 100) == [0, 30, 60, 90]


def test_a_server_that_hangs_is_asked_again_soon() -> None:
    courier = Courier()
    row = owing(unreachable=True)
    assert courier.serve(0, row, unanswered=True) == [3]
    assert courier.serve(0.5, row) == []
    assert courier.serve(1, row, unanswered=True) == [3]
    assert courier.serve(2, row) == [3]
    assert courier.serve(3, row) == []


def test_what_is_new_is_tried_at_once() -> None:
    courier = Courier()
    assert courier.serve(0, owing(unreachable=True)) == [3]
    assert courier.serve(0.1, owing(unreachable=True)) == []
    assert courier.serve(0.2, owing(untried=True)) == [3]
    assert courier.serve(0.3, owing(pane="%2", unreachable=True)) == [3]
    assert courier.serve(0.4, owing(pane="%2", unreachable=True)) == []
    assert courier.serve(0.5, owing(pane="%2", socket="/other", unreachable=True)) == [3]


def test_another_server_at_the_socket_is_news() -> None:
    courier = Courier()
    row = owing(socket="/s", unreachable=True)
    assert courier.serve(0, row) == [3]
    courier.servers["/s"] = 1
    assert courier.serve(1, row) == [3]
    assert courier.serve(2, row) == []
    del courier.servers["/s"]
    assert courier.serve(3, row) == [3]


def test_what_fails_is_no_reason_to_hurry() -> None:
    courier = Courier()
    row = owing(untried=True)
    assert courier.serve(0, row, failed=True) == [3]
    assert courier.serve(0.5, row, failed=True) == []
    assert courier.serve(1, row) == [3]
    assert courier.serve(1.1, row) == [3]


def test_whoever_is_owed_nothing_is_forgotten() -> None:
    courier = Courier()
    courier.serve(0, owing(3), owing(4, unreachable=True))
    assert courier.schedule.has_unreachable()
    assert courier.schedule.pause(0.25, 5.0) == 0.75
    assert courier.schedule.pause(0.25, 5.0, busy=[3]) == 5.0
    assert courier.schedule.pause(9.0, 5.0) == 0.0
    courier.serve(0.5)
    assert not courier.schedule.has_unreachable()
    assert courier.schedule.pause(9.0, 5.0) == 5.0
    assert courier.serve(0.6, owing(3)) == [3]
