"""What the end of a loop lets go at once, and what it waits for."""

from __future__ import annotations

import threading
import time

import pytest

from cafleet.courier.shutdown import Shutdown, ShutdownError


def typing(halt: Shutdown, until: threading.Event) -> threading.Thread:
    """A thread that has begun to type, and is done ``until`` then."""
    begun = threading.Event()

    def work() -> None:
        with halt.typing():
            begun.set()
            until.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(10)
    return thread


def test_whoever_rests_is_let_go_at_once() -> None:
    halt, let_go = Shutdown(), threading.Event()

    def rest() -> None:
        with pytest.raises(ShutdownError):
            halt.rest(1000)
        let_go.set()

    thread = threading.Thread(target=rest)
    thread.start()
    halt.end(1000)
    assert let_go.wait(10)
    thread.join()


def test_the_end_waits_for_what_is_being_typed_and_lets_nothing_begin() -> None:
    halt, over = Shutdown(), threading.Event()
    thread = typing(halt, over)
    timer = threading.Timer(0.1, over.set)
    timer.start()
    halt.end(10)
    assert over.is_set()
    with pytest.raises(ShutdownError), halt.typing():
        raise AssertionError("it has begun")
    thread.join()
    timer.join()


def test_the_end_does_not_wait_for_ever() -> None:
    halt, over = Shutdown(), threading.Event()
    thread = typing(halt, over)
    halt.end(0.05)
    assert thread.is_alive()
    over.set()
    thread.join()


def test_without_an_end_a_rest_is_a_rest() -> None:
    began = time.monotonic()
    Shutdown().rest(0.05)
    assert time.monotonic() - began >= 0.05
