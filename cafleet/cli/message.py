"""The `message` commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cafleet import settings
from cafleet.cli.arguments import identifier, page_size, positive, utf8, wait_state, whole
from cafleet.cli.bodies import BodySource
from cafleet.cli.output import say, to_json, warn
from cafleet.cli.parser import Command, SubjectCommand
from cafleet.cli.session import open_session
from cafleet.clock import utc_now
from cafleet.errors import DatabaseError, IntegrityError
from cafleet.present import message_text as texts
from cafleet.present.envelope import envelope
from cafleet.present.wire import (
    BroadcastWire,
    MessageWire,
    SentWire,
    count_states,
    life,
)
from cafleet.records import MessageRecord, WaitState

if TYPE_CHECKING:
    from cafleet.operations.sending import Wait
    from cafleet.store import Connection

app = typer.Typer()

Sender = Annotated[
    int,
    typer.Option("--from-member-id", parser=identifier, metavar="ID", help="The sender."),
]
Recipient = Annotated[
    int,
    typer.Option("--to-member-id", parser=identifier, metavar="ID", help="The recipient."),
]
Text = Annotated[
    str | None,
    typer.Argument(
        parser=utf8,
        metavar="TEXT",
        show_default=False,
        help="The body; after -- it may begin with a dash.",
    ),
]
File = Annotated[
    str | None,
    typer.Option("--file", metavar="PATH", help="Take the body from this file; - reads stdin."),
]
MemberId = Annotated[int, typer.Argument(parser=identifier, metavar="MEMBER_ID")]
MessageId = Annotated[int, typer.Argument(parser=identifier, metavar="MESSAGE_ID")]
Urgent = Annotated[
    bool,
    typer.Option(
        "--urgent", help="Type the notice even while the agent works; the agent queues it."
    ),
]
WaitFor = Annotated[
    WaitState | None,
    typer.Option(
        "--wait",
        parser=wait_state,
        metavar="STATE",
        help="Wait until the delivery is submitted, seen or acked. Exit 1 if it is not in time.",
    ),
]
Timeout = Annotated[
    int | None,
    typer.Option("--timeout", parser=whole, metavar="S", help="Wait at most S seconds (60)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]


@app.command("send", cls=Command)
def send(
    sender_id: Sender,
    recipient_id: Recipient,
    text: Text = None,
    file: File = None,
    urgent: Urgent = False,
    wanted: WaitFor = None,
    timeout: Timeout = None,
    json: Json = False,
) -> None:
    """Send a message to one member.

    Exit 0 means that the message is stored. Do not send it again.
    """
    body = BodySource(text, file, name="TEXT")
    wait = _wait(wanted, timeout)
    max_text_len = settings.max_text_len()
    # Only a courier that this may start uses it; a bad value is told before anything is stored.
    settings.delivery_hold_timeout()
    from cafleet.operations import sending

    with open_session() as conn:
        sent = sending.send(
            conn,
            sender_id=sender_id,
            recipient_id=recipient_id,
            text=body.read(),
            urgent=urgent,
            wait=wait,
        )
    for warning in sent.warnings:
        warn(warning)
    message = sent.message
    outcome = SentWire(message=message, delivery=sent.deliveries[message.message_id])
    say(to_json(outcome) if json else texts.sent(outcome, max_text_len))


@app.command("broadcast", cls=Command)
def broadcast(
    sender_id: Sender,
    text: Text = None,
    file: File = None,
    urgent: Urgent = False,
    wanted: WaitFor = None,
    timeout: Timeout = None,
    json: Json = False,
) -> None:
    """Send a message to all other members of the fleet.

    Exit 0 means that the message is stored. Do not send it again.
    """
    body = BodySource(text, file, name="TEXT")
    wait = _wait(wanted, timeout)
    # Only a courier that this may start uses them; a bad value is told before anything is stored.
    settings.max_text_len()
    settings.delivery_hold_timeout()
    from cafleet.operations import sending

    with open_session() as conn:
        sent = sending.broadcast(
            conn, sender_id=sender_id, text=body.read(), urgent=urgent, wait=wait
        )
    for warning in sent.warnings:
        warn(warning)
    outcome = BroadcastWire(
        message=sent.message,
        recipients=len(sent.deliveries),
        deliveries=count_states(sent.deliveries.values()),
    )
    say(to_json(outcome) if json else texts.broadcast(outcome))


@app.command("poll", cls=SubjectCommand)
def poll(
    member_id: MemberId,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            parser=positive,
            metavar="N",
            help="Print at most N messages. By default all.",
        ),
    ] = None,
    oldest: Annotated[bool, typer.Option("--oldest", help="Begin with the oldest.")] = False,
    peek: Annotated[bool, typer.Option("--peek", help="Mark nothing as seen.")] = False,
    json: Json = False,
) -> None:
    """Print the messages that a member has not acknowledged, newest first.

    The member's own poll marks what it prints as seen; a poll by anybody else marks nothing.
    """
    from cafleet.broker import messages

    max_text_len = settings.max_text_len()
    with open_session() as conn:
        pending = messages.poll(conn, member_id=member_id, limit=limit, oldest=oldest)
        more = 0
        if len(pending) == limit:
            more = max(0, messages.count_pending(conn, member_id=member_id) - limit)
        say(to_json(pending) if json else texts.polled(member_id, pending, more, max_text_len))
        if pending and not peek:
            _mark_seen(conn, member_id, pending)


@app.command("wait", cls=SubjectCommand)
def wait(
    member_id: MemberId,
    timeout: Annotated[
        int,
        typer.Option("--timeout", parser=whole, metavar="S", help="Wait at most S seconds."),
    ] = 100,
    sender_id: Annotated[
        int | None,
        typer.Option(
            "--from-member-id", parser=identifier, metavar="ID", help="Wait for this sender only."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Wait for messages to a member and print them.

    Messages that the member has acknowledged do not count. This marks nothing as seen.
    """
    from cafleet.courier.waiting import wait_for_message

    max_text_len = settings.max_text_len()
    with open_session() as conn:
        pending = wait_for_message(
            conn,
            database=settings.database_path(),
            member_id=member_id,
            from_member_id=sender_id,
            seconds=timeout,
        )
    say(to_json(pending) if json else texts.polled(member_id, pending, 0, max_text_len))


