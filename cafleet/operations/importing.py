"""Import the fleets of the published Python program, and hint at fleets that were not imported."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from shlex import quote

from cafleet import settings
from cafleet.broker.importing import ImportReport, import_fleets, missing_fleets
from cafleet.errors import CafleetError, DatabaseError, RefusedError
from cafleet.store.connection import connect
from cafleet.store.recognition import Kind, recognise
from cafleet.store.untouched import read_untouched, traces


def import_database(path: str, source: str) -> tuple[str, ImportReport]:
    """Import the fleets of the predecessor's database at ``source`` into ours at ``path``. Returns the
    absolute path of ``source`` and a report. ``source`` is only read.

    Raises:
        RefusedError: ``source`` is no such database, or it was written meanwhile.
        DatabaseError: one of them cannot be read or written; nothing was imported.
    """
    try:
        source = os.path.abspath(source)
    except OSError as failure:
        raise DatabaseError(
            f"there is no current folder any more ({failure.strerror}); give an absolute path"
        ) from failure
    found = recognise(source)
    if not found.is_importable:
        raise RefusedError(_why_not(source, found.kind, found.sentence))
    before = traces(source)

    def refuse_changes() -> None:
        if traces(source) != before:
            raise RefusedError(
                f"the database at {source} was written meanwhile, nothing was imported; stop the "
                f"fleets of the old program and try again"
            )

    with read_untouched(source) as old, closing(connect(path)) as conn:
        return source, import_fleets(conn, old, still_the_same=refuse_changes)


def _why_not(source: str, kind: Kind, sentence: str | None) -> str:
    if kind in (Kind.HEAD, Kind.OLDER, Kind.PUBLISHED):
        return (
            f"the database at {source} needs no import; point CAFLEET_DATABASE_URL to it and run `cafleet "
            f"setup`"
        )
    if kind in (Kind.EMPTY, Kind.MISSING, Kind.FOREIGN):
        what = f"there is no database at {source}" if kind is Kind.MISSING else f"{source} is none"
        return f"{what} of the published Python cafleet; give --import the path of one"
    return sentence or ""


def hint(path: str) -> str | None:
    """A sentence about fleets at the predecessor's usual place that were not imported.

    Null if there are none, or that cannot be found out.
    """
    try:
        source = settings.predecessor_path()
        if not os.path.isfile(source) or not recognise(source).is_importable:
            return None
        with ExitStack() as opened:
            old = opened.enter_context(read_untouched(source))
            is_at_head = recognise(path).kind is Kind.HEAD
            conn = opened.enter_context(closing(connect(path))) if is_at_head else None
            count = len(missing_fleets(conn, old))
    except CafleetError:
        return None
    if not count:
        return None
    fleets = "1 fleet" if count == 1 else f"{count} fleets"
    return (
        f"the published Python cafleet has left {fleets} in {source}; `cafleet setup --import "
        f"{quote(source)}` brings them here"
    )
