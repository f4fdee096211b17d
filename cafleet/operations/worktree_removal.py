"""What is in a member's work tree, and its removal where nothing is lost: `member delete`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from cafleet.broker import fleets, launches
from cafleet.errors import CafleetError, RefusedError
from cafleet.operations.agent_start import stored_folder
from cafleet.operations.git import GitResult, git
from cafleet.operations.worktrees import Tree, find_tree, remove_tree
from cafleet.records import Launch
from cafleet.store import Connection

# So many files are named where they are in the way.
_MOST_NAMED = 5
# What a repository's settings could have git execute in a tree whose member may have written there.
_INERT = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a work tree beside its last commit. ``commits`` counts those since the tree was made,
    and is null where git cannot tell."""

    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...]
    detached: bool
    commits: int | None


def described(launch: Launch) -> str | None:
    """A sentence about the work tree of a member that leaves; ``None`` if it has none."""
    if launch.worktree is None:
        return None
    path = stored_folder(launch.worktree)
    head = f"the work tree {path!r} of member {launch.member_id} stays"
    if not os.path.isdir(path):
        return f"the work tree {path!r} of member {launch.member_id} is gone already"
    try:
        contents = contents_of(_tree(launch), launch.base_commit)
    except CafleetError as error:
        return f"{head}: {error}"
    counts = [
        f"{len(files)} {kind}"
        for kind, files in (
            ("changed", contents.changed),
            ("untracked", contents.untracked),
            ("ignored", contents.ignored),
        )
        if files
    ]
    holds = f"{', '.join(counts)} files" if counts else "no file that is not committed"
    since = (
        "" if contents.commits is None else f", and {_commits(contents.commits)} since the start"
    )
    return f"{head}, with {holds}{since}"


def check_removable(
    conn: Connection, member_id: int, launch: Launch | None, ignore: Sequence[str]
) -> Tree:
    """The work tree of a member, if nothing is lost with it.

    Raises:
        RefusedError: the member has none, or something would be lost, or another member is in it.
    """
    if launch is None or launch.worktree is None:
        raise RefusedError(
            f"member {member_id} was not given a work tree; leave --remove-worktree out"
        )
    tree = _tree(launch)
    others = _others_in(conn, tree.path, member_id)
    if others:
        raise RefusedError(
            f"member {others[0]} works in the work tree {tree.path!r} as well; delete that one first, or "
            f"leave --remove-worktree out"
        )
    if os.path.isdir(tree.path):
        _refuse_loss(tree, contents_of(tree, None), ignore)
    return tree


def contents_of(tree: Tree, base_commit: str | None) -> Contents:
    """Ask git what is in a work tree.

    Raises:
        RefusedError: git cannot tell.
    """
    if os.path.lexists(os.path.join(tree.own, "config.worktree")):
        raise RefusedError(
            f"the work tree {tree.path!r} has settings of its own, and its member may have written them; "
            f"look at {os.path.join(tree.own, 'config.worktree')!r}, and use git yourself"
        )
    changed, untracked, ignored = [], [], []
    parts = iter(
        _ask(
            tree,
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--ignored=traditional",
            "--ignore-submodules=none",
        ).split("\0")
    )
    for part in parts:
        kind, name = part[:2], part[3:]
        if kind == "??":
            untracked.append(name)
        elif kind == "!!":
            ignored.append(name)
        elif kind:
            changed.append(name)
            if "R" in kind or "C" in kind:
                next(parts, None)
    changed += _passed_over(tree)
    head = _git(tree, "symbolic-ref", "--quiet", "HEAD")
    count = None
    if base_commit is not None:
        counted = _git(tree, "rev-list", "--count", f"{base_commit}..HEAD", "--")
        count = int(counted.out) if counted.status == 0 else None
    return Contents(
        changed=tuple(changed),
        untracked=tuple(untracked),
        ignored=tuple(ignored),
        detached=head.status != 0,
        commits=count,
    )


def remove(conn: Connection, launch: Launch, ignore: Sequence[str]) -> str:
    """Remove the work tree of a member that has left. The branch stays. Returns what was removed.

    Raises:
        CafleetError: something would be lost now, or git refuses it.
    """
    tree = check_removable(conn, launch.member_id, launch, ignore)
    remove_tree(tree)
    return tree.path


def is_ignorable(name: str, patterns: Sequence[str]) -> bool:
    """Whether a file may go: a pattern fits its path, the path of a folder that it is in, or one of
    their names."""
    parts = name.strip("/").split("/")
    paths = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    wanted = [pattern.rstrip("/") for pattern in patterns]
    return any(fnmatchcase(each, pattern) for each in (*paths, *parts) for pattern in wanted)


def _tree(launch: Launch) -> Tree:
    path = stored_folder(launch.worktree or "")
    tree = find_tree(path, launch.branch or "")
    if tree is None:
        raise RefusedError(
            f"git does not know the work tree {path!r} any more; look at it yourself"
        )
    return tree


def _refuse_loss(tree: Tree, contents: Contents, ignore: Sequence[str]) -> None:
    ignored = [name for name in contents.ignored if not is_ignorable(name, ignore)]
    for kind, files, advice in (
        ("changed", contents.changed, "commit or undo the changes"),
        ("untracked", contents.untracked, "commit or remove them"),
        ("ignored", ignored, "remove them, or name those that may go with --ignore PATTERN"),
    ):
        if files:
            shown = ", ".join(map(repr, files[:_MOST_NAMED]))
            more = len(files) - _MOST_NAMED
            shown += f" and {more} more" if more > 0 else ""
            raise RefusedError(
                f"the work tree {tree.path!r} has {kind} files ({shown}); {advice}, or leave "
                f"--remove-worktree out"
            )
    if contents.detached:
        raise RefusedError(
            f"the work tree {tree.path!r} is on no branch, so its commits could be lost; switch to a branch, "
            f"or leave --remove-worktree out"
        )


def _passed_over(tree: Tree) -> list[str]:
    """The files that git was told not to look at, though they are there."""
    listed = _ask(tree, "ls-files", "-v", "-z").split("\0")
    marked = [each[2:] for each in listed if each and (each[0].islower() or each[0] == "S")]
    return [name for name in marked if os.path.lexists(os.path.join(tree.path, name))]


def _others_in(conn: Connection, path: str, member_id: int) -> list[int]:
    """The active members of all fleets, but this one, that were started in a folder of a work tree."""
    found = []
    top = os.path.realpath(path)
    for fleet_id in fleets.living_ids(conn):
        for other_id, text in launches.folders(conn, fleet_id=fleet_id).items():
            folder = os.path.realpath(stored_folder(text))
            if other_id != member_id and (folder == top or folder.startswith(f"{top}/")):
                found.append(other_id)
    return found


def _ask(tree: Tree, *words: str) -> str:
    answer = _git(tree, *words)
    if answer.status:
        raise RefusedError(
            f"git cannot tell what is in the work tree {tree.path!r}: {answer.err}; look at it yourself"
        )
    return answer.out


def _git(tree: Tree, *words: str) -> GitResult:
    # The files by which the tree itself names its repository are its member's to write.
    return git(
        tree.path,
        *_INERT,
        *words,
        variables={
            "GIT_DIR": tree.own,
            "GIT_COMMON_DIR": tree.common,
            "GIT_WORK_TREE": tree.path,
        },
    )


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"
