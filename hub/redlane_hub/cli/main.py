"""The command `redlane-hub`: finds the command asked for and imports nothing else.

A command module offers `register(commands)`, which adds its commands with
`redlane_hub.cli.parser.add_command`. What leaves `main` is an exit code, always:
whatever goes wrong is one line on standard error.
"""

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from redlane_hub import __version__
from redlane_hub.cli import exit_codes
from redlane_hub.cli.ending import EndedError
from redlane_hub.cli.output import drop_stream, tell
from redlane_hub.cli.parser import Commands, Parser, UsageError, unrecognized
from redlane_hub.errors import HubError

__all__ = ["COMMANDS", "CommandEntry", "full_parser", "main"]


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command, the module of `redlane_hub.cli` that has it, and its help line."""

    name: str
    module: str
    summary: str


COMMANDS = (
    CommandEntry("serve", "serve", "serve the hub until SIGTERM"),
    CommandEntry("migrate", "migrate", "bring the database up to date"),
    CommandEntry("approve", "accounts", "let an account publish and endorse"),
    CommandEntry("recognise", "accounts", "make an account a recognised publisher"),
    CommandEntry("accounts", "accounts", "list the accounts"),
    CommandEntry("keys", "secrets", "print the public key of subscription statuses"),
    CommandEntry("rotate-secret", "secrets", "end every token that was ever issued"),
    CommandEntry("backup", "backup", "copy the database while the hub serves"),
    CommandEntry("restore", "backup", "make a backup the database, or check one"),
    CommandEntry("settings", "settings", "check the settings, and show their origins"),
    CommandEntry("demo", "demo", "make a hub full of examples, to look around in"),
    CommandEntry("completion", "completion", "print a completion script for a shell"),
)
"""Every command, in the order of the help."""

_DESCRIPTION = """\
The account and artifact service of Redlane: one process, one SQLite file."""

_EXAMPLES = """\
examples:
  redlane-hub serve --listen 127.0.0.1:8080 --database hub.db
  redlane-hub approve ada@example.org --database hub.db
  redlane-hub backup hub-monday.db --database hub.db

Settings may also stand in a TOML file (--config) or in the environment
(REDLANE_HUB_DATABASE=hub.db). `redlane-hub COMMAND --help` has the details.

exit codes: 0 done, 1 refused (standard error says why), 2 wrong usage"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every failure is one line.

    This is a boundary: an error that nobody foresaw is a line and exit code 1.
    """
    _prepare_streams()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except UsageError as error:
        tell(str(error))
        return exit_codes.USAGE
    except HubError as error:
        tell(str(error))
        return exit_codes.REFUSED
    except (KeyboardInterrupt, EndedError) as error:
        number = error.number if isinstance(error, EndedError) else signal.SIGINT
        return exit_codes.ENDED + number
    except BrokenPipeError:
        drop_stream(sys.stdout)
        return exit_codes.BROKEN_PIPE
    except Exception as error:  # noqa: BLE001  # the boundary, see above
        return _unforeseen(error)
    return code


def full_parser() -> Parser:
    """The parser with every command, for completion scripts and the manual."""
    parser, commands = _top_parser()
    for module in dict.fromkeys(each.module for each in COMMANDS):
        _import(module).register(commands)
    return parser


def _run(arguments: list[str]) -> int:
    parser, commands = _top_parser()
    if arguments and not arguments[0].startswith("-"):
        _import(_find(arguments[0]).module).register(commands)
    else:
        _list_commands(commands)
    try:
        parsed, unknown = parser.parse_known_args(arguments)
    except SystemExit:  # argparse leaves this way after it has printed a help
        return exit_codes.OK
    if unknown:
        command = arguments[0] if hasattr(parsed, "run") else ""
        raise UsageError(f"{unrecognized(unknown)} (see: {_prog(command)} --help)")
    if parsed.version:
        sys.stdout.write(f"redlane-hub {__version__}\n")
        return exit_codes.OK
    if not hasattr(parsed, "run"):
        raise UsageError("which command? (see: redlane-hub --help)")
    return int(parsed.run(parsed))


def _prog(command: str) -> str:
    return f"redlane-hub {command}".strip()


def _top_parser() -> tuple[Parser, Commands]:
    parser = Parser(prog="redlane-hub", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=Parser
    )
    return parser, commands


def _list_commands(commands: Commands) -> None:
    """A line of help for each command, with nothing of it imported."""
    for entry in COMMANDS:
        commands.add_parser(entry.name, help=entry.summary, add_help=False)


def _find(name: str) -> CommandEntry:
    """The command called `name`, which must be there."""
    for entry in COMMANDS:
        if entry.name == name:
            return entry
    import difflib  # noqa: PLC0415  # only for this message

    near = difflib.get_close_matches(name, [entry.name for entry in COMMANDS], 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"there is no command {name!r}{hint} (see: redlane-hub --help)")


def _import(module: str) -> ModuleType:
    return importlib.import_module(f"redlane_hub.cli.{module}")


def _prepare_streams() -> None:
    """Make output possible whatever the locale, and when a stream is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  # as long as we live
            setattr(sys, name, nowhere)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _unforeseen(error: Exception) -> int:
    """One line for an error that nobody foresaw; with REDLANE_HUB_DEBUG, all of it."""
    if os.environ.get("REDLANE_HUB_DEBUG"):
        raise error
    if isinstance(error, OSError):
        drop_stream(sys.stdout)
        tell(str(error))
        return exit_codes.REFUSED
    tell(
        f"internal error: {type(error).__name__}: {error} "
        "(REDLANE_HUB_DEBUG=1 shows where; please report it)"
    )
    return exit_codes.REFUSED
