"""Reads what the supervisor of a session reports: its filter, coverage and events.

A supervisor runs with a user's rights and may say anything, about its own session
alone: everything is bounded, and of the form that it must have.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import falcon

from redlane.control.bodies import optional, required
from redlane.model.content import SystemCall
from redlane.model.supervision import Coverage, Enforcement
from redlane.model.verdict import Decision, Verdict
from redlane.policies.syscall_names import SYSCALL_NAMES

__all__ = ["MOST_EVENTS", "CallEvent", "CallReport", "read_report"]

MOST_EVENTS = 200
"""How many events one report may have."""

_MOST_PATHS = 8
_MOST_ARGUMENTS = 6
_LONGEST = {"path": 8192, "text": 1000, "command": 1000}
_LARGEST_COUNT = 1 << 40


@dataclass(frozen=True, slots=True)
class CallEvent:
    """A system call that was blocked or flagged, and how often."""

    call: SystemCall
    verdict: Verdict
    pid: int | None
    count: int


@dataclass(frozen=True, slots=True)
class CallReport:
    """What a report holds; None for what it says nothing of."""

    filtered: tuple[str, ...] | None
    sandboxes: bool
    places: bool
    coverage: tuple[Coverage, ...] | None
    events: tuple[CallEvent, ...]


def read_report(body: Mapping[str, Any], role: str | None) -> CallReport:
    """The report, of a session under `role`; 400 when it has another form."""
    filtered = optional(body, "filter", dict)
    coverage = optional(body, "coverage", list)
    events = optional(body, "events", list) or []
    ruleset = _text(body, "ruleset")
    if len(events) > MOST_EVENTS:
        raise _wrong(f"more than {MOST_EVENTS} events")
    return CallReport(
        None if filtered is None else _names(required(filtered, "syscalls", list)),
        filtered is not None and optional(filtered, "namespaces", bool) is True,
        filtered is not None and optional(filtered, "places", bool) is True,
        None if coverage is None else tuple(map(_coverage, _bounded(coverage))),
        tuple(_event(_object(each), role, ruleset) for each in events),
    )


def _names(given: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(_name, given))


def _name(given: object) -> str:
    if not isinstance(given, str) or given not in SYSCALL_NAMES:
        raise _wrong("what is named there is no system call")
    return given


def _bounded(given: list[Any]) -> list[Any]:
    if len(given) > len(SYSCALL_NAMES):
        raise _wrong("more entries than there are system calls")
    return given


def _coverage(given: object) -> Coverage:
    entry = _object(given)
    try:
        enforcement = Enforcement(required(entry, "enforcement", str))
    except ValueError:
        raise _wrong("that enforcement is not known") from None
    return Coverage(
        _name(entry.get("syscall")),
        enforcement,
        _text(entry, "by"),
        _text(entry, "reason"),
    )


def _event(event: Mapping[str, Any], role: str | None, ruleset: str) -> CallEvent:
    call = _object(event.get("call"))
    name = required(event, "verdict", str)
    if name not in (Decision.BLOCK, Decision.FLAG):
        raise _wrong("an event is a BLOCK or a FLAG")
    count = optional(event, "count", int)
    if count is not None and not 0 < count < _LARGEST_COUNT:
        raise _wrong("'count' is no number of calls")
    verdict = Verdict(
        Decision(name),
        _text(event, "reason"),
        policy=_text(event, "policy") or None,
        role=role,
        context="Syscall",
        ruleset=ruleset,
        kill=optional(event, "kill", bool) is True,
        restriction=optional(event, "restriction", bool) is True,
    )
    made = SystemCall(_name(call.get("syscall")), _paths(call), _details(call))
    return CallEvent(made, verdict, optional(call, "pid", int), count or 1)


def _paths(call: Mapping[str, Any]) -> tuple[str | None, ...]:
    paths = optional(call, "paths", list) or []
    if len(paths) > _MOST_PATHS:
        raise _wrong("more paths than a system call has")
    for each in paths:
        if each is not None and not _is_short(each, "path"):
            raise _wrong("a path is no text, or too long")
    return tuple(paths)


def _details(call: Mapping[str, Any]) -> Mapping[str, object]:
    arguments = optional(call, "args", list) or []
    if len(arguments) > _MOST_ARGUMENTS or not all(
        isinstance(each, int) and not isinstance(each, bool) and abs(each) < 1 << 64
        for each in arguments
    ):
        raise _wrong("'args' are no arguments of a system call")
    command = optional(call, "command", str)
    if command is not None and not _is_short(command, "command"):
        raise _wrong("'command' is too long")
    details = {
        "args": arguments or None,
        "pid": optional(call, "pid", int),
        "ppid": optional(call, "ppid", int),
        "command": command,
    }
    return {name: value for name, value in details.items() if value is not None}


def _text(entry: Mapping[str, Any], name: str) -> str:
    text = optional(entry, name, str) or ""
    if not _is_short(text, "text"):
        raise _wrong(f"{name!r} is too long")
    return text


def _is_short(value: object, kind: str) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST[kind]


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _wrong("an entry is no object")
    return value


def _wrong(why: str) -> falcon.HTTPBadRequest:
    return falcon.HTTPBadRequest(description=f"the report: {why}")
