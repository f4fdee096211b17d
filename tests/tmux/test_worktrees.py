"""Members in work trees of git: `member create --worktree`, `member delete --remove-worktree`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet
from tests.harness.journals import Recorders
from tests.harness.program import Program, Result
from tests.harness.refusals import assert_refused
from tests.harness.tmux import TmuxServer
from tests.tmux.faults import FaultyTmux

IDENTITY = {
    f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **IDENTITY},
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout.strip()


def repository_at(folder: Path) -> Path:
    """A repository with one commit, in which `*.o` is ignored."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a").write_text("a")
    (folder / ".gitignore").write_text("*.o\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


class Team:
    """Members that are created and deleted from the Director's pane."""

    def __init__(self, cafleet: Program, fleet: Fleet) -> None:
        self.cafleet, self.home, self.fleet_id = cafleet, fleet.director.pane, str(fleet.fleet_id)

    def create(self, *options: str, cwd: Path) -> Result:
        words = ("--fleet-id", self.fleet_id, "--name", "n", "--description", "d", "--json")
        words = (*words, "--allow-same-name", *options, "hi")
        return self.cafleet.run("member", "create", *words, pane=self.home, cwd=cwd)

    def delete(self, member_id: int, *options: str) -> Result:
        return self.cafleet.run("member", "delete", str(member_id), *options, pane=self.home)


@pytest.fixture
def team(cafleet: Program, fleet: Fleet) -> Team:
    return Team(cafleet, fleet)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return repository_at(tmp_path / "a repo;$(id)")


@pytest.mark.parametrize("branch", ["b", "feature/deep/b", "#{pid};$(id)", "界"])
def test_a_member_starts_in_its_tree_and_is_shown_with_it(
    branch: str, team: Team, recorders: Recorders, repository: Path
) -> None:
    inside = repository / "sub"
    inside.mkdir()
    made = team.create("--worktree", branch, cwd=inside).json()
    tree = Path(f"{repository}.worktrees/{branch}")
    base = git(repository, "rev-parse", "HEAD")
    told = {"worktree": str(tree), "branch": branch, "base_commit": base}
    assert told.items() <= made.items()
    assert recorders.of(made["placement"]["mux_pane_id"]).started()["cwd"] == str(tree)
    assert git(tree, "symbolic-ref", "HEAD") == f"refs/heads/{branch}"
    shown = team.cafleet.run("member", "show", str(made["member_id"]), "--json").json()
    assert told.items() <= shown.items()
    listed = team.cafleet.run("member", "list", team.fleet_id, "--json").json()
    assert told.items() <= listed[-1].items()
    assert "worktree" not in listed[0]
    assert str(tree) in team.cafleet.run("member", "show", str(made["member_id"])).stdout
    left = team.delete(made["member_id"])
    assert "stays, with no file that is not committed, and 0 commits since the start" in left.stderr
    assert tree.is_dir()


def test_from_a_tree_the_next_one_stands_beside_it(team: Team, repository: Path) -> None:
    team.create("--worktree", "b", cwd=repository).ok()
    other = team.create("--worktree", "c", cwd=Path(f"{repository}.worktrees/b")).json()
    assert other["worktree"] == f"{repository}.worktrees/c"
    git(repository, "branch", "old")
    known = team.create("--worktree", "old", "--cwd", str(repository), cwd=Path("/")).json()
    assert known["worktree"] == f"{repository}.worktrees/old"


def test_what_git_cannot_do_is_refused_before_anything_is_made(
    team: Team,
    repository: Path,
    tmp_path: Path,
    database: Database,
    tmux_server: TmuxServer,
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    trees = Path(f"{repository}.worktrees")
    (trees / "there").mkdir(parents=True)
    (trees / "link").symlink_to("nowhere")
    (trees / "file").touch()
    git(repository, "worktree", "add", "-q", "-b", "away", str(tmp_path / "away"))
    git(repository, "worktree", "add", "-q", "-b", "under", str(trees / "within"))
    git(repository, "worktree", "add", "-q", "-b", "gone", str(trees / "gone"))
    subprocess.run(["rm", "-r", str(trees / "gone")], check=True)
    before = (database.dump(), tmux_server.panes(), git(repository, "branch", "--list"))
    cases = [
        (tmp_path, "b", 1, "is in no repository"),
        (empty, "b", 1, "has no commit"),
        (repository, "main", 1, "is checked out in"),
        (repository, "away", 1, "is checked out in"),
        (repository, "gone", 1, "is checked out in"),
        (repository, "there", 1, "something at"),
        (repository, "link", 1, "something at"),
        (repository, "file/b", 1, "is no folder"),
        (repository, "within/b", 1, "would lie in the work tree"),
        (repository, "main/b", 1, "git could not make"),
    ]
    for folder, branch, code, words in cases:
        assert_refused(team.create("--worktree", branch, cwd=folder), code, words)
    for branch in ("-b", "HEAD", "a..b", "../b", "/b", "b/", "b.lock", "a b", "a\nb", "@{-1}", " "):
        assert_refused(team.create(f"--worktree={branch}", cwd=repository), 2, "--worktree")
    assert (database.dump(), tmux_server.panes(), git(repository, "branch", "--list")) == before
    assert sorted(each.name for each in trees.iterdir()) == ["file", "link", "there", "within"]


def test_git_has_to_be_there(team: Team, repository: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "tmux").symlink_to(team.cafleet.environment["PATH"].split(":")[0] + "/none")
    team.cafleet.environment["PATH"] = str(programs)
    assert_refused(team.create("--worktree", "b", cwd=repository), 1, "git is not on PATH")


def test_a_creation_that_fails_takes_its_tree_and_branch_with_it(
    team: Team, repository: Path, faulty_tmux: FaultyTmux
) -> None:
    faults = faulty_tmux.variables("x", "fail", word="new-window")
    # Its folder comes first, and the programs of the agents stand where they stood.
    faults["PATH"] = f"{faulty_tmux.folder}:{team.cafleet.environment['PATH']}"
    team.cafleet.environment.update(faults)
    assert_refused(team.create("--worktree", "b", cwd=repository), 1, "simulated failure")
    assert not Path(f"{repository}.worktrees").exists()
    assert git(repository, "branch", "--list", "b") == ""


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("changed", "has changed files ('a')"),
        ("staged", "has changed files ('n')"),
        ("untracked", "has untracked files ('n')"),
        ("ignored", "has ignored files ('sub/x.o')"),
        ("hidden", "has changed files ('a')"),
        ("detached", "is on no branch"),
        ("settings", "settings of its own"),
    ],
)
def test_a_tree_with_something_to_lose_is_not_removed(
    harm: str, words: str, team: Team, repository: Path, database: Database
) -> None:
    made = team.create("--worktree", "b", cwd=repository).json()
    tree = Path(made["worktree"])
    match harm:
        case "changed":
            (tree / "a").write_text("b")
        case "staged":
            (tree / "n").touch()
            git(tree, "add", "n")
        case "untracked":
            (tree / "n").touch()
        case "ignored":
            (tree / "sub").mkdir()
            (tree / "sub/x.o").touch()
        case "hidden":
            git(tree, "update-index", "--assume-unchanged", "a")
            (tree / "a").write_text("b")
        case "detached":
            git(tree, "checkout", "-q", "--detach")
        case "settings":
            (repository / ".git/worktrees/b/config.worktree").touch()
    before = database.dump()
    refused = team.delete(made["member_id"], "--remove-worktree", "--ignore", "*.a")
    assert_refused(refused, 1, words)
    assert tree.is_dir()
    assert database.dump() == before
    team.delete(made["member_id"]).ok()
    assert tree.is_dir()


