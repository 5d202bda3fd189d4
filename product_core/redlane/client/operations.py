"""What can be asked of a daemon, and how each is spelt (docs/control-api.md).

A client sends these: `Client().send(verdict("rm -rf ~"))` has the verdict. Answers are
the documents of the control API, as JSON has them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

__all__ = [
    "Document",
    "Operation",
    "accept",
    "allow_write",
    "decide",
    "end_session",
    "event_counts",
    "events",
    "forget",
    "freeze",
    "health",
    "kill",
    "open_session",
    "pinned",
    "pins",
    "process",
    "regenerate_authority",
    "reload",
    "report_calls",
    "review",
    "reviews",
    "rules_of_calls",
    "session",
    "sessions",
    "set_role",
    "status",
    "unfreeze",
    "verdict",
]

Document = Mapping[str, Any]

_VERDICT_SECONDS = 30.0
"""What the daemon may take for a verdict: its programs may be slow, or hang."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One request; the daemon may wait `hold_seconds` before it answers."""

    method: str
    path: str
    body: Document | None = None
    hold_seconds: float = 0.0


def verdict(
    content: str | Document,
    context: str = "Shell",
    *,
    role: str | None = None,
    session: str | None = None,
    hold: bool = True,
    hold_seconds: float = 3600.0,
) -> Operation:
    """The verdict on `content`: text, or for Mcp and Syscall an object.

    What is flagged is held, and answered once it is decided; without `hold` at once.
    """
    body = {"content": content, "context": context, "hold": hold}
    given = {"role": role, "session": session}
    body |= {name: value for name, value in given.items() if value is not None}
    waiting = _VERDICT_SECONDS + (hold_seconds if hold else 0.0)
    return Operation("POST", "/api/analyze", body, waiting)


def sessions() -> Operation:
    """Every session that the caller sees."""
    return Operation("GET", "/api/sessions")


def session(session_id: str = "default") -> Operation:
    """One session."""
    return Operation("GET", _session(session_id))


def open_session(**fields: object) -> Operation:
    """Open a session; `fields` as `POST /api/sessions` has them."""
    return Operation("POST", "/api/sessions", fields)


def set_role(role: str, session_id: str = "default") -> Operation:
    """Change a session's role."""
    return Operation("PATCH", _session(session_id), {"role": role})


def allow_write(path: str, session_id: str) -> Operation:
    """Let a session change files below a canonical path, to its end."""
    return Operation("PATCH", _session(session_id), {"allow_write": path})


def freeze(session_id: str = "default") -> Operation:
    """Stop everything in a session, and block what it asks for."""
    return Operation("POST", f"{_session(session_id)}/freeze", {})


def unfreeze(session_id: str = "default") -> Operation:
    """Let a session go on."""
    return Operation("POST", f"{_session(session_id)}/unfreeze", {})


def kill(session_id: str) -> Operation:
    """Kill everything in a session, which ends."""
    return Operation("POST", f"{_session(session_id)}/kill", {})


def end_session(session_id: str) -> Operation:
    """End a session; what still runs in it is killed."""
    return Operation("DELETE", _session(session_id))


def reviews(
    *, over: bool = False, after: str | None = None, wait_seconds: int = 0
) -> Operation:
    """What is held; with `after`, once it differs from that revision."""
    query = {"over": "true" if over else None, "after": after}
    return _get("/api/reviews", query, wait_seconds if after is not None else 0)


def review(review_id: str) -> Operation:
    """One review, with all of its content."""
    return Operation("GET", f"/api/reviews/{quote(review_id, safe='')}")


def decide(
    review_id: str,
    decision: str,
    note: str | None = None,
    *,
    times: int | None = None,
    seconds: int | None = None,
) -> Operation:
    """Decide a review, `allow` or `block`, once.

    With `times` or `seconds` the same again is decided as well: so many in all, or for
    so long.
    """
    given = {"note": note, "times": times, "seconds": seconds}
    body = {"decision": decision} | {k: v for k, v in given.items() if v is not None}
    return Operation("POST", f"/api/reviews/{quote(review_id, safe='')}", body)


def revoke(review_id: str) -> Operation:
    """Have a decision count no more, neither for the same again nor for its parts."""
    return Operation("DELETE", f"/api/reviews/{quote(review_id, safe='')}")


def events(
    *, after: str | None = None, wait_seconds: int = 0, **filters: str | int | None
) -> Operation:
    """What was judged: by `session`, `verdict`, `context`, `since`, `limit`.

    With `after`, what came behind that event, once there is something.
    """
    query = {**filters, "after": after}
    return _get("/api/events", query, wait_seconds if after is not None else 0)


def event_counts(**filters: str | None) -> Operation:
    """How often which policy said what; by `session`, `verdict`, `context`, `since`."""
    return _get("/api/events/counts", filters, 0)


def pins() -> Operation:
    """The MCP servers whose tools are pinned."""
    return Operation("GET", "/api/pins")


def pinned(pin_id: str, user: int | None = None) -> Operation:
    """One server whole, by its id or that of something that was found."""
    return Operation("GET", _pin(pin_id, user))


def accept(pin_id: str, user: int | None = None) -> Operation:
    """Pin what was found."""
    return Operation("POST", _pin(pin_id, user), {"decision": "accept"})


def forget(pin_id: str, user: int | None = None) -> Operation:
    """Forget what was found, or a server with all that is pinned of it."""
    return Operation("DELETE", _pin(pin_id, user))


def rules_of_calls(
    session_id: str, *, after: str | None = None, wait_seconds: int = 0
) -> Operation:
    """What a session's system calls are judged by; with `after`, once that changes."""
    path = f"{_session(session_id)}/syscalls"
    return _get(path, {"after": after, "wait": wait_seconds}, wait_seconds)


def report_calls(session_id: str, **report: object) -> Operation:
    """What a supervisor has to say of its session's system calls."""
    return Operation("POST", f"{_session(session_id)}/syscalls", report)


def process(pid: int) -> Operation:
    """Where a process stands: `outside` of every session, or not."""
    return Operation("GET", f"/api/processes/{pid}")


def regenerate_authority() -> Operation:
    """Replace the certificate authority of TLS interception."""
    return Operation("POST", "/api/ca/regenerate", {}, hold_seconds=60.0)


def reload() -> Operation:
    """Load the policies on disk again."""
    return Operation("POST", "/api/policies/reload", {}, hold_seconds=270.0)


def status() -> Operation:
    """The daemon as it is now."""
    return Operation("GET", "/api/status")


def health() -> Operation:
    """Whether the daemon serves."""
    return Operation("GET", "/health")


def _session(session_id: str) -> str:
    return f"/api/sessions/{quote(session_id, safe='')}"


def _pin(pin_id: str, user: int | None) -> str:
    path = f"/api/pins/{quote(pin_id, safe='')}"
    return path if user is None else f"{path}?user={user}"


def _get(path: str, query: Mapping[str, str | int | None], wait: int) -> Operation:
    """A GET; parameters that are None are left out."""
    given = {name: value for name, value in query.items() if value is not None}
    if wait:
        given["wait"] = wait
    text = f"{path}?{urlencode(given)}" if given else path
    return Operation("GET", text, hold_seconds=wait)
