"""The entry point: from the arguments to an exit code, and the one place where errors are told.

Nothing that has to be loaded is imported before the guard of :func:`main` stands, so that an
interrupt while the program still loads is as quiet as a later one.
"""

from __future__ import annotations

import gc
import os
import sys

# In the place of the one in `typing`, whose loading an interrupt would meet outside of the guard.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from cafleet.cli.parser import ClickCommand

COMPLETE = "_CAFLEET_COMPLETE"
COMPLETION_OPTIONS = ("--install-completion", "--show-completion")
# Loading makes some 35,000 objects, all of which stay: a search for garbage among them finds none.
OBJECTS_BETWEEN_SEARCHES = 50_000
INTERRUPTED = 130


def main() -> int:
    """Run the program on the arguments of this process; returns its exit code.

    0: done, or nobody was left to read the result. 1: it could not be carried out. 2: the command
    line is wrong. 130, 143, 129: interrupted, terminated, hung up.
    """
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES)
    try:
        import signal

        for ending in (signal.SIGTERM, signal.SIGHUP):
            # One that is ignored, under nohup perhaps, stays ignored.
            if signal.getsignal(ending) is signal.SIG_DFL:
                signal.signal(ending, _end)
        from cafleet.cli.output import let_go, prepare

        prepare()
        try:
            return _run(_arguments())
        finally:
            let_go()
            # The process ends, and with it its memory; what is frozen is not searched once more.
            gc.freeze()
    except KeyboardInterrupt:
        return INTERRUPTED


def _end(number: int, _frame: FrameType | None) -> None:
    # As an exception, so that a command that is half done undoes its half.
    raise SystemExit(128 + number)


def _arguments() -> list[str]:
    # The locale has no say in it: arguments are UTF-8, and a byte that is not stays a surrogate.
    return [os.fsencode(arg).decode("utf-8", "surrogateescape") for arg in sys.argv[1:]]


def _run(arguments: list[str]) -> int:
    import typer

    from cafleet.cli.output import fail
    from cafleet.cli.tree import completion_option, program
    from cafleet.errors import CafleetError, internal

    try:
        is_completing = COMPLETE in os.environ
        name = "cafleet"
        command = program(completion=is_completing or _begins_with_option(arguments))
        if is_completing:
            return _complete(command)
        if arguments and arguments[0] in COMPLETION_OPTIONS:
            name = f"cafleet {arguments[0]}"
            command = completion_option(arguments.pop(0))
        with command.make_context(name, arguments) as ctx:
            command.invoke(ctx)
    except typer.Exit as ending:
        return ending.exit_code
    except CafleetError as error:
        fail(str(error))
        return error.exit_code
    except typer.TyperException as error:
        fail(f"{error.format_message().rstrip('.')}; see '{_command_path(error)} --help'")
        return error.exit_code
    except BrokenPipeError:
        # Of stdout: nothing else that is written to lets it through.
        return 0
    except Exception as error:  # noqa: BLE001 - the last resort of the whole program
        fail(internal(error))
        return 1
    return 0


def _begins_with_option(arguments: list[str]) -> bool:
    return not arguments or arguments[0].startswith("-")


def _complete(group: ClickCommand) -> int:
    """Answer the shell, whose completion script calls the program with this variable set."""
    from typer.completion import shell_complete

    try:
        return shell_complete(group, {}, "cafleet", COMPLETE, os.environ[COMPLETE])
    except (LookupError, ValueError):
        # Not by the script: what that passes on beside it is missing, or no number.
        return 1


def _command_path(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return "cafleet" if context is None else " ".join(context.command_path.split())
