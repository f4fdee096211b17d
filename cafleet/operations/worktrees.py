"""Work trees of git that members work in: `member create --worktree`."""

from __future__ import annotations

import os

import msgspec

from cafleet.errors import CafleetError, RefusedError, UsageError
from cafleet.operations.git import git

# What a member in a work tree writes in the common folder of its repository, beside the tree's own folder.
_SHARED = ("objects", "refs", "logs")
_PATH_BYTES = 65536


class WorktreePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A work tree that can be made. ``folder`` is one in the repository, ``base_commit`` what the tree
    begins with. ``is_new`` says that the branch is made with it."""

    folder: str
    path: str
    branch: str
    base_commit: str
    is_new: bool


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A work tree that is there. ``common`` is the git folder of its repository, ``own`` the tree's part
    of that."""

    path: str
    common: str
    own: str


def plan_worktree(folder: str, branch: str) -> WorktreePlan:
    """Say which work tree can be made for ``branch``, in the repository of ``folder``. Changes nothing.

    Raises:
        UsageError: it is no name of a branch.
        RefusedError: git is not on PATH, the folder is in no repository or in one without commits,
            the branch is checked out elsewhere, or there is something where the tree would be.
    """
    ref = f"refs/heads/{branch}"
    is_name = git(folder, "check-ref-format", ref).status == 0
    if not is_name or branch == "HEAD" or branch.startswith("-"):
        raise UsageError(f"--worktree {branch!r} is no name of a branch; git would refuse it")
    repository = _repository(folder)
    head = git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.status:
        raise RefusedError(
            f"the repository {repository!r} has no commit that a work tree could begin with; commit "
            f"something first"
        )
    tip = git(folder, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    if tip.status == 0:
        _refuse_checked_out(folder, branch)
    path = f"{repository}.worktrees/{branch}"
    _refuse_taken(path, repository)
    return WorktreePlan(
        folder=folder,
        path=path,
        branch=branch,
        base_commit=head.out if tip.status else tip.out,
        is_new=tip.status != 0,
    )


def make_worktree(plan: WorktreePlan) -> None:
    """Make a work tree as planned, and its branch if that is new.

    Raises:
        CafleetError: git could not do it. Nothing of it is left.
    """
    what = ["--no-track", "-b", plan.branch] if plan.is_new else []
    start = plan.base_commit if plan.is_new else plan.branch
    made = git(plan.folder, "worktree", "add", *what, plan.path, start)
    if made.status == 0:
        return
    # Git has removed the tree again, and leaves the branch. One that exists already is another's.
    if plan.is_new and "already exists" not in made.err:
        _delete_branch(plan)
    _remove_empty_parents(plan.path)
    raise CafleetError(f"git could not make the work tree {plan.path!r}: {made.err}")


def unmake_worktree(plan: WorktreePlan) -> tuple[str, ...]:
    """Remove a work tree that was just made, and its branch if that was new. Says what remains."""
    try:
        removed = git(plan.folder, "worktree", "remove", plan.path)
        if removed.status:
            return (f"the work tree {plan.path!r} is still there: {removed.err}",)
        _remove_empty_parents(plan.path)
        if plan.is_new and not _delete_branch(plan):
            return (f"the branch {plan.branch} is still there, since it has moved",)
    except CafleetError as error:
        return (f"the work tree {plan.path!r} is still there: {error}",)
    return ()


def find_tree(path: str, branch: str) -> Tree | None:
    """The work tree that was made for ``branch`` at ``path``; ``None`` where git does not know it.

    The repository is asked, and not the tree: its member may have written anything there.
    """
    repository = path.removesuffix(f".worktrees/{branch}")
    if repository == path or not os.path.isdir(repository):
        return None
    try:
        common = _common(repository)
    except CafleetError:
        return None
    owns = [own for own in _parts(common) if _tree_of(own) == os.path.realpath(path)]
    return Tree(path=path, common=common, own=owns[0]) if len(owns) == 1 else None


def git_folders(path: str, branch: str) -> tuple[str, ...]:
    """The folders outside of a work tree that its member has to write in, to commit there."""
    tree = find_tree(path, branch)
    if tree is None:
        return ()
    shared = (os.path.join(tree.common, name) for name in _SHARED)
    return (*filter(os.path.isdir, shared), tree.own)


def remove_tree(tree: Tree) -> None:
    """Remove a work tree without changed and untracked files. Ignored ones go with it.

    Raises:
        CafleetError: git refuses it.
    """
    done = git(
        tree.common,
        "worktree",
        "remove",
        tree.path,
        variables={"GIT_DIR": tree.common, "GIT_COMMON_DIR": tree.common},
    )
    if done.status:
        raise CafleetError(f"git does not remove the work tree {tree.path!r}: {done.err}")
    _remove_empty_parents(tree.path)


def _repository(folder: str) -> str:
    """The folder that the work trees of a repository are named after: its main tree, or itself where it
    has none."""
    common = _common(folder)
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    if git(common, "rev-parse", "--is-bare-repository").out == "true":
        return common
    top = git(folder, "rev-parse", "--show-toplevel")
    own = git(folder, "rev-parse", "--absolute-git-dir")
    if top.status or os.path.realpath(own.out) != common:
        raise RefusedError(
            f"{folder!r} is in a work tree of a repository that keeps its git folder elsewhere; run this "
            f"in the repository's main tree"
        )
    return top.out


def _common(folder: str) -> str:
    found = git(folder, "rev-parse", "--git-common-dir")
    if found.status:
        raise RefusedError(
            f"the folder {folder!r} is in no repository that git can use ({found.err}); run this in one, or "
            f"leave --worktree out"
        )
    return os.path.realpath(os.path.join(folder, found.out))


def _refuse_checked_out(folder: str, branch: str) -> None:
    where = ""
    for line in git(folder, "worktree", "list", "--porcelain").out.split("\n"):
        word, _, rest = line.partition(" ")
        if word == "worktree":
            where = rest
        elif word == "branch" and rest == f"refs/heads/{branch}":
            raise RefusedError(
                f"the branch {branch} is checked out in {where!r} already; start the member there with "
                f"--cwd, or choose another branch"
            )


def _refuse_taken(path: str, repository: str) -> None:
    if os.path.lexists(path):
        raise RefusedError(
            f"there is something at {path!r} already; start the member there with --cwd, remove it, or "
            f"choose another branch"
        )
    above = os.path.dirname(path)
    while len(above) > len(repository):
        if os.path.lexists(above) and not os.path.isdir(above):
            raise RefusedError(f"{above!r} is no folder; move it away, or choose another branch")
        if os.path.lexists(f"{above}/.git"):
            raise RefusedError(
                f"{path!r} would lie in the work tree {above!r}; choose another branch"
            )
        above = os.path.dirname(above)


def _delete_branch(plan: WorktreePlan) -> bool:
    """Delete a branch that was just made, unless it has moved. Git keeps one that is checked out."""
    tip = git(plan.folder, "rev-parse", "--verify", "--quiet", f"refs/heads/{plan.branch}")
    if tip.status:
        return True
    if tip.out != plan.base_commit:
        return False
    return git(plan.folder, "branch", "--quiet", "-D", "--", plan.branch).status == 0


def _remove_empty_parents(path: str) -> None:
    """Remove the folders between a work tree and its repository that are empty now."""
    above = os.path.dirname(path)
    while ".worktrees" in above:
        try:
            os.rmdir(above)
        except OSError:
            return
        if above.endswith(".worktrees"):
            return
        above = os.path.dirname(above)


def _parts(common: str) -> list[str]:
    """What a repository has of each of its work trees."""
    try:
        return sorted(each.path for each in os.scandir(os.path.join(common, "worktrees")))
    except OSError:
        return []


def _tree_of(own: str) -> str | None:
    """Where the work tree is, by what its repository has of it."""
    try:
        with open(os.path.join(own, "gitdir"), "rb") as file:
            link = os.fsdecode(file.read(_PATH_BYTES).removesuffix(b"\n"))
    except OSError:
        return None
    return os.path.realpath(os.path.dirname(os.path.join(own, link)))
