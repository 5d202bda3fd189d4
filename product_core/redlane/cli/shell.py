"""`redlane shell`: a guarded shell in the running daemon; the wrapper hands over here.

On a terminal it reads commands as a person types them. With `--stream` it takes them
from a pipe whose writer waits for answers.
"""

import argparse
import os
import sys
from pathlib import Path

from redlane.cli.parser import Commands, add_command
from redlane.client import Client, operations
from redlane.client.locating import locate
from redlane.errors import DaemonError, UsageError
from redlane.messages import EndingError, tell
from redlane.paths import Paths

__all__ = ["register"]

_COMMAND_LINE = "import sys; from redlane.cli.main import main; sys.exit(main())"


def register(commands: Commands) -> None:
    """Add the command `shell`."""
    parser = add_command(
        commands,
        "shell",
        _shell,
        summary="a shell whose every command is judged before it runs",
        description="""\
            Read commands, have each judged by the daemon, and run what is allowed. This
            is what `redlane-sh` runs on a terminal.""",
        examples="redlane shell",
    )
    parser.add_argument("--socket", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--stream", type=int, help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)


def _shell(arguments: argparse.Namespace) -> int:
    """Run the front; inside a session its daemon is asked, whatever was given."""
    if arguments.stream is None and not os.isatty(0):
        raise UsageError("standard input is no terminal (try: redlane-sh -c COMMAND)")
    given = os.fsencode(arguments.socket) if arguments.socket else b""
    try:
        place = locate(given)
    except EndingError as ending:
        tell(ending.message)
        return ending.status
    _be_supervised(place.socket, arguments)
    if arguments.stream is not None:
        from redlane.contexts.shell.running.script_stream import run_stream  # noqa: PLC0415  # one of two

        return run_stream(place, arguments.stream, arguments.words)
    from redlane.contexts.shell.running.terminal import run_terminal  # noqa: PLC0415  # one of two

    return run_terminal(place, _role(Path(os.fsdecode(place.socket))))


def _be_supervised(socket: bytes, arguments: argparse.Namespace) -> None:
    """Outside of a session, go on in one where the role's system calls are held.

    Returns where there are none to hold. A daemon that cannot be asked is no obstacle:
    every command asks it again, and none is run without an answer.
    """
    paths = Paths.of_daemon_to_ask(
        {**os.environ, "REDLANE_SOCKET": os.fsdecode(socket)}
    )
    try:
        session = Client(paths.socket).send(operations.session())
    except DaemonError:
        return
    if not session["syscalls"]["named"]:
        return
    from redlane.cli.run import Start, run_in_session  # noqa: PLC0415  # rarely needed

    stream = [] if arguments.stream is None else ["--stream", str(arguments.stream)]
    words = ["--", *arguments.words] if arguments.words else []
    command = [sys.executable, "-I", "-c", _COMMAND_LINE, "shell", *stream, *words]
    start = Start(command, judged=True)
    run_in_session(paths, session["role"], "redlane-sh", start)


def _role(socket: Path) -> str | None:
    """The role for the prompt: what `redlane run` says, else the default session's."""
    if os.environ.get("REDLANE_ROLE"):
        return os.environ["REDLANE_ROLE"]
    try:
        role = Client(socket).send(operations.status())["default_role"]
    except (DaemonError, KeyError, TypeError):
        return None
    return None if role is None else str(role)
