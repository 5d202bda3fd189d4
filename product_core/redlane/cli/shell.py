"""`redlane shell`: a guarded shell in the running daemon; the wrapper hands over here.

On a terminal it reads commands as a person types them. With `--stream` it takes them
from a pipe whose writer waits for answers.
"""

import argparse
import os
from pathlib import Path

from redlane.cli.parser import Commands, add_command
from redlane.contexts.shell.client.locate import locate
from redlane.contexts.shell.client.message import EndingError, tell
from redlane.control.client import Client
from redlane.errors import DaemonError, UsageError

__all__ = ["register"]


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
        place = locate(b"", given)
    except EndingError as ending:
        tell(ending.message)
        return ending.status
    if arguments.stream is not None:
        from redlane.contexts.shell.script_stream import run_stream  # noqa: PLC0415  # one of two

        return run_stream(place, arguments.stream, arguments.words)
    from redlane.contexts.shell.terminal import run_terminal  # noqa: PLC0415  # one of two

    return run_terminal(place, _role(Path(os.fsdecode(place.socket))))


def _role(socket: Path) -> str | None:
    """The role for the prompt: what `redlane run` says, else the default session's."""
    if os.environ.get("REDLANE_ROLE"):
        return os.environ["REDLANE_ROLE"]
    try:
        role = Client(socket).get("/api/status")["default_role"]
    except (DaemonError, KeyError, TypeError):
        return None
    return None if role is None else str(role)
