"""The command `redlane`: finds the command asked for and imports nothing else.

A command module offers `register(commands)`, which adds its commands with
`redlane.cli.parser.add_command`. What leaves `main` is an exit code, always: whatever
goes wrong is one line on standard error.
"""

import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from redlane.cli import exit_codes
from redlane.cli.output import drop_stream, print_error
from redlane.cli.parser import Commands, Parser
from redlane.errors import RedlaneError, UsageError

__all__ = ["COMMANDS", "CommandEntry", "full_parser", "main"]


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command, the module of `redlane.cli` that registers it, and its help line."""

    name: str
    module: str
    summary: str


COMMANDS = (
    CommandEntry("run", "run", "run an agent, guarded, in a session of its own"),
    CommandEntry("try", "run", "a guarded shell on the starter policies"),
    CommandEntry("mcp", "mcp", "run an MCP server, and judge what passes"),
    CommandEntry("shell", "shell", "a shell whose every command is judged"),
    CommandEntry("validate", "validate", "judge one piece of content"),
    CommandEntry("config", "config", "check policies, roles and settings"),
    CommandEntry("test", "policy_test", "run the tests that policies carry"),
    CommandEntry("init", "init", "write the starter policies and roles"),
    CommandEntry("trust", "trust", "let a project's .redlane add policies and roles"),
    CommandEntry("start", "daemon", "start the daemon"),
    CommandEntry("stop", "daemon", "stop the daemon"),
    CommandEntry("restart", "daemon", "restart the daemon"),
    CommandEntry("reload", "reload", "apply what changed on disk to the daemon"),
    CommandEntry("status", "daemon", "say whether the daemon runs, and with what"),
    CommandEntry("doctor", "doctor", "try every boundary of a session here"),
    CommandEntry("session", "session", "list and change sessions; reload policies"),
    CommandEntry("review", "review", "decide what the yellow lane holds"),
    CommandEntry("events", "events", "show what was judged"),
    CommandEntry("trace", "trace", "show what a session does, live"),
    CommandEntry("hub", "hub", "share policies through a hub"),
    CommandEntry("subscription", "subscription", "show the account's subscription"),
    CommandEntry("ca", "ca", "the certificate authority of TLS interception"),
    CommandEntry("plugins", "plugins", "list the plugins that were found"),
    CommandEntry("completion", "completion", "print a completion script for a shell"),
)
"""Every command, in the order of the help."""

_DESCRIPTION = """\
The enforcement daemon around AI agents: policies in, verdicts out."""

_EXAMPLES = """\
examples:
  redlane init                        write the starter policies and roles
  redlane config check                look for mistakes in them
  redlane validate 'rm -rf /' -r NAME judge one command under a role
  redlane run -- my-agent             run an agent in a guarded session

exit codes: 0 done, 1 blocked or a finding, 2 wrong usage or files that do not
load, 3 the daemon does not run, 4 a hub cannot be reached.
`redlane COMMAND --help` has the details."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every failure is one line.

    This is a fail-closed boundary: an error that nobody foresaw is exit code 2, which
    no caller takes for an answer.
    """
    _prepare_streams()
    # A long script makes some hundred thousand objects that stay until it is judged:
    # looked at as often as by default, they take a third of its time.
    gc.set_threshold(50_000, 20, 50)
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except RedlaneError as error:
        print_error(str(error))
        return int(getattr(error, "exit_code", exit_codes.USAGE))
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        drop_stream(sys.stdout)
        return exit_codes.BROKEN_PIPE
    except Exception as error:  # noqa: BLE001  # the boundary, see above
        return _unforeseen(error)
    return code


def full_parser(*, with_plugins: bool = False) -> Parser:
    """The parser with every command, for completion scripts and the manual."""
    parser, commands = _top_parser()
    for module in dict.fromkeys(each.module for each in COMMANDS if _installed(each)):
        _import(module).register(commands)
    if with_plugins:
        _import("plugin_commands").add_plugin_commands(commands)
    return parser


def _run(arguments: list[str]) -> int:
    parser, commands = _top_parser()
    if arguments and not arguments[0].startswith("-"):
        _register(commands, arguments[0])
    else:
        _list_commands(commands)
    try:
        parsed = parser.parse_args(arguments)
    except SystemExit:  # argparse leaves this way after it has printed a help
        return exit_codes.OK
    if parsed.version:
        return _print_version()
    if not hasattr(parsed, "run"):
        raise UsageError("which command? (see: redlane --help)")
    return int(parsed.run(parsed))


def _top_parser() -> "tuple[Parser, Commands]":
    parser = Parser(prog="redlane", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=Parser
    )
    return parser, commands


def _list_commands(commands: "Commands") -> None:
    """A line of help for each command, with nothing of a plugin imported."""
    for entry in COMMANDS:
        if _installed(entry):
            commands.add_parser(entry.name, help=entry.summary, add_help=False)
    _import("plugin_commands").list_plugin_commands(commands)


def _register(commands: "Commands", name: str) -> None:
    """Add the command called `name`; a plugin's only where there is none of ours."""
    for entry in COMMANDS:
        if entry.name == name and _installed(entry):
            _import(entry.module).register(commands)
            return
    of_plugins = _import("plugin_commands")
    names = list(of_plugins.command_names())
    if name in names:
        of_plugins.add_plugin_command(commands, name)
        return
    import difflib  # noqa: PLC0415  # only for this message

    names += [entry.name for entry in COMMANDS if _installed(entry)]
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"there is no command {name!r}{hint} (see: redlane --help)")


def _installed(entry: CommandEntry) -> bool:
    return importlib.util.find_spec(f"redlane.cli.{entry.module}") is not None


def _import(module: str) -> ModuleType:
    return importlib.import_module(f"redlane.cli.{module}")


def _print_version() -> int:
    from importlib.metadata import version  # noqa: PLC0415  # slow to import

    sys.stdout.write(f"redlane {version('redlane')}\n")
    return exit_codes.OK


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
    """One line for an error that nobody foresaw; with REDLANE_DEBUG, all of it."""
    if os.environ.get("REDLANE_DEBUG"):
        raise error
    if isinstance(error, OSError):
        drop_stream(sys.stdout)
        # Without a name it is a stream: every file is opened by its name.
        named = error.filename is not None
        print_error(f"{'' if named else 'standard input or output: '}{error}")
        return exit_codes.USAGE
    print_error(
        f"internal error: {type(error).__name__}: {error} "
        "(REDLANE_DEBUG=1 shows where; please report it)"
    )
    return exit_codes.USAGE
