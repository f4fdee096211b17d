"""Time: how it is written, and the one lenient way in which it is read.

Every stored timestamp is UTC text ``YYYY-MM-DDTHH:MM:SS.ffffff+00:00`` with six fraction digits
always, so that the order of the text is the order of time and SQL can compare it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_STAMP = r"(?a)\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}\+00:00"
_RFC3339 = (
    r"(?a)(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?"
    r"(?:([Zz])|([+-])(\d{2}):(\d{2}))"
)


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


def read(text: str) -> datetime | None:
    """Read an RFC 3339 time (section 5.6, a space also allowed for the ``T``), or ``None``.

    Never raises. A leap second counts as the first instant of the next minute; digits of the
    fraction beyond the sixth are dropped.
    """
    match = re.fullmatch(_RFC3339, text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.group(1, 2, 3, 4, 5, 6))
    micros = int((match[7] or "")[:6].ljust(6, "0"))
    offset = timedelta()
    if match[9]:
        hours, minutes = int(match[10]), int(match[11])
        if hours > 23 or minutes > 59:
            return None
        offset = timedelta(hours=hours, minutes=minutes) * (1 if match[9] == "+" else -1)
    if second > 60:
        return None
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), micros, timezone(offset))
        return moment.astimezone(UTC) + timedelta(seconds=second == 60)
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
