"""The control API as a WSGI application, and the shell wrapper's desk beside it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import falcon
import falcon.media

from redlane.control.access import Access, Door
from redlane.control.changes import Changes
from redlane.control.crowd import Counted
from redlane.control.errors import add_error_handlers
from redlane.control.held_calls import HeldCalls
from redlane.control.judging import Contents, Judging
from redlane.control.membership import Membership
from redlane.control.metrics import Metrics
from redlane.control.rendering import Rendering
from redlane.control.resources.authority import AuthorityRenewal
from redlane.control.resources.daemon import Health, MetricsPage, Reload, Status
from redlane.control.resources.events import EventCollection
from redlane.control.resources.pins import PinCollection, PinItem
from redlane.control.resources.reviews import ReviewCollection, ReviewItem
from redlane.control.resources.sessions import (
    SessionAction,
    SessionCollection,
    SessionItem,
)
from redlane.control.resources.syscalls import SessionCalls
from redlane.control.resources.verdicts import Analyze
from redlane.control.session_control import SessionControl
from redlane.control.session_proxy import SessionProxy
from redlane.control.shell_desk import ShellDesk
from redlane.control.stream import EventStream
from redlane.gate import Gate
from redlane.policies.loaded import Loaded
from redlane.state.pins import Pins
from redlane.state.reviews import Reviews
from redlane.state.sessions import SessionTable

__all__ = ["Collaborators", "create_app", "shell_desk"]


@dataclass(frozen=True, slots=True)
class Collaborators:
    """What the API is a face of; the daemon builds it."""

    gate: Gate
    contents: Contents
    table: SessionTable
    sessions: SessionControl
    membership: Membership
    door: Door
    counted: Counted
    reviews: Reviews
    events: EventStream
    metrics: Metrics
    rendering: Rendering
    held: HeldCalls
    changes: Changes
    proxy: SessionProxy
    pins: Pins
    reload: Callable[[], Loaded]


def create_app(parts: Collaborators) -> "falcon.App[falcon.Request, falcon.Response]":
    """The control API (HTTP over a Unix socket, JSON in and out)."""
    app = falcon.App(middleware=[Access(parts.door)])
    dumps = partial(json.dumps, ensure_ascii=True, allow_nan=False)
    app.resp_options.media_handlers[falcon.MEDIA_JSON] = falcon.media.JSONHandler(
        dumps=dumps
    )
    add_error_handlers(app)
    judging = Judging(parts.gate, parts.sessions, parts.metrics)
    reviews, rendering = parts.reviews, parts.rendering
    sessions = parts.sessions
    routes = {
        "/api/analyze": Analyze(judging, parts.contents, reviews),
        "/api/ca/regenerate": AuthorityRenewal(parts.proxy),
        "/api/policies/reload": Reload(parts.reload, rendering),
        "/api/status": Status(rendering),
        "/api/sessions": SessionCollection(
            parts.table, sessions, rendering, parts.proxy
        ),
        "/api/sessions/{session_id}": SessionItem(sessions, rendering),
        "/api/sessions/{session_id}/syscalls": _session_calls(parts),
        "/api/sessions/{session_id}/{action}": SessionAction(sessions, rendering),
        "/api/events": EventCollection(parts.events),
        "/api/reviews": ReviewCollection(reviews),
        "/api/reviews/{review_id}": ReviewItem(reviews),
        "/api/pins": PinCollection(parts.pins),
        "/api/pins/{pin_id}": PinItem(parts.pins, parts.gate, sessions),
        "/health": Health(),
        "/metrics": MetricsPage(parts.metrics, rendering),
    }
    for path, resource in routes.items():
        app.add_route(path, resource)
    return app


def _session_calls(parts: Collaborators) -> SessionCalls:
    return SessionCalls(
        parts.sessions,
        parts.held,
        parts.changes,
        parts.gate,
        parts.table,
        parts.metrics,
    )


def shell_desk(parts: Collaborators) -> ShellDesk:
    """What answers the shell wrapper, on a socket of its own."""
    judging = Judging(parts.gate, parts.sessions, parts.metrics)
    return ShellDesk(judging, parts.contents, parts.door, parts.held)