def test_a_tree_with_nothing_to_lose_is_removed_and_its_branch_stays(
    team: Team, repository: Path
) -> None:
    made = team.create("--worktree", "f/b", cwd=repository).json()
    tree = Path(made["worktree"])
    (tree / "new").write_text("new")
    git(tree, "add", "new")
    git(tree, "commit", "-q", "-m", "second")
    (tree / "sub").mkdir()
    (tree / "sub/x.o").touch()
    tip = git(tree, "rev-parse", "HEAD")
    options = ("--remove-worktree", "--ignore", "sub/")
    done = team.delete(made["member_id"], *options)
    assert f"work tree removed: {tree}" in done.ok().stdout
    assert not Path(f"{repository}.worktrees").exists()
    assert git(repository, "rev-parse", "f/b") == tip
    assert "f/b" not in git(repository, "worktree", "list")


def test_a_tree_that_another_member_is_in_is_not_removed(team: Team, repository: Path) -> None:
    made = team.create("--worktree", "b", cwd=repository).json()
    other = team.create(cwd=Path(made["worktree"])).json()
    refused = team.delete(made["member_id"], "--remove-worktree")
    assert_refused(refused, 1, f"member {other['member_id']} works in")
    team.delete(other["member_id"]).ok()
    team.delete(made["member_id"], "--remove-worktree").ok()


