"""`GET /api/events`: what was judged, filtered, and followed by long poll."""

from dataclasses import asdict
from datetime import UTC, datetime

import falcon

from redlane.control.access import caller_of
from redlane.control.followers import LONGEST_WAIT, Followers
from redlane.membership.callers import Caller
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.state.clock import iso_time
from redlane.state.event import Event
from redlane.state.event_feed import EventFeed
from redlane.state.history import Filter

__all__ = ["EventCollection", "EventCounts"]

_MOST = 10_000
_MOST_OF_USER = 1_000
_USUAL = 100


class EventCollection:
    """`GET` with `session`, `verdict`, `context`, `since`, `limit`, `after`, `wait`.

    With `after` (an event's id, or empty for now) it answers what came behind that
    event, and waits up to `wait` seconds for it.
    """

    def __init__(self, events: EventFeed, followers: Followers) -> None:
        """Read `events`; who waits for them is one of `followers`."""
        self._events = events
        self._followers = followers

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answer the events, oldest first, and what to give as `after` next time."""
        caller = caller_of(request)
        wanted = _filter(request, caller)
        most = _MOST if caller.only_of is None else _MOST_OF_USER
        limit = request.get_param_as_int(
            "limit", default=_USUAL, min_value=1, max_value=most
        )
        after = request.get_param("after")
        last = after or self._events.last(caller.only_of)
        if after is None:
            events = self._events.read(wanted, limit)
        else:
            events = self._follow(request, last, wanted, limit)
        response.media = {
            "events": [asdict(each) for each in events],
            "last": events[-1].id if events else last,
        }

    def _follow(
        self, request: falcon.Request, after: str, wanted: Filter, limit: int
    ) -> list[Event]:
        wait = request.get_param_as_int(
            "wait", default=0, min_value=0, max_value=LONGEST_WAIT
        )
        with self._followers.one(caller_of(request).uid):
            return self._events.after(after, wanted, limit, wait)


class EventCounts:
    """`GET` with the filters of `EventCollection`: how often which policy said what."""

    def __init__(self, events: EventFeed) -> None:
        """Count `events`."""
        self._events = events

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answer a row for each context, verdict, policy and system call."""
        wanted = _filter(request, caller_of(request))
        response.media = {"counts": self._events.counts(wanted)}


def _filter(request: falcon.Request, caller: Caller) -> Filter:
    verdict, context = request.get_param("verdict"), request.get_param("context")
    if verdict is not None and verdict not in Decision.__members__:
        known = ", ".join(Decision.__members__)
        raise falcon.HTTPBadRequest(description=f"'verdict' must be one of {known}")
    if context is not None and context not in {each.value for each in Context}:
        known = ", ".join(each.value for each in Context)
        raise falcon.HTTPBadRequest(description=f"'context' must be one of {known}")
    session = request.get_param("session")
    if session is not None:
        session = caller.named(session)
        if not caller.sees(session):
            raise falcon.HTTPNotFound(description=f"there is no session {session!r}")
    return Filter(
        session=session,
        owner=caller.only_of,
        since=_since(request.get_param("since")),
        verdict=verdict,
        context=context,
    )


def _since(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        in_utc = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return iso_time(in_utc.timestamp())
    except (ValueError, OverflowError) as error:
        raise falcon.HTTPBadRequest(
            description="'since' must be a time as ISO 8601 has it"
        ) from error
