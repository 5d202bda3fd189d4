"""`redlane mcp import`: has the servers of MCP clients go through Redlane."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from redlane.cli import exit_codes
from redlane.cli.output import print_error, print_json, print_note, single_line
from redlane.cli.parser import Commands, add_command
from redlane.errors import RedlaneError, UsageError
from redlane.paths import Paths

if TYPE_CHECKING:
    from redlane.mcp_clients.clients import McpClient
    from redlane.mcp_clients.importing import Importing, Report
    from redlane.mcp_clients.records import Record, Records
    from redlane.mcp_clients.rewriting import Told

__all__ = ["register"]

_CLIENTS = ("claude", "codex", "gemini", "qwen", "opencode", "cursor", "vscode")
_OUTCOMES = {
    "wrapped": "goes through Redlane now",
    "already": "goes through Redlane already",
    "left": "was left as it is",
    "restored": "is as it was",
    "gone": "was not touched",
}


def register(verbs: Commands) -> None:
    """Add the verb `import`."""
    parser = add_command(
        verbs,
        "import",
        _import,
        summary="have the servers of MCP clients go through Redlane",
        description="""\
            Put redlane mcp before the command of every server in the configurations
            of Claude Code, Codex, Gemini CLI, Qwen Code, opencode, Cursor and VS Code:
            those of the user, and those of the project in the working directory. All
            else in the files stays as it is. Servers that are reached at a URL are
            left, and named. A file that cannot be changed is left as it is; the exit
            status is 1 then.

            Each file is kept as it was, below mcp-import in the home of Redlane;
            --undo gives it back, byte for byte when nobody has changed it since, and
            otherwise takes back what was done to the servers alone.""",
        examples="""\
            redlane mcp import --dry-run
            redlane mcp import --client claude --client codex
            redlane mcp import --file ~/shop/.mcp.json
            redlane mcp import --undo""",
    )
    parser.add_argument(
        "--client",
        action="append",
        choices=_CLIENTS,
        metavar="NAME",
        help=f"the files of this client only, one of {', '.join(_CLIENTS)}",
    )
    parser.add_argument(
        "--file",
        action="append",
        type=Path,
        metavar="PATH",
        help="this file only; whose it is, its name or what is in it says",
    )
    parser.add_argument(
        "--undo", action="store_true", help="give the files back as they were"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="write nothing, and show what would change",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _import(arguments: argparse.Namespace) -> int:
    """A session's agent could otherwise take its servers out of Redlane's hands."""
    from redlane.daemon.lifecycle import check_outside  # noqa: PLC0415  # light
    from redlane.mcp_clients.importing import Importing  # noqa: PLC0415  # as above
    from redlane.mcp_clients.records import Records  # noqa: PLC0415  # as above

    check_outside("mcp import")
    records = Records(Paths.from_environment(os.environ).home / "mcp-import")
    program = _own_program()
    importing = Importing(records, _is(program), dry=arguments.dry_run)
    work = _undo if arguments.undo else _put_through
    with contextlib.nullcontext() if arguments.dry_run else records.locked():
        reports = list(work(arguments, importing, records))
    _show(arguments, reports)
    failed = any(each.error for each in reports)
    return exit_codes.FINDING if failed else exit_codes.OK


def _own_program() -> Path:
    """The whole path of this very command, as configurations are to name it."""
    named = Path(sys.argv[0]).absolute()
    for each in (named, Path(sys.executable).with_name("redlane")):
        if each.name == "redlane" and os.access(each, os.X_OK) and each.is_file():
            return each
    raise RedlaneError("the path of redlane is not known: call it by its name")


def _is(program: Path) -> Callable[[str], bool]:
    """Whether a command is this program; by its bare name it is."""

    def ours(command: str) -> bool:
        if command in {"redlane", str(program)}:
            return True
        try:
            return command.startswith("/") and program.samefile(command)
        except OSError:
            return False

    return ours


def _put_through(
    arguments: argparse.Namespace, importing: "Importing", _: "Records"
) -> Iterator["Report"]:
    import shutil  # noqa: PLC0415  # light: servers are not to wait for it

    program = _own_program()
    found = shutil.which("redlane")
    # What others share must not name a path of this machine, where none is needed.
    shared = "redlane" if found and program.samefile(found) else str(program)
    seen: set[str] = set()
    for path, client, is_shared in _files(arguments):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        report = importing.put_through(
            path, client, shared if is_shared else str(program)
        )
        if report is not None:
            yield report
        elif arguments.file:
            raise UsageError(f"there is no {path}")


def _files(arguments: argparse.Namespace) -> Iterator[tuple[Path, "McpClient", bool]]:
    """The files that may be there; the last says whether others share one."""
    from redlane.mcp_clients.clients import CLIENTS, client_of  # noqa: PLC0415  # light

    chosen = [CLIENTS[name] for name in arguments.client or CLIENTS]
    if arguments.file:
        for path in arguments.file:
            client = client_of(path, chosen)
            if client is None:
                raise UsageError(f"whose file is {path}? (say it with --client)")
            yield path, client, client.is_of_project(path, os.environ)
        return
    for client in chosen:
        for place in client.user:
            yield from ((path, client, False) for path in place.files(os.environ))
        for name in client.project:
            yield Path(name).absolute(), client, True


def _undo(
    arguments: argparse.Namespace, importing: "Importing", records: "Records"
) -> Iterator["Report"]:
    files = {os.path.realpath(each) for each in arguments.file or ()}
    clients = arguments.client or _CLIENTS
    by_file: "dict[Path, list[Record]]" = {}
    for each in records.newest_first():
        if each.client in clients and (not files or str(each.file) in files):
            by_file.setdefault(each.file, []).append(each)
    for path, those in by_file.items():
        yield importing.give_back(path, those)


def _show(arguments: argparse.Namespace, reports: "list[Report]") -> None:
    if arguments.json:
        files = [_document(each, dry=arguments.dry_run) for each in reports]
        print_json({"dry_run": arguments.dry_run, "files": files})
        return
    if not reports:
        what = (
            "there is nothing to undo" if arguments.undo else "no client's file found"
        )
        print_note(what)
    for each in reports:
        _show_file(each, dry=arguments.dry_run)


def _show_file(report: "Report", *, dry: bool) -> None:
    if report.error:
        print_error(f"{report.file}: {report.error}; nothing was changed in it")
        return
    if dry:
        for line in report.difference.splitlines():
            sys.stdout.write("\t".join(map(single_line, line.split("\t"))) + "\n")
    for each in report.servers:
        if not dry or each.state in {"left", "gone"}:
            sys.stdout.write(f"{single_line(_sentence(report, each))}\n")
    if report.copy:
        print_note(f"{report.file} is kept as it was: {report.copy}")


def _sentence(report: "Report", told: "Told") -> str:
    where = f" of {told.place[1]}" if told.place[0] == "projects" else ""
    why = f": {told.why}" if told.why else ""
    return f"{report.file}: server {told.name!r}{where} {_OUTCOMES[told.state]}{why}"


def _document(report: "Report", *, dry: bool) -> dict[str, object]:
    return {
        "file": str(report.file),
        "client": report.client,
        "changed": report.changed,
        "difference": report.difference if dry else None,
        "copy": str(report.copy) if report.copy else None,
        "error": report.error,
        "servers": [
            {"place": list(each.place), "state": each.state, "why": each.why or None}
            for each in report.servers
        ],
    }
