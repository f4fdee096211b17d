"""The `member` commands."""

from __future__ import annotations

from typing import Annotated

import typer

from cafleet.cli.arguments import (
    coding_agent,
    filled,
    identifier,
    monitor_role,
    new_name,
    path,
    positive,
    utf8,
)
from cafleet.cli.bodies import BodySource
from cafleet.cli.output import say, to_json, warn
from cafleet.cli.parser import Command, SubjectCommand
from cafleet.cli.session import open_session
from cafleet.errors import CafleetError, UsageError
from cafleet.present import member_text as texts
from cafleet.present.wire import (
    CaptureWire,
    DeletedMemberWire,
    PingWire,
    TurnWire,
    TypedWire,
    member_shown,
    pane_status,
    restarted,
    roster,
    shaped,
    shaped_all,
)
from cafleet.records import CodingAgent

app = typer.Typer()

FleetId = Annotated[int, typer.Argument(parser=identifier, metavar="FLEET_ID")]
MemberId = Annotated[int, typer.Argument(parser=identifier, metavar="MEMBER_ID")]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]


@app.command("create", cls=Command)
def create(
    fleet_id: Annotated[
        int,
        typer.Option("--fleet-id", parser=identifier, metavar="ID", help="The fleet to join."),
    ],
    name: Annotated[
        str, typer.Option("--name", parser=new_name, metavar="NAME", help="The member's name.")
    ],
    description: Annotated[
        str,
        typer.Option("--description", parser=filled, metavar="TEXT", help="What the member does."),
    ],
    prompt: Annotated[
        str | None,
        typer.Argument(
            parser=utf8,
            metavar="PROMPT",
            show_default=False,
            help=(
                "What the agent is told first. {fleet_id}, {member_id}, {director_member_id} and "
                "{coding_agent} are filled in; {{ and }} are braces."
            ),
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="PATH", help="Take PROMPT from this file; - reads stdin."),
    ] = None,
    agent: Annotated[
        CodingAgent | None,
        typer.Option(
            "--coding-agent",
            parser=coding_agent,
            metavar="AGENT",
            help="claude, codex or opencode; by default the Director's.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", parser=filled, metavar="MODEL", help="The agent's model."),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option("--effort", parser=filled, metavar="EFFORT", help="The agent's effort."),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            parser=monitor_role,
            metavar="ROLE",
            help="monitor: the member that watches the others. A fleet has one.",
        ),
    ] = None,
    permission_mode: Annotated[
        str | None,
        typer.Option(
            "--permission-mode",
            parser=filled,
            metavar="MODE",
            help="Claude Code's permission mode (dontAsk).",
        ),
    ] = None,
    agent_args: Annotated[
        list[str] | None,
        typer.Option(
            "--agent-arg",
            parser=utf8,
            metavar="ARG",
            help="An argument for the agent. You can repeat this option.",
        ),
    ] = None,
    allowed: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            parser=utf8,
            metavar="PATTERN",
            help="A command that the member may run, such as 'make test*'. You can repeat this option.",
        ),
    ] = None,
    cwd: Annotated[
        str | None,
        typer.Option(
            "--cwd",
            parser=path,
            metavar="DIR",
            help="The folder that the member works in. By default this folder.",
        ),
    ] = None,
    worktree: Annotated[
        str | None,
        typer.Option(
            "--worktree",
            parser=filled,
            metavar="BRANCH",
            help="Make a git work tree for this branch, in which the member works.",
        ),
    ] = None,
    allow_same_name: Annotated[
        bool,
        typer.Option("--allow-same-name", help="Allow the name of another active member."),
    ] = False,
    json: Json = False,
) -> None:
    """Register a member and start its coding agent in a new pane."""
    body = BodySource(prompt, file, name="PROMPT")
    with open_session() as conn:
        from cafleet.broker import launches
        from cafleet.operations.spawn import create_member

        member = create_member(
            conn,
            fleet_id=fleet_id,
            name=name,
            description=description,
            coding_agent=agent,
            model=model,
            effort=effort,
            monitor=role is not None,
            permission_mode=permission_mode,
            agent_args=tuple(agent_args or ()),
            allowed=tuple(allowed or ()),
            cwd=cwd,
            worktree=worktree,
            allow_same_name=allow_same_name,
            read_body=body.read,
        )
        launch = launches.find(conn, member_id=member.member_id)
    if allowed and member.placement and member.placement.coding_agent is CodingAgent.CODEX:
        warn(
            "codex has no rules for single commands: its sandbox decides, and --allow adds nothing"
        )
    say(to_json(member_shown(member, launch)) if json else texts.created(member))


@app.command("restart", cls=SubjectCommand)
def restart(
    member_id: MemberId,
    prompt: Annotated[
        str | None,
        typer.Argument(
            parser=utf8,
            metavar="PROMPT",
            show_default=False,
            help="What the agent is told in place of its first prompt. By default that prompt.",
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="PATH", help="Take PROMPT from this file; - reads stdin."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin a new session. By default the last one goes on.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Restart also an agent that runs, and a start that was changed."
        ),
    ] = False,
    agent: Annotated[
        CodingAgent | None,
        typer.Option(
            "--coding-agent",
            parser=coding_agent,
            metavar="AGENT",
            help="claude, codex or opencode; by default the one that it was.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", parser=filled, metavar="MODEL", help="The agent's model."),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option("--effort", parser=filled, metavar="EFFORT", help="The agent's effort."),
    ] = None,
    json: Json = False,
) -> None:
    """Start a member's coding agent again. The member keeps its id and its inbox."""
    body = None
    if prompt is not None or file is not None:
        body = BodySource(prompt, file, name="PROMPT")
    with open_session() as conn:
        from cafleet.operations.restart import Wishes, restart_member

        done = restart_member(
            conn,
            member_id=member_id,
            wishes=Wishes(
                # A new prompt is for a new session.
                fresh=fresh or body is not None,
                force=force,
                coding_agent=agent,
                model=model,
                effort=effort,
                read_body=None if body is None else body.read,
            ),
        )
    for warning in done.warnings:
        warn(warning)
    outcome = restarted(done.member, done.session, done.reason)
    shown_text = texts.restarted(done.member, done.session, done.reason)
    say(to_json(outcome) if json else shown_text)


