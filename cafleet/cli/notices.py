"""What a sender does about notices once its messages are committed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from cafleet.broker import deliveries
from cafleet.cli.output import warn
from cafleet.errors import CafleetError, DatabaseError
from cafleet.present.message_text import unreachable_warning
from cafleet.records import Delivery, DeliveryState

if TYPE_CHECKING:
    from cafleet.store import Connection


def notify(conn: Connection, message_ids: Sequence[int]) -> dict[int, Delivery]:
    """Make one pass for the notices that are owed; returns what is known of each delivery then.

    Never raises for a notice that could not be typed: the messages are stored, and a sender that
    saw its command fail would send them again. It is warned instead.
    """
    known = deliveries.states(conn, message_ids=message_ids)
    # Anything but `queued` is either nobody's business or has been taken up by someone meanwhile.
    owed = [each for each, delivery in known.items() if delivery.state is DeliveryState.QUEUED]
    if not owed:
        return known
    try:
        # Imported only here: it brings the multiplexer with it.
        from cafleet.courier import delivery_pass

        known |= delivery_pass.notify(conn, owed)
    except Exception as error:  # noqa: BLE001 - even a fault of ours must not look like "not stored"
        warn(
            f"the delivery of the notice was cut short ({_cause(error)}); what was sent is stored, do "
            "not send it again"
        )
        with suppress(DatabaseError):
            known |= deliveries.states(conn, message_ids=message_ids)
    warning = unreachable_warning(known)
    if warning is not None:
        warn(warning)
    return known


def _cause(error: Exception) -> str:
    # The text of an error that is not ours may quote what was sent.
    return str(error) if isinstance(error, CafleetError) else type(error).__name__
