"""Publishing a signed artifact of 4 KB, against the commit that it cannot do without.

    .venv/bin/python benchmarks/hub_publish.py [DIRECTORY]

The floor is one INSERT and COMMIT of the same bytes with synchronous FULL, in the same
run, on the same disk: that of DIRECTORY, or of the temporary files. Requests go through
the hub's application in this process, without sockets. Kinds take turns, so that what
else the machine does meets all alike.
"""

import base64
import functools
import hashlib
import itertools
import json
import secrets
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import falcon.testing
from measure import duration, percentile, print_table, ratio
from nacl.signing import SigningKey

from redlane_hub.app import Hub
from redlane_hub.clock import system_clock, timestamp
from redlane_hub.identifiers import new_id
from redlane_hub.model import Account
from redlane_hub.settings import Settings
from redlane_hub.store import accounts
from redlane_hub.store.database import Database
from redlane_hub.store.migrations import migrate

ROUNDS = 300
WARM = 20
CONTENT_BYTES = 4096
EMAIL = "bench@example.com"
SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z]+$"},
        "rules": {"type": "array", "items": {"type": "string", "maxLength": 100}},
    },
    "required": ["id", "rules"],
}

FLOOR, PLAIN, SIGNED, CHECKED = (
    "INSERT and COMMIT (FULL)",
    "publish, unsigned",
    "publish, signed",
    "publish, signed, schema",
)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=next(iter(sys.argv[1:]), None)) as name:
        measure(Path(name))


def measure(directory: Path) -> None:
    """Take turns between the kinds, and print how long each took."""
    settings = Settings(
        database=str(directory / "hub.db"), secret=secrets.token_urlsafe(32)
    )
    migrate(settings.database_path)
    hub = Hub(settings)
    hub.start()
    floor = floor_connection(directory / "floor.db")
    calls = publishing(hub, settings) | {
        FLOOR: functools.partial(insert, floor, content())
    }
    taken: dict[str, list[float]] = {kind: [] for kind in calls}
    for _ in range(WARM + ROUNDS):
        for kind, call in calls.items():
            started = time.perf_counter()
            call()
            taken[kind].append(time.perf_counter() - started)
    hub.stop()
    floor.close()
    report({kind: times[WARM:] for kind, times in taken.items()})


def report(taken: dict[str, list[float]]) -> None:
    """The table; every ratio is between figures of this run."""
    middle = {kind: percentile(times, 50) for kind, times in taken.items()}
    rows = [
        (
            kind,
            duration(middle[kind]),
            duration(percentile(taken[kind], 99)),
            ratio(middle[kind], middle[FLOOR]),
            ratio(middle[kind], middle[SIGNED]),
        )
        for kind in (FLOOR, PLAIN, SIGNED, CHECKED)
    ]
    print_table(("4 KB", "p50", "p99", "of the floor", "of signed"), rows)


def content() -> str:
    """A document of the size, that conforms to the schema."""
    rules = ["x" * 95] * 40
    text = json.dumps({"id": "policy", "rules": rules})
    return text + " " * (CONTENT_BYTES - len(text))


def floor_connection(path: Path) -> sqlite3.Connection:
    """A table for the same bytes, as durable as the hub's."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE bytes (content BLOB NOT NULL)")
    return connection


def insert(connection: sqlite3.Connection, text: str) -> None:
    """The least that keeps the content for good."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO bytes VALUES (?)", (text.encode(),))
    connection.execute("COMMIT")


def publishing(hub: Hub, settings: Settings) -> dict[str, Callable[[], object]]:
    """One call a kind; each publishes a version that there was not yet."""
    client = falcon.testing.TestClient(hub.app)
    headers = {"Authorization": f"Bearer {token_of_new_account(hub, settings)}"}
    key = SigningKey.generate()
    post(
        client,
        headers,
        "/api/v1/me/signing-keys",
        {"public_key": base64.b64encode(bytes(key.verify_key)).decode()},
    )
    text = content()
    digest = hashlib.sha256(text.encode()).hexdigest()
    signed = {
        "signature": base64.b64encode(key.sign(digest.encode()).signature).decode(),
        "key_fingerprint": hashlib.sha256(bytes(key.verify_key)).hexdigest(),
    }
    versions = itertools.count()

    def publish(fields: dict[str, Any]) -> None:
        body = {"name": "policy", "version": str(next(versions)), "content": text}
        post(client, headers, "/api/v1/artifacts", body | fields)

    return {
        PLAIN: functools.partial(publish, {}),
        SIGNED: functools.partial(publish, signed),
        CHECKED: functools.partial(publish, {**signed, "schema": SCHEMA}),
    }


def token_of_new_account(hub: Hub, settings: Settings) -> str:
    """An approved account, put there without hashing a password."""
    account = Account(
        id=new_id(),
        email=EMAIL,
        is_endorsed=False,
        is_approved=False,
        created_at=timestamp(system_clock()),
    )
    database = Database(settings.database_path)
    with database.transaction() as connection:
        accounts.insert(connection, account, "no password")
        accounts.set_approved(connection, account.id, True)  # noqa: FBT003  # a column's value
    database.close()
    return hub._tokens.issue(account.id, EMAIL)  # noqa: SLF001  # logging in would hash


def post(
    client: falcon.testing.TestClient,
    headers: dict[str, str],
    path: str,
    body: dict[str, Any],
) -> None:
    """Fails unless something was made: a refusal would be a fast time."""
    answer = client.simulate_post(path, json=body, headers=headers)
    if answer.status_code != falcon.http_status_to_code(falcon.HTTP_201):
        raise SystemExit(f"{path}: {answer.status}: {answer.text}")


if __name__ == "__main__":
    main()
