"""What was decided on a call of a tool, for the ways on which it is asked about again.

A call by HTTP is asked about as a request, as a call, and by `redlane mcp` before: what
somebody allows there by a policy, that policy does not hold once more.
"""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from redlane.model.verdict import Verdict
from redlane.state.clock import uptime
from redlane.state.review import Review
from redlane.state.sessions import Session

__all__ = ["DecidedCalls"]

_MOST = 512
_SECONDS = 120.0
"""How soon a call that was allowed has to leave."""

_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question, as whoever holds it asks what was decided before."""

    decided: "DecidedCalls"
    session: Session
    request: str
    call: bytes | None
    place: str

    def find(self, verdict: Verdict) -> Review | None:
        """The decision that holds for it as well, if there is one."""
        digest = None if self.call is None else _digest(self.call)
        if not self.request or digest is None:
            return None  # nobody is asked about it a second time
        about = _about(self.session, verdict)
        return self.decided.find(about, self.request, (self.place, digest))

    def keep(self, verdict: Verdict, review: Review) -> bool:
        """Remember what was decided on it; whether that was done."""
        sent = self.call if verdict.content is None else verdict.content
        digest = None if self.call is None or sent is None else _digest(sent)
        is_known = self.call is None or (digest is not None and self.place != "")
        if review.goes_on and is_known:
            about = _about(self.session, verdict)
            key = (*about, self.request, self.place, digest)
            self.decided.keep(key, review)
        return review.goes_on and is_known


class DecidedCalls:
    """Remembers the latest that may go on; safe for several threads."""

    def __init__(self, clock: Callable[[], float] = uptime) -> None:
        """`clock` counts seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, tuple[Review, float]] = OrderedDict()

    def whole(self, session: Session, request: str) -> _Asked:
        """A question about a request; `request` names it."""
        return _Asked(self, session, request, None, "")

    def call(
        self, session: Session, call: bytes, place: str, request: str = ""
    ) -> _Asked:
        """A question about a `call`, which is JSON, to a server at `place`.

        It stands in a `request`, which is empty where the one who asks is not who sends
        it. Without a place nothing is remembered.
        """
        return _Asked(self, session, request, call, place)

    def keep(self, key: _Key, review: Review) -> None:
        """Remember a decision that lets something go on."""
        with self._lock:
            self._kept[key] = (review, self._clock() + _SECONDS)
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    def find(self, about: _Key, request: str, call: tuple[str, bytes]) -> Review | None:
        """What was decided on the whole request, on this call in it, or, once, before.

        `request` names a call in a request: `request/call`.
        """
        whole = (*about, request.partition("/")[0], "", None)
        part = (*about, request, *call)
        with self._lock:
            kept = self._kept.get(whole) or self._kept.get(part)
            if kept is None:
                kept = self._kept.pop((*about, "", *call), None)
                if kept is not None:
                    self._kept[part] = kept
        if kept is None or kept[1] < self._clock():
            return None
        return kept[0]


def _about(session: Session, verdict: Verdict) -> _Key:
    """What has to be the same, whatever is asked about."""
    return session.id, verdict.policy, verdict.role, verdict.ruleset


def _digest(call: bytes) -> bytes | None:
    """What a call does, whatever its server is called; None for what is no call."""
    try:
        document = json.loads(call)
        tool, arguments = document["tool"], document.get("arguments") or {}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return hashlib.sha256(json.dumps([tool, arguments]).encode()).digest()
