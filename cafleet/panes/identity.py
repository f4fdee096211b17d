"""Whose pane is it: the tag that is written on a pane, and the rule that reads it."""

from __future__ import annotations

import msgspec

from cafleet.screens import Picture
from cafleet.settings import decimal

# Pane options beside the tag's own; what they say is told by cafleet.panes.interface.Spot.
CREATING_OPTION = "@cafleet_creating"
DIRECTOR_OPTION = "@cafleet_director"


class PaneTag(msgspec.Struct, frozen=True, kw_only=True):
    """What a pane carries once it has joined a fleet.

    ``database_id`` is the registry's own random id (it has no colon), so that fleets of two
    registries on one server are never taken for each other.
    """

    database_id: str
    fleet_id: int
    member_id: int

    def fleet(self) -> str:
        """The part that all panes of one fleet share, its last colon included."""
        return f"{self.database_id}:{self.fleet_id}:"

    def text(self) -> str:
        """The tag as it stands on the pane: ``<database_id>:<fleet_id>:<member_id>``."""
        return f"{self.fleet()}{self.member_id}"


def parse_tag(text: str) -> PaneTag | None:
    """Read what stands on a pane; ``None`` for anything that :meth:`PaneTag.text` cannot write."""
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

    A tag decides alone: pane ids are handed out again after a restart of the server, and people
    rename sessions and move panes. Only a placement that knows no ``socket`` may own an untagged
    pane; it was written before panes were tagged, so its session and window have to match.
    """
    if picture.tag:
        return picture.tag == tag.text()
    return socket is None and (picture.session, picture.window) == (session, window)
