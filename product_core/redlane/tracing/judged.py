"""What a session does, as far as it was judged: where the kernel cannot be asked."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from redlane.client import Client, operations
from redlane.tracing.records import Record, What

__all__ = ["judged_records", "record_of"]

_RUNNING = "running"
_WAIT_SECONDS, _MOST = 2, 1000
_RESULTS = {"ALLOW": "ok", "BLOCK": "blocked", "FLAG": "held", "MODIFY": "rewritten"}
_OPENS = frozenset({"open", "openat", "creat"})
_EXECS = frozenset({"execve", "execveat"})

_Event = Mapping[str, Any]


def judged_records(client: Client, session: str) -> Iterator[Record]:
    """What is judged from now on, until the session has ended; raises DaemonError."""
    return _follow(client, session, client.send(operations.events(limit=1))["last"])


def _follow(client: Client, session: str, last: str) -> Iterator[Record]:
    is_over = False
    while not is_over:
        is_over = client.send(operations.session(session))["state"] != _RUNNING
        seconds = 0 if is_over else _WAIT_SECONDS
        asked = operations.events(
            after=last, wait_seconds=seconds, limit=_MOST, session=session
        )
        answer = client.send(asked)
        last = answer["last"]
        yield from filter(None, map(record_of, answer["events"]))


def record_of(event: _Event) -> Record | None:
    """What an event tells of; None: of what came in, which nothing of this is."""
    found = _done(event)
    if found is None:
        return None
    what, target = found
    return Record(
        datetime.fromisoformat(event["time"]),
        what,
        target,
        _RESULTS[event["verdict"]],
        event["pid"],
    )


def _done(event: _Event) -> tuple[What, str] | None:
    content = str(event["content"])
    match event["context"]:
        case "Shell":
            return What.EXEC, content
        case "Network":
            return What.CONNECT, content.partition("\n")[0].rpartition(" ")[0]
        case "Syscall":
            return _called(content)
        case "Mcp":
            return What.CALL, content
        case _:
            return None


def _called(content: str) -> tuple[What, str]:
    """A system call, by its name and its paths."""
    with suppress(ValueError, KeyError, TypeError):
        call = json.loads(content)
        name, paths = str(call["syscall"]), call.get("paths") or ()
        told = " ".join("?" if each is None else str(each) for each in paths)
        if name in _OPENS:
            return What.OPEN, told
        if name in _EXECS:
            return What.EXEC, told
        what = What.CONNECT if name == "connect" else What.CALL
        return what, told if what is What.CONNECT else f"{name} {told}".rstrip()
    return What.CALL, content