@app.command("ack", cls=SubjectCommand)
def ack(message_id: MessageId, json: Json = False) -> None:
    """Acknowledge a message that is dealt with."""
    from cafleet.broker import messages

    max_text_len = settings.max_text_len()
    with open_session() as conn:
        acked = messages.ack(conn, message_id=message_id, now=utc_now())
    message = acked
    say(
        to_json(MessageWire(message=message)) if json else texts.acknowledged(message, max_text_len)
    )


@app.command("show", cls=SubjectCommand)
def show(message_id: MessageId, json: Json = False) -> None:
    """Show a message."""
    from cafleet.broker import messages

    max_text_len = settings.max_text_len()
    with open_session() as conn:
        message = messages.get(conn, message_id=message_id)
    say(to_json(MessageWire(message=message)) if json else envelope(message, max_text_len))


@app.command("list", cls=SubjectCommand)
def list_(
    fleet_id: Annotated[int, typer.Argument(parser=identifier, metavar="FLEET_ID")],
    member_id: Annotated[
        int | None,
        typer.Option(
            "--member-id",
            parser=identifier,
            metavar="ID",
            help="Only messages from or to this member.",
        ),
    ] = None,
    before: Annotated[
        int | None,
        typer.Option(
            "--before",
            parser=identifier,
            metavar="ID",
            help="Only messages older than this one.",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", parser=page_size, metavar="N", help="At most N messages, up to 1000."
        ),
    ] = 50,
    json: Json = False,
) -> None:
    """List the messages of a fleet, newest first.

    The fleet may be deleted. This marks nothing as seen.
    """
    from cafleet.broker import messages

    max_text_len = settings.max_text_len()
    page = messages.Page(before=settings.LARGEST_INTEGER if before is None else before, limit=limit)
    with open_session() as conn:
        found = messages.history(conn, fleet_id=fleet_id, member_id=member_id, page=page)
    say(to_json(found) if json else texts.listed(fleet_id, found, max_text_len))


@app.command("why", cls=SubjectCommand)
def why(message_id: MessageId, json: Json = False) -> None:
    """Tell what became of a message's notice.

    The last line says what has to happen next.
    """
    from cafleet.broker import messages
    from cafleet.operations.outlook import outlooks
    from cafleet.present import life_text

    with open_session() as conn:
        message = messages.get(conn, message_id=message_id)
        lines = messages.life_lines(conn, message=message)
        if json:
            say(to_json(life(message, lines)))
        else:
            say(life_text.told(message, outlooks(conn, lines=lines)))


def _wait(wanted: WaitState | None, timeout: int | None) -> Wait | None:
    if wanted is None:
        if timeout is not None:
            raise typer.BadParameter("--timeout goes with --wait; give both or neither")
        return None
    from cafleet.operations.sending import Wait

    return Wait(wanted=wanted, seconds=60 if timeout is None else timeout)


def _mark_seen(conn: Connection, member_id: int, printed: Sequence[MessageRecord]) -> None:
    from cafleet.broker import deliveries
    from cafleet.operations.caller import is_caller

    # They are printed, so the poll has succeeded; that they were seen is a courtesy to the sender,
    # which a read-only or busy database may refuse.
    message_ids = [message.message_id for message in printed]
    try:
        if is_caller(conn, member_id=member_id):
            deliveries.mark_seen(conn, message_ids=message_ids, now=utc_now())
        else:
            warn(
                f"nothing is marked as seen, since only member {member_id} itself does that; "
                f"`cafleet whoami` says who you are"
            )
    except IntegrityError as damage:
        warn(str(damage))
    except DatabaseError:
        return
