"""Digests of the stored starts, in a folder that no sandbox of a member may write.

Members in a sandbox can write the database. A row that does not fit its digest may be one that a
member has changed, so a restart shows it and starts nothing by it unasked.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress

import msgspec

from cafleet.atomic_write import replace_file
from cafleet.errors import NoHomeError
from cafleet.records import Launch
from cafleet.settings import config_folder


def note(database_id: str, launch: Launch, *, before: Launch | None = None) -> None:
    """Keep the digest of a start that is about to be stored in place of the one ``before``.

    The digest of that one stays, if it fits: whether the new row is committed shows only later, and
    many tries may be cut off. Where the folder cannot be written nothing is kept, and a restart will
    say so.
    """
    with suppress(OSError, NoHomeError):
        path = _path(database_id, launch.member_id)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        kept = [_digest(launch)]
        if before is not None and _digest(before) in _kept(path):
            kept.append(_digest(before))
        replace_file(path, "".join(f"{each}\n" for each in kept).encode())


def fits(database_id: str, launch: Launch) -> bool:
    """Whether the stored start is one that this user's programs have written."""
    with suppress(NoHomeError):
        return _digest(launch) in _kept(_path(database_id, launch.member_id))
    return False


def _path(database_id: str, member_id: int) -> str:
    # A damaged id may hold anything, also a path.
    name = hashlib.sha256(database_id.encode("utf-8", "replace")).hexdigest()[:32]
    return os.path.join(config_folder(), "launches", name, str(member_id))


def _kept(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(1024).split()
    except OSError:
        return []


def _digest(launch: Launch) -> str:
    # The session is found after the start. A record proves whose it is.
    lasting = msgspec.structs.replace(launch, session_id=None)
    return hashlib.sha256(msgspec.json.encode(lasting)).hexdigest()
