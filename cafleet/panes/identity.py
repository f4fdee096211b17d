"""The tag that says whose a pane is, and the rule that compares it."""

from __future__ import annotations

import msgspec

from cafleet.screens import Picture
from cafleet.settings import decimal

# Pane options beside the tag's own; what they say is told by cafleet.panes.interface.Spot.
CREATING_OPTION = "@cafleet_creating"
DIRECTOR_OPTION = "@cafleet_director"


class PaneTag(msgspec.Struct, frozen=True, kw_only=True):
    """The tag of a pane that belongs to a member.

    ``database_id`` is the random id of the registry, without a colon. It keeps the fleets of two
    registries on one server apart.
    """

    database_id: str
    fleet_id: int
    member_id: int

    def fleet(self) -> str:
        """The beginning that all tags of one fleet share, with its last colon."""
        return f"{self.database_id}:{self.fleet_id}:"

    def text(self) -> str:
        """The tag as it stands on the pane: ``<database_id>:<fleet_id>:<member_id>``."""
        return f"{self.fleet()}{self.member_id}"


def parse_tag(text: str) -> PaneTag | None:
    """Parse a tag. ``None`` for anything that :meth:`PaneTag.text` cannot write."""
    parts = text.split(":")
    if len(parts) != 3 or not parts[0]:
        return None
    fleet_id, member_id = decimal(parts[1], low=1), decimal(parts[2], low=1)
    if fleet_id is None or member_id is None:
        return None
    return PaneTag(database_id=parts[0], fleet_id=fleet_id, member_id=member_id)


def belongs(
    picture: Picture, *, tag: PaneTag, socket: str | None, session: str, window: str
) -> bool:
    """Whether the pictured pane is the member's.

    The tag alone decides. A restarted server gives out the same pane ids again, and people rename
    sessions and move panes. Placements without a ``socket`` are older than tags: their pane may be
    untagged, and then session and window have to match.
    """
    if picture.tag:
        return picture.tag == tag.text()
    return socket is None and (picture.session, picture.window) == (session, window)
