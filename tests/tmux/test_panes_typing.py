"""Text reaches a program byte for byte, Enter reaches one pane, and nothing else happens."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cafleet.errors import MultiplexerError, PaneGoneError
from cafleet.panes import Multiplexer
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.panes_fixtures import ByteRecorders

# Characters that tmux's parsers, formats and key names, and shells, would make something of.
SPICE = st.sampled_from(
    [";", "\\;", "\\", "#{pane_id}", "#(id)", "#", "-", "--", "-n", "C-c", "Enter", "$(id)", "`id`"]
) | st.sampled_from(list("\n\r\t\x1b\0\x03$'\"{}%~😀界é\u0301\u200d\u2028\x9b﷽\ufeff"))
TEXTS = st.lists(SPICE | st.text(st.characters(exclude_categories=["Cs"]))).map("".join)


def test_any_text_arrives_unchanged(mux: Multiplexer, recorder: ByteRecorders) -> None:
    plain = recorder.session()
    bracketed = recorder.beside(plain, bracketed=True)
    seen = {plain: 0, bracketed: 0}

    @settings(max_examples=60)
    @given(TEXTS.filter(bool), st.booleans())
    @example("make test;", False)
    @example(";", False)
    @example("a\\;", True)
    @example("a;;", True)
    @example("-n hello", True)
    @example("--", False)
    def arrives(text: str, brackets: bool) -> None:
        pane = bracketed if brackets else plain
        data = b"\x1b[200~" + text.encode() + b"\x1b[201~" if brackets else text.encode()
        assert mux.paste({pane: text}) == {}
        recorder.expect(pane, data, start=seen[pane])
        seen[pane] += len(data)

    arrives()
    assert recorder.server.run("list-buffers") == ""


def test_long_texts_arrive_whole(mux: Multiplexer, recorder: ByteRecorders) -> None:
    first = recorder.session()
    second = recorder.beside(first)
    texts = {first: "x" * 99_999 + ";", second: "界" * 350_000}
    assert mux.paste(texts) == {}
    for pane, text in texts.items():
        recorder.expect(pane, text.encode())


def test_each_of_many_panes_gets_its_own_text(mux: Multiplexer, recorder: ByteRecorders) -> None:
    first = recorder.session(columns=200, rows=100)
    panes = [first, *(recorder.beside(first) for _ in range(5))]
    assert mux.paste({pane: f"for {pane}" for pane in panes}) == {}
    for pane in panes:
        recorder.expect(pane, f"for {pane}".encode())


def test_enter_is_one_carriage_return_in_every_kind_of_pane(
    mux: Multiplexer, recorder: ByteRecorders
) -> None:
    plain = recorder.session()
    bracketed = recorder.beside(plain, bracketed=True)
    assert mux.enter([plain, bracketed, plain]) == {}
    for pane in (plain, bracketed):
        recorder.expect(pane, b"\r")
    assert recorder.server.run("list-buffers") == ""


def test_synchronized_panes_get_only_their_own(mux: Multiplexer, recorder: ByteRecorders) -> None:
    here = recorder.session()
    there = recorder.beside(here)
    recorder.server.run("set-option", "-w", "-t", here, "synchronize-panes", "on")
    assert mux.paste({here: "hi"}) == {}
    assert mux.enter([here]) == {}
    recorder.expect(here, b"hi\r")
    assert recorder.received(there) == b""


def test_the_users_own_buffers_stay(mux: Multiplexer, recorder: ByteRecorders) -> None:
    pane = recorder.session()
    recorder.server.run("set-buffer", "of the user")
    assert mux.paste({pane: "hi"}) == {}
    assert recorder.server.run("show-buffer") == "of the user"


def test_copy_mode_is_seen_and_does_not_eat_an_enter(
    mux: Multiplexer, recorder: ByteRecorders
) -> None:
    pane = recorder.session()
    for mode in ("copy-mode", "choose-tree", "clock-mode"):
        recorder.server.run(mode, "-t", pane)
        picture = mux.pictures([pane])[pane]
        assert not isinstance(picture, MultiplexerError)
        assert picture.in_mode, mode
    assert mux.enter([pane]) == {}
    recorder.expect(pane, b"\r")


def test_nothing_is_pasted_in_copy_mode_where_it_would_lack_its_brackets(
    mux: Multiplexer, recorder: ByteRecorders
) -> None:
    pane = recorder.session(bracketed=True)
    recorder.server.run("copy-mode", "-t", pane)
    [error] = mux.paste({pane: "two\nlines"}).values()
    assert "copy mode" in error.message
    recorder.server.run("copy-mode", "-q", "-t", pane)
    assert mux.paste({pane: "two\nlines"}) == {}
    recorder.expect(pane, b"\x1b[200~two\nlines\x1b[201~")
    assert recorder.server.run("list-buffers") == ""


def test_a_dead_pane_is_a_failure_and_the_server_survives(
    mux: Multiplexer, recorder: ByteRecorders
) -> None:
    alive = recorder.session()
    recorder.server.run("set-option", "-g", "remain-on-exit", "on")
    dead = recorder.server.split(alive, ["true"])
    wait_for(lambda: recorder.server.ask(dead, "#{pane_dead}") == "1", "the pane is dead")
    failed = mux.paste({dead: "hi", alive: "ho"})
    assert list(failed) == [dead]
    assert isinstance(failed[dead], PaneGoneError)
    assert list(mux.enter([dead, alive])) == [dead]
    recorder.expect(alive, b"ho\r")
    assert recorder.server.run("list-buffers") == ""


def test_a_pane_with_its_input_off_is_a_failure(mux: Multiplexer, recorder: ByteRecorders) -> None:
    pane = recorder.session()
    recorder.server.run("select-pane", "-d", "-t", pane)
    picture = mux.pictures([pane])[pane]
    assert not isinstance(picture, MultiplexerError)
    assert picture.input_off
    assert "takes no input" in str(mux.paste({pane: "hi"})[pane])
    assert "takes no input" in str(mux.enter([pane])[pane])
    recorder.server.run("select-pane", "-e", "-t", pane)
    assert mux.paste({pane: "ho"}) == {}
    recorder.expect(pane, b"ho")


def test_absent_panes_do_not_spoil_the_others(mux: Multiplexer, recorder: ByteRecorders) -> None:
    pane = recorder.session("main")
    absent = ["%999", "", "main", "main:0.0", "%0;kill-server", "%-1", "%٣", "{last}", "%00"]
    texts = {**dict.fromkeys(absent[:4], "no"), pane: "yes", **dict.fromkeys(absent[4:], "no")}
    assert set(mux.paste(texts)) == set(absent)
    assert set(mux.enter([*absent, pane])) == set(absent)
    recorder.expect(pane, b"yes\r")
    assert recorder.server.run("list-buffers") == ""


def test_what_has_no_bytes_is_refused(mux: Multiplexer, recorder: ByteRecorders) -> None:
    pane = recorder.session()
    other = recorder.beside(pane)
    failed = mux.paste({pane: "bad \udcff", other: "good"})
    assert list(failed) == [pane]
    assert not isinstance(failed[pane], PaneGoneError)
    recorder.expect(other, b"good")
    assert recorder.received(pane) == b""


def test_nothing_to_paste_is_no_failure(mux: Multiplexer, recorder: ByteRecorders) -> None:
    pane = recorder.session()
    assert mux.paste({pane: ""}) == {}
    assert mux.paste({}) == {}
    assert mux.enter([]) == {}
    assert recorder.received(pane) == b""


def test_without_a_server_every_pane_fails(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    tmux_server.session("main")
    tmux_server.stop()
    for failed in (mux.paste({"%0": "a", "%1": "b"}), mux.enter(["%0", "%1"])):
        assert list(failed) == ["%0", "%1"]
        assert "no tmux server answers" in str(failed["%0"])
        assert not isinstance(failed["%0"], PaneGoneError)


def test_what_is_meant_for_one_program_is_given_to_no_other(
    mux: Multiplexer, recorder: ByteRecorders
) -> None:
    pane = recorder.session()
    picture = mux.pictures([pane])[pane]
    assert not isinstance(picture, MultiplexerError)
    failed = mux.paste({pane: "touch made"}, {pane: f"{picture.command}x"})
    assert "another program" in str(failed[pane])
    assert mux.paste({pane: "hi"}, {pane: picture.command}) == {}
    # A name that is no plain word is no reason to type nothing, and means nothing to tmux.
    for odd in ("a b", "x,1}", "#{pane_id}", "it's", ""):
        assert mux.paste({pane: "."}, {pane: odd}) == {}
    recorder.expect(pane, b"hi.....")
    assert recorder.server.run("list-buffers") == ""
