"""Putting the skill and a preset in place, whatever stands there already."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cafleet.agents.replacing import MANIFEST, replace_file, replace_folder

OLD = {"SKILL.md": b"old\n", "member.md": b"old page\n"}
NEW = {"SKILL.md": b"new\n", "director.md": b"new page\n"}


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    return tmp_path / "base" / "skills"


def put(skills: Path, files: dict[str, bytes]) -> list[str] | None:
    return replace_folder(str(skills / "cafleet"), files, keep_in=str(skills.parent))


def test_a_folder_where_nothing_was(skills: Path) -> None:
    assert put(skills, NEW) == []
    assert content(skills / "cafleet") == NEW
    assert names(skills) == ["cafleet"]
    assert names(skills.parent) == ["skills"]


def test_an_older_installation_is_replaced_without_a_trace(skills: Path) -> None:
    put(skills, OLD)
    assert put(skills, NEW) == []
    assert content(skills / "cafleet") == NEW
    assert names(skills) == ["cafleet"]
    assert names(skills.parent) == ["skills"]


def test_the_same_again_writes_nothing(skills: Path) -> None:
    put(skills, NEW)
    before = written(skills)
    assert put(skills, NEW) is None
    assert written(skills) == before


def written(skills: Path) -> list[tuple[int, int]]:
    """Which file stands at each path, and when it or its place was last written to."""
    found = [path.stat() for path in (skills / "cafleet", skills / "cafleet/SKILL.md")]
    return [(each.st_ino, each.st_ctime_ns) for each in found]


def edited(folder: Path) -> None:
    (folder / "SKILL.md").write_bytes(b"mine\n")


def with_a_note(folder: Path) -> None:
    (folder / "notes.md").write_bytes(b"mine\n")


def with_a_folder(folder: Path) -> None:
    (folder / "more").mkdir()


def without_a_page(folder: Path) -> None:
    (folder / "member.md").unlink()


def cut_short(folder: Path) -> None:
    (folder / "member.md").write_bytes(b"old")


def without_manifest(folder: Path) -> None:
    (folder / MANIFEST).unlink()


@pytest.mark.parametrize(
    "spoil", [edited, with_a_note, with_a_folder, without_a_page, cut_short, without_manifest]
)
def test_what_is_not_as_it_was_installed_is_kept(
    skills: Path, spoil: Callable[[Path], None]
) -> None:
    for number in (1, 2):
        put(skills, OLD)
        spoil(skills / "cafleet")
        before = sorted(path.name for path in (skills / "cafleet").iterdir())
        [note] = put(skills, NEW) or []
        kept = skills.parent / f"cafleet-skill.kept-{number}"
        assert f"kept as {kept}" in note
        assert names(kept) == before
        assert content(skills / "cafleet") == NEW
        # An agent would take a folder in there for one more skill.
        assert names(skills) == ["cafleet"]


def test_an_empty_folder_is_nobodys(skills: Path) -> None:
    (skills / "cafleet").mkdir(parents=True)
    assert put(skills, NEW) == []
    assert names(skills.parent) == ["skills"]


def test_a_file_in_the_folders_place_is_kept(skills: Path) -> None:
    skills.mkdir(parents=True)
    (skills / "cafleet").write_text("mine")
    assert put(skills, NEW)
    assert (skills.parent / "cafleet-skill.kept-1").read_text() == "mine"
    assert content(skills / "cafleet") == NEW


@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_a_link_is_replaced_and_not_followed(skills: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/SKILL.md").write_bytes(b"mine\n")
    skills.mkdir(parents=True)
    (skills / "cafleet").symlink_to(tmp_path / target)
    [note] = put(skills, NEW) or []
    assert f"was a symbolic link to {tmp_path / target}" in note
    assert not (skills / "cafleet").is_symlink()
    assert content(skills / "cafleet") == NEW
    assert content(tmp_path / "there") == {"SKILL.md": b"mine\n"}
    assert not (tmp_path / "nowhere").exists()


def test_a_link_to_the_same_content_is_replaced_too(skills: Path, tmp_path: Path) -> None:
    put(skills, NEW)
    (skills / "cafleet").rename(tmp_path / "there")
    (skills / "cafleet").symlink_to(tmp_path / "there")
    assert put(skills, NEW)
    assert not (skills / "cafleet").is_symlink()


def test_a_file_where_nothing_was_and_again(tmp_path: Path) -> None:
    path = tmp_path / "rules" / "cafleet.rules"
    assert replace_file(str(path), b"one") == []
    assert replace_file(str(path), b"one") is None
    assert replace_file(str(path), b"two") == []
    assert path.read_bytes() == b"two"
    assert names(path.parent) == ["cafleet.rules", "cafleet.rules.installed"]


def test_a_file_of_the_users_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "cafleet.rules"
    path.write_bytes(b"mine")
    [note] = replace_file(str(path), b"ours") or []
    assert f"kept as {path}.kept-1" in note
    path.write_bytes(b"mine again")
    replace_file(str(path), b"ours")
    assert path.read_bytes() == b"ours"
    assert Path(f"{path}.kept-1").read_bytes() == b"mine"
    assert Path(f"{path}.kept-2").read_bytes() == b"mine again"


def test_a_file_that_is_ours_already_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "cafleet.rules"
    path.write_bytes(b"ours")
    assert replace_file(str(path), b"ours") is None
    assert replace_file(str(path), b"next") == []


def test_folders_and_pipes_in_a_files_place_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "cafleet.rules"
    path.mkdir()
    (path / "x").write_text("mine")
    assert replace_file(str(path), b"ours")
    assert (tmp_path / "cafleet.rules.kept-1/x").read_text() == "mine"
    path.unlink()
    os.mkfifo(path)
    assert replace_file(str(path), b"ours")
    assert (tmp_path / "cafleet.rules.kept-2").is_fifo()
    assert path.read_bytes() == b"ours"


def test_a_folder_in_the_place_of_the_record_is_kept(tmp_path: Path) -> None:
    path, record = tmp_path / "cafleet.rules", tmp_path / "cafleet.rules.installed"
    replace_file(str(path), b"ours")
    for number, standing in enumerate([b"ours", b"spoilt", None], start=1):
        record.unlink()
        record.mkdir()
        (record / "x").write_text("mine")
        if standing is None:
            path.unlink()
        else:
            path.write_bytes(standing)
        notes = replace_file(str(path), b"ours") or []
        assert f"kept as {record}.kept-{number}" in notes[0]
        assert Path(f"{record}.kept-{number}/x").read_text() == "mine"
        assert path.read_bytes() == b"ours"
        assert replace_file(str(path), b"ours") is None


def test_a_link_in_a_files_place_is_replaced(tmp_path: Path) -> None:
    path, target = tmp_path / "cafleet.rules", tmp_path / "mine.rules"
    target.write_bytes(b"mine")
    path.symlink_to(target)
    [note] = replace_file(str(path), b"ours") or []
    assert f"symbolic link to {target}" in note
    assert (path.is_symlink(), path.read_bytes(), target.read_bytes()) == (False, b"ours", b"mine")
