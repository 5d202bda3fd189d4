"""`GET /api/events`: what was judged, filtered, and followed by long poll."""

import threading
from dataclasses import asdict
from datetime import UTC, datetime

import falcon

from redlane.control.stream import EventStream
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.state.clock import iso_time
from redlane.state.event import Event
from redlane.state.history import Filter

__all__ = ["EventCollection"]

_MOST = 10_000
_USUAL = 100
_LONGEST_WAIT = 60
_MOST_FOLLOWERS = 8


class EventCollection:
    """`GET` with `session`, `verdict`, `context`, `since`, `limit`, `after`, `wait`.

    With `after` (an event's id, or empty for now) it answers what came behind that
    event, and waits up to `wait` seconds for it.
    """

    def __init__(self, events: EventStream) -> None:
        """Read `events`."""
        self._events = events
        self._places = threading.Semaphore(_MOST_FOLLOWERS)

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answer the events, oldest first, and what to give as `after` next time."""
        wanted = _filter(request)
        limit = request.get_param_as_int(
            "limit", default=_USUAL, min_value=1, max_value=_MOST
        )
        after = request.get_param("after")
        last = after or self._events.last
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
            "wait", default=0, min_value=0, max_value=_LONGEST_WAIT
        )
        if not self._places.acquire(blocking=False):
            raise falcon.HTTPTooManyRequests(
                description="too many follow the events already"
            )
        try:
            return self._events.after(after, wanted, limit, wait)
        finally:
            self._places.release()


def _filter(request: falcon.Request) -> Filter:
    verdict, context = request.get_param("verdict"), request.get_param("context")
    if verdict is not None and verdict not in Decision.__members__:
        known = ", ".join(Decision.__members__)
        raise falcon.HTTPBadRequest(description=f"'verdict' must be one of {known}")
    if context is not None and context not in {each.value for each in Context}:
        known = ", ".join(each.value for each in Context)
        raise falcon.HTTPBadRequest(description=f"'context' must be one of {known}")
    return Filter(
        session=request.get_param("session"),
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
