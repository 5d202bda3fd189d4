"""What an operator has: the command `redlane-hub`, and a hub with something in it."""

import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from hub_process import hub_environment, run_hub

from redlane_hub.cli.demo_telling import tell_story
from redlane_hub.settings import Settings
from redlane_hub.store.migrations import migrate

__all__ = ["demo_hub", "operate", "rows_of"]

Done = subprocess.CompletedProcess[str]


def operate(
    *arguments: str | Path, directory: Path | None = None, **settings: str
) -> Done:
    """Run `redlane-hub` to its end; settings are environment variables."""
    environment = hub_environment(settings) | {"LC_ALL": "C.UTF-8"}
    return run_hub(*arguments, env=environment, cwd=directory)


def demo_hub(directory: Path) -> Path:
    """The path of a new database with accounts, keys, artifacts and endorsements."""
    path = directory / "hub.db"
    migrate(path)
    tell_story(Settings(database=str(path)), datetime.now(UTC))
    return path


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Everything in a database, by table; search indexes as they are kept."""
    tables = (
        "SELECT name FROM sqlite_master"
        " WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute(tables)]
        return {
            name: list(connection.execute(f"SELECT * FROM {name}")) for name in names
        }
