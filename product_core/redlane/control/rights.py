"""Who may ask for what: the whole of it, in one table.

What is not in it, only administrators may. That a user and a supervisor reach nothing
but their own sessions is part of the right: the rest is not there for them.
"""

from collections.abc import Mapping

from redlane.membership.callers import Who

__all__ = ["RIGHTS", "may"]

_A, _U = Who.ADMINISTRATOR, Who.USER
_S, _M, _L, _X = Who.SUPERVISOR, Who.MEMBER, Who.LOST, Who.UNKNOWN

_SESSION = "/api/sessions/{session_id}"

RIGHTS: Mapping[tuple[str, str], frozenset[Who]] = {
    ("GET", "/health"): frozenset({_A, _U, _S, _M, _L, _X}),
    ("POST", "/api/analyze"): frozenset({_A, _U, _S, _M, _L}),
    ("GET", "/api/status"): frozenset({_A, _U}),
    ("GET", "/api/sessions"): frozenset({_A, _U}),
    ("POST", "/api/sessions"): frozenset({_A, _U}),
    ("GET", _SESSION): frozenset({_A, _U, _S}),
    ("PATCH", _SESSION): frozenset({_A, _U}),
    ("DELETE", _SESSION): frozenset({_A, _U, _S}),
    ("POST", _SESSION + "/{action}"): frozenset({_A, _U}),
    ("GET", _SESSION + "/addresses"): frozenset({_A, _S}),
    ("GET", _SESSION + "/allowed"): frozenset({_A, _S}),
    ("GET", _SESSION + "/syscalls"): frozenset({_A, _S}),
    ("POST", _SESSION + "/syscalls"): frozenset({_S}),
    ("GET", "/api/events"): frozenset({_A, _U}),
    ("GET", "/api/events/counts"): frozenset({_A, _U}),
    ("GET", "/api/reviews"): frozenset({_A, _U}),
    ("GET", "/api/reviews/{review_id}"): frozenset({_A, _U}),
    ("POST", "/api/reviews/{review_id}"): frozenset({_A, _U}),
    ("DELETE", "/api/reviews/{review_id}"): frozenset({_A, _U}),
    ("GET", "/api/pins"): frozenset({_A, _U}),
    ("GET", "/api/pins/{pin_id}"): frozenset({_A, _U}),
    ("POST", "/api/pins/{pin_id}"): frozenset({_A, _U}),
    ("DELETE", "/api/pins/{pin_id}"): frozenset({_A, _U}),
    ("GET", "/api/processes/{pid:int}"): frozenset({_A, _U}),
    ("POST", "/api/policies/reload"): frozenset({_A}),
    ("POST", "/api/ca/regenerate"): frozenset({_A}),
    ("GET", "/metrics"): frozenset({_A}),
}


def may(who: Who, method: str, route: str) -> bool:
    """Whether such a caller may use a route at all."""
    return who in RIGHTS.get((method, route), frozenset({_A}))