def test_only_a_member_with_a_tree_has_one_to_remove(team: Team, repository: Path) -> None:
    made = team.create(cwd=repository).json()
    refused = team.delete(made["member_id"], "--remove-worktree")
    assert_refused(refused, 1, "was not given a work tree")
    assert_refused(team.delete(made["member_id"], "--ignore", "x"), 2, "--remove-worktree")


def test_the_tree_cannot_send_git_elsewhere(team: Team, repository: Path, tmp_path: Path) -> None:
    """Its member may write there, and git executes what a repository's settings name."""
    made = team.create("--worktree", "b", cwd=repository).json()
    tree = Path(made["worktree"])
    other = repository_at(tmp_path / "other")
    git(other, "config", "core.fsmonitor", f"touch {tmp_path}/executed; false")
    (tree / ".git").write_text(f"gitdir: {other}/.git\n")
    (repository / ".git/worktrees/b/commondir").write_text(f"{other}/.git\n")
    team.delete(made["member_id"], "--remove-worktree")
    assert not (tmp_path / "executed").exists()
    assert (other / "a").exists()


def test_codex_may_write_what_a_commit_writes_after_a_restart_too(
    team: Team, repository: Path, recorders: Recorders
) -> None:
    made = team.create("--worktree", "b", "--coding-agent", "codex", cwd=repository).json()
    # Where the tree itself says that its repository is, counts for nothing.
    (Path(made["worktree"]) / ".git").write_text("gitdir: /etc\n")
    again = ("member", "restart", str(made["member_id"]), "--force", "--json")
    for member in (made, team.cafleet.run(*again, pane=team.home, seconds=60).json()):
        started = recorders.of(member["placement"]["mux_pane_id"]).started()
        assert started["cwd"] == made["worktree"]
        roots = next(word for word in started["argv"] if "writable_roots" in word)
        for name in ("objects", "refs", "logs", "worktrees/b"):
            assert f'"{repository}/.git/{name}"' in roots
        for name in (".git", ".git/hooks", ".git/config"):
            assert f'"{repository}/{name}"' not in roots
        assert "/etc" not in roots


def test_of_two_creations_of_one_branch_one_has_it(team: Team, repository: Path) -> None:
    words = ("--fleet-id", team.fleet_id, "--name", "n", "--description", "d", "--allow-same-name")
    racers = [
        team.cafleet.start(
            *("member", "create", *words, "--worktree", "b", "hi"), pane=team.home, cwd=repository
        )
        for _ in range(3)
    ]
    results = [team.cafleet.finish(racer) for racer in racers]
    assert sorted(result.exit_code for result in results) == [0, 1, 1], results
    assert git(Path(f"{repository}.worktrees/b"), "symbolic-ref", "HEAD") == "refs/heads/b"
