"""Who am I: the pane of the caller, never the one that has the focus."""

from __future__ import annotations

import pytest

from cafleet.errors import MultiplexerError, PaneGoneError, SettingError
from cafleet.panes import Multiplexer, detect_backend, detect_caller, multiplexer
from cafleet.records import Backend
from tests.harness.tmux import TmuxServer
from tests.tmux.panes_fixtures import restarted, tag

VARIABLES = ("CAFLEET_MULTIPLEXER", "HERDR_ENV", "TMUX", "TMUX_PANE")


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def enter(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("variables", "backend"),
    [
        ({"TMUX": "/x,1,0"}, "tmux"),
        ({"HERDR_ENV": "1"}, "herdr"),
        ({"TMUX": "/x,1,0", "HERDR_ENV": ""}, "tmux"),
        ({"TMUX": "/x,1,0", "HERDR_ENV": "1", "CAFLEET_MULTIPLEXER": "herdr"}, "herdr"),
        ({"TMUX": "/x,1,0", "HERDR_ENV": "1", "CAFLEET_MULTIPLEXER": "tmux"}, "tmux"),
        ({"CAFLEET_MULTIPLEXER": "tmux"}, "tmux"),
    ],
)
def test_the_choice(
    variables: dict[str, str], backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(monkeypatch, variables)
    assert detect_backend() is Backend(backend)


@pytest.mark.parametrize("variables", [{}, {"TMUX": ""}, {"TMUX": "/x,1,0", "HERDR_ENV": "1"}])
def test_no_choice_says_how_to_choose(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(monkeypatch, variables)
    with pytest.raises(MultiplexerError, match=r"TMUX and HERDR_ENV are .*; (start|say)"):
        detect_caller()


@pytest.mark.parametrize("name", ["", "screen", "TMUX", " tmux"])
def test_an_unknown_name_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(monkeypatch, {"CAFLEET_MULTIPLEXER": name, "TMUX": "/x,1,0"})
    with pytest.raises(SettingError) as failure:
        detect_caller()
    assert "CAFLEET_MULTIPLEXER" in str(failure.value)
    assert repr(name) in str(failure.value)


def test_herdr_is_not_there_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    enter(monkeypatch, {"HERDR_ENV": "1"})
    with pytest.raises(MultiplexerError, match="herdr is not supported yet"):
        detect_caller()
    with pytest.raises(MultiplexerError, match="herdr is not supported yet"):
        multiplexer(Backend.HERDR, None)


def test_the_callers_pane_in_the_background(
    mux: Multiplexer, tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmux_server.session("a b")
    pane = tmux_server.split(first)
    tmux_server.run("new-window", "-t", "a b:", "sleep", "1000")
    mux.set_tag(pane, tag(2))
    enter(monkeypatch, tmux_server.inside(pane))
    caller = detect_caller()
    assert caller.pane == pane
    assert caller.window == tmux_server.ask(first, "#{window_id}")
    assert caller.session == "a b"
    assert caller.socket == tmux_server.socket
    assert caller.backend is Backend.TMUX
    assert caller.tag == tag(2).text()


def test_a_pane_that_is_gone(tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tmux_server.session("main")
    pane = tmux_server.split(first)
    enter(monkeypatch, tmux_server.inside(pane))
    tmux_server.run("kill-pane", "-t", pane)
    with pytest.raises(PaneGoneError):
        detect_caller()


def test_a_pane_id_that_a_new_server_has_given_again(
    tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = tmux_server.session("main")
    enter(monkeypatch, tmux_server.inside(pane))
    tmux_server.stop()
    with pytest.raises(MultiplexerError, match="no tmux server answers"):
        detect_caller()
    assert restarted(tmux_server) == pane
    with pytest.raises(PaneGoneError):
        detect_caller()


@pytest.mark.parametrize("variables", [{"TMUX": "/x"}, {"TMUX": "/x,1,0"}, {"TMUX_PANE": "%0"}])
def test_half_a_tmux(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    enter(monkeypatch, {"CAFLEET_MULTIPLEXER": "tmux", **variables})
    with pytest.raises(MultiplexerError, match="inside tmux"):
        detect_caller()
