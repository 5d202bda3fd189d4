"""`redlane-hub demo`: a hub full of examples, to look around in."""

import argparse
import dataclasses
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redlane_hub.cli import exit_codes
from redlane_hub.cli.ending import ended_in_order
from redlane_hub.cli.options import add_json
from redlane_hub.cli.output import print_json, print_line, print_table
from redlane_hub.cli.parser import Commands, UsageError, add_command
from redlane_hub.clock import system_clock
from redlane_hub.errors import OperatorError
from redlane_hub.settings import Settings
from redlane_hub.store.migrations import migrate

__all__ = ["register"]

_DATABASE = "hub.db"
_PATHS = (
    ("the catalogue", "/"),
    ("one artifact", "/artifacts/no-force-push/1.1.0"),
    ("the API", "/api/v1/openapi.json"),
)


def register(commands: Commands) -> None:
    """Add `redlane-hub demo`."""
    parser = add_command(
        commands,
        "demo",
        _demo,
        summary="make a hub full of examples, to look around in",
        description="""
            Make a new database with a few accounts, signing keys, and signed policies:
            several versions, a yanked one, sets, a private one, endorsements. The
            passwords are made up and printed. For looking around, not for use.
        """,
        examples="""
            redlane-hub demo --serve
            redlane-hub demo ~/hub-demo
        """,
    )
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=Path("redlane-hub-demo"),
        help="where to put it (default: redlane-hub-demo)",
    )
    parser.add_argument(
        "--serve", action="store_true", help="serve it right away, until Ctrl-C"
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default="127.0.0.1:8080",
        help="where it is or would be served (default: 127.0.0.1:8080)",
    )
    add_json(parser)


def _demo(arguments: argparse.Namespace) -> int:
    from redlane_hub.cli.demo_telling import tell_story  # noqa: PLC0415  # slow

    if arguments.json and arguments.serve:
        raise UsageError("--json prints one value, so it cannot go on to --serve")
    path = _new_database(arguments.directory)
    settings = Settings(database=str(path), listen=arguments.listen)
    with ended_in_order(), _whole_or_gone(path):
        migrate(path)
        logins = tell_story(settings, system_clock())
    serve = ["redlane-hub", "serve", "--database", str(path)]
    serve += ["--listen", arguments.listen]
    if arguments.json:
        print_json(
            {
                "database": str(path),
                "accounts": [dataclasses.asdict(each) for each in logins],
                "serve": serve,
            }
        )
        return exit_codes.OK
    print_table(("ACCOUNT", "PASSWORD"), ([e.email, e.password] for e in logins))
    print_line()
    if arguments.serve:
        return _serve(settings)
    print_line(f"serve it:      {shlex.join(serve)}")
    _print_addresses(f"http://{arguments.listen}")
    return exit_codes.OK


@contextmanager
def _whole_or_gone(path: Path) -> Iterator[None]:
    """Half a story helps nobody, and would be in the way of the next try."""
    before = set(path.parent.iterdir())
    try:
        yield
    except BaseException:
        for each in set(path.parent.glob(f"{path.name}*")) - before:
            each.unlink(missing_ok=True)
        raise


def _new_database(directory: Path) -> Path:
    path = directory / _DATABASE
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        # Whoever may write here could put other secrets in the place of ours.
        directory.mkdir(mode=0o700, exist_ok=True)
        if path.exists():
            raise OperatorError(
                f"{path}: exists; name another directory, or serve it: "
                f"redlane-hub serve --database {path}"
            )
    except OSError as error:
        raise OperatorError(f"{error.filename}: {error.strerror}") from None
    return path


def _print_addresses(base_url: str) -> None:
    for label, path in _PATHS:
        print_line(f"{label + ':':<14} {base_url}{path}")


def _serve(settings: Settings) -> int:
    import os  # noqa: PLC0415  # only here
    import sys  # noqa: PLC0415

    from redlane_hub.server.service import serve  # noqa: PLC0415  # slow
    from redlane_hub.store import lease  # noqa: PLC0415

    def announce(line: str) -> None:
        print_line(line)
        _print_addresses(line.partition("listening on ")[2].partition(",")[0])
        sys.stdout.flush()

    with lease.using(settings.database_path):
        return serve(settings, os.environ, announce)