@app.command("delete", cls=SubjectCommand)
def delete(
    member_id: MemberId,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Also end the processes that outlive the pane. Works after the deletion, too.",
        ),
    ] = False,
    hand_to: Annotated[
        int | None,
        typer.Option(
            "--hand-to",
            parser=identifier,
            metavar="MEMBER_ID",
            help="The member that gets the messages that are not acknowledged.",
        ),
    ] = None,
    remove_worktree: Annotated[
        bool,
        typer.Option(
            "--remove-worktree",
            help="Also remove its work tree, if nothing would be lost. The branch stays.",
        ),
    ] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            parser=filled,
            metavar="PATTERN",
            help=(
                "Files ignored by git that may be lost with the work tree, such as '*.pyc'. You can repeat "
                "this option."
            ),
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Close a member's pane and deregister the member.

    Its messages stay with it, unless another member gets those that are open.
    """
    if ignore and not remove_worktree:
        raise UsageError("--ignore is for --remove-worktree; pass both, or neither")
    with open_session() as conn:
        from cafleet.operations.teardown import delete_member

        fate = delete_member(
            conn,
            member_id=member_id,
            force=force,
            successor_id=hand_to,
            remove_worktree=remove_worktree,
            ignore=tuple(ignore or ()),
        )
    for warning in fate.warnings:
        warn(warning)
    outcome = DeletedMemberWire(
        member_id=fate.member_id, pane_status=pane_status(fate.pane_id, fate.status)
    )
    say(
        to_json(outcome)
        if json
        else texts.deleted(outcome, fate.handed, fate.successor_id, fate.removed_worktree)
    )
    if fate.kept_because is not None:
        raise CafleetError(fate.kept_because)


@app.command("show", cls=SubjectCommand)
def show(member_id: MemberId, json: Json = False) -> None:
    """Show an active member."""
    from cafleet.broker import launches, members

    with open_session() as conn:
        member = members.get(conn, member_id=member_id)
        launch = launches.find(conn, member_id=member_id)
    say(to_json(member_shown(member, launch)) if json else texts.shown(member, launch))


@app.command("list", cls=SubjectCommand)
def list_(fleet_id: FleetId, json: Json = False) -> None:
    """List the active members of a fleet."""
    from cafleet.broker import members
    from cafleet.clock import utc_now

    with open_session() as conn:
        now = utc_now()
        found = members.list_activity(conn, fleet_id=fleet_id, now=now)
    say(to_json(roster(found)) if json else texts.listed(found, now))


@app.command("prompt", cls=SubjectCommand)
def prompt(
    member_id: MemberId,
    text: Annotated[
        str,
        typer.Argument(
            parser=utf8, metavar="TEXT", help="One line; after -- it may begin with a dash."
        ),
    ],
    shell: Annotated[
        bool, typer.Option("--shell", help="Type it as a shell command of the agent: ! TEXT.")
    ] = False,
    json: Json = False,
) -> None:
    """Type a line into a member's pane, if its agent rests."""
    with open_session() as conn:
        from cafleet.operations.typing import prompt_member

        typed = shaped(prompt_member(conn, member_id=member_id, text=text, shell=shell), TypedWire)
    say(to_json(typed) if json else texts.prompted(typed))


@app.command("ping", cls=SubjectCommand)
def ping(member_id: MemberId, json: Json = False) -> None:
    """Ask a member to poll its messages, if its agent rests."""
    with open_session() as conn:
        from cafleet.operations.typing import ping_member

        pinged = shaped(ping_member(conn, member_id=member_id), PingWire)
    say(to_json(pinged) if json else texts.pinged(pinged))


@app.command("capture", cls=SubjectCommand)
def capture(
    member_id: MemberId,
    lines: Annotated[
        int,
        typer.Option("--lines", parser=positive, metavar="N", help="How many lines."),
    ] = 20,
    ansi: Annotated[
        bool, typer.Option("--ansi", help="Keep colours and other escape sequences.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the last lines of a member's pane."""
    with open_session() as conn:
        from cafleet.operations.capture import capture_member

        taken = shaped(
            capture_member(conn, member_id=member_id, lines=lines, ansi=ansi), CaptureWire
        )
    say(to_json(taken) if json else texts.captured(taken, ansi=ansi), end="\n" if json else "")


@app.command("transcript", cls=SubjectCommand)
def transcript(
    member_id: MemberId,
    turns: Annotated[
        int, typer.Option("--turns", parser=positive, metavar="N", help="How many turns.")
    ] = 3,
    json: Json = False,
) -> None:
    """Print what was said last in a member's session.

    The coding agent itself writes that down, so no screen is needed to read an answer.
    """
    with open_session() as conn:
        from cafleet.operations.transcript import transcript as read

        said = shaped_all(read(conn, member_id=member_id, turns=turns), TurnWire)
    say(to_json(said) if json else texts.transcript(said))
