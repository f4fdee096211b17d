"""Time: how it is written, and the one lenient way in which it is read.

Every stored timestamp is UTC text ``YYYY-MM-DDTHH:MM:SS.ffffff+00:00`` with six fraction digits
always, so that the order of the text is the order of time and SQL can compare it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_STAMP = r"(?a)\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}\+00:00"
# Up to nine digits, as other programs of ours wrote them: the order of such texts is that of time too.
_SORTED = r"(?a)\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6,9}(\+00:00|Z)"
_RFC3339 = r"(?a)\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)"


def utc_now() -> datetime:
    """The present, aware, in UTC."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """Write an aware ``moment`` in the stored form."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def is_stamp(text: str) -> bool:
    """Whether ``text`` is a time in the stored form, and in no other."""
    if re.fullmatch(_STAMP, text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_sorted(text: str) -> bool:
    """Whether ``text`` is a UTC time that stands among stored ones in the order of time, such as one
    with nanoseconds in a database that was adopted."""
    return re.fullmatch(_SORTED, text) is not None and read(text) is not None


def read(text: str) -> datetime | None:
    """Read an RFC 3339 time (section 5.6, a space also allowed for the ``T``), or ``None``.

    Never raises. A leap second counts as the first instant of the next minute; digits of the
    fraction beyond the sixth are dropped.
    """
    if re.fullmatch(_RFC3339, text) is None:
        return None
    text = text.upper()
    is_leap = text[17:19] == "60"
    try:
        moment = datetime.fromisoformat(f"{text[:17]}59{text[19:]}" if is_leap else text)
        return moment.astimezone(UTC) + timedelta(seconds=is_leap)
    except (ValueError, OverflowError):
        return None


def seconds_since(text: str, now: datetime) -> int | None:
    """Whole seconds from a stored time to ``now``, truncated toward zero; ``None`` if unreadable."""
    moment = read(text)
    return None if moment is None else int((now - moment).total_seconds())


def short_age(seconds: int) -> str:
    """``12s``, ``5m`` or ``3h``, rounded down."""
    if seconds < 60:
        return f"{seconds}s"
    return f"{seconds // 60}m" if seconds < 3600 else f"{seconds // 3600}h"
