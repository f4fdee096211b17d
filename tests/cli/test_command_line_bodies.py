"""Bodies: byte for byte what was given, or refused with a reason of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.cli.bodies import BodySource, read_file
from cafleet.errors import BodyError, UsageError
from cafleet.texts import is_blank

BLANK = ["", " ", "   ", "\n", "\r\n\t", "\ufeff", "\u200b", "\u3000", "\x1c", "\xa0", " \ufeff\n"]


@pytest.mark.parametrize("text", BLANK)
def test_blank_is_blank_in_every_form(tmp_path: Path, text: str) -> None:
    file = tmp_path / "body"
    file.write_bytes(text.encode())
    assert is_blank(text)
    with pytest.raises(UsageError, match="TEXT is blank"):
        BodySource(text, None, name="TEXT").read()
    with pytest.raises(BodyError, match="is empty or blank"):
        read_file(str(file))
    run = read_stdin(text.encode())
    assert run.startswith(b"BodyError: stdin is empty or blank")


@pytest.mark.parametrize("text", [".", "\x00", "\ufeffa", "- [ ] x", "\x1b", "\u2800"])
def test_what_shows_or_does_something_is_not_blank(text: str) -> None:
    assert not is_blank(text)
    assert BodySource(text, None, name="TEXT").read() == text


@pytest.mark.parametrize(
    "data",
    [
        b"a\r\nb\rc\n",
        b"\xef\xbb\xbfbom\r\n",
        b"a\0b",
        "界🎉\u2028\x1b[0m".encode(),
        b"x" * 1_000_001,
    ],
)
def test_a_file_and_stdin_are_taken_byte_for_byte(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "body"
    file.write_bytes(data)
    assert read_file(str(file)).encode() == data
    assert read_stdin(data) == data


@given(st.text(min_size=1).filter(lambda text: not is_blank(text)))
def test_any_text_survives_a_file(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any-text"
    file.write_bytes(text.encode())
    assert read_file(str(file)) == text


def test_invalid_utf8_names_its_offset(tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"a" * 1_000_000 + b"\xff")
    with pytest.raises(BodyError, match="not valid UTF-8 at byte offset 1000000"):
        read_file(str(file))
    assert b"stdin is not valid UTF-8 at byte offset 2" in read_stdin(b"ab\xc3")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    for path, reason in [
        (tmp_path / "missing", "does not exist"),
        (tmp_path / "file" / "below", "does not exist"),
        (dangling, "is a symbolic link to nothing"),
        (tmp_path / ("n" * 300), "cannot be read (File name too long)"),
    ]:
        assert reason in refusal(str(path))
    assert "does not exist" in refusal("")


def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", "/dev/null", "/dev/zero"):
        assert "is not a regular file" in refusal(str(path))


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "body").write_text("hi")
    (tmp_path / "link").symlink_to(tmp_path / "body")
    assert read_file(str(tmp_path / "link")) == "hi"


def test_a_name_that_is_not_utf8_still_names_its_file(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff"
    with open(name, "wb") as file:
        file.write(b"hi")
    assert read_file(name.decode("utf-8", "surrogateescape")) == "hi"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_says_so(tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_text("hi")
    file.chmod(0)
    assert "cannot be read (Permission denied)" in refusal(str(file))


def test_stdin_that_is_closed_or_not_readable(tmp_path: Path) -> None:
    assert b"stdin is closed" in shell_stdin("<&-")
    assert b"stdin cannot be read (Bad file descriptor)" in shell_stdin(f"0>{tmp_path}/f")


def refusal(path: str) -> str:
    with pytest.raises(BodyError) as refused:
        read_file(path)
    return str(refused.value)


# `read_file("-")` in a process of its own: its stdin is real.
READ_STDIN = """
import sys
from cafleet.cli.bodies import read_file
from cafleet.errors import BodyError
try:
    sys.stdout.buffer.write(read_file("-").encode())
except BodyError as error:
    print(f"BodyError: {error}")
"""


def read_stdin(data: bytes) -> bytes:
    run = subprocess.run(
        [sys.executable, "-c", READ_STDIN], input=data, stdout=subprocess.PIPE, check=True
    )
    return run.stdout


def shell_stdin(redirection: str) -> bytes:
    run = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" {redirection}', sys.executable, READ_STDIN],
        stdout=subprocess.PIPE,
        check=True,
    )
    return run.stdout
