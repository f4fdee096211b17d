"""The one place that calls git. It uses no shell, and every call has a time limit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

import msgspec

from cafleet.errors import CafleetError, RefusedError

# A large repository takes minutes to check out.
_LIMIT = 600.0
# These would make git work on another repository than that of the folder that it is started in.
_REPOSITORY = frozenset(
    f"GIT_{name}"
    for name in (
        "ALTERNATE_OBJECT_DIRECTORIES",
        "COMMON_DIR",
        "DIR",
        "INDEX_FILE",
        "NAMESPACE",
        "OBJECT_DIRECTORY",
        "PREFIX",
        "WORK_TREE",
    )
)
_OWN = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


class GitResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call. ``out`` is without its last line feed, ``err`` is one line."""

    status: int
    out: str
    err: str


def git(folder: str, *words: str, variables: Mapping[str, str] | None = None) -> GitResult:
    """Have git execute a command in ``folder``. The caller judges the exit status.

    Paths that are not UTF-8 stand in ``out`` as Python has file names.

    Raises:
        RefusedError: git is not on PATH.
        CafleetError: git cannot be started, or does not come to an end.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _REPOSITORY}
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            env={**environment, **_OWN, **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CafleetError(
            f"git {words[0]} has not ended in {_LIMIT:.0f} s, and was ended; look for what it waits for"
        ) from None
    except FileNotFoundError:
        if not os.path.isdir(folder):
            raise RefusedError(f"the folder {folder!r} does not exist any more") from None
        raise RefusedError("git is not on PATH; install it or correct PATH") from None
    except OSError as error:
        raise CafleetError(f"git cannot be started ({error.strerror}); mend that") from error
    return GitResult(
        status=done.returncode,
        out=os.fsdecode(done.stdout.removesuffix(b"\n")),
        err=" ".join(done.stderr.decode("utf-8", "replace").split()),
    )
