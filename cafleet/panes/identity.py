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
    registries on one server apart. ``launch_number`` counts the starts of the member from 1.
    """

    database_id: str
    fleet_id: int
    member_id: int
    launch_number: int = 1

    def fleet(self) -> str:
        """The beginning that all tags of one fleet share, with its last colon."""
        return f"{self.database_id}:{self.fleet_id}:"

    def text(self) -> str:
        """The tag as it stands on the pane: ``<database_id>:<fleet_id>:<member_id>:<launch_number>``."""
        return f"{self.fleet()}{self.member_id}:{self.launch_number}"

    def is_of_same_member(self, other: PaneTag | None) -> bool:
        """Whether ``other`` is a tag of the same member, whichever start of it."""
        return (
            other is not None
            and msgspec.structs.replace(other, launch_number=self.launch_number) == self
        )


def parse_tag(text: str) -> PaneTag | None:
    """Parse a tag. ``None`` for anything that :meth:`PaneTag.text` cannot write.

    Older programs wrote no launch number. It is 1 then.
    """
    database_id, *numbers = text.split(":")
    if not database_id or len(numbers) not in (2, 3):
        return None
    read = [decimal(number, low=1) for number in (*numbers, "1")[:3]]
    fleet_id, member_id, launch_number = read
    if fleet_id is None or member_id is None or launch_number is None:
        return None
    return PaneTag(
        database_id=database_id,
        fleet_id=fleet_id,
        member_id=member_id,
        launch_number=launch_number,
    )


def belongs(
    picture: Picture, *, tag: PaneTag, socket: str | None, session: str, window: str
) -> bool:
    """Whether the pictured pane is the member's.

    The tag alone decides. A restarted server gives out the same pane ids again, and people rename
    sessions and move panes. Placements without a ``socket`` are older than tags: their pane may be
    untagged, and then session and window have to match.
    """
    if picture.tag:
        return tag.is_of_same_member(parse_tag(picture.tag))
    return socket is None and (picture.session, picture.window) == (session, window)
