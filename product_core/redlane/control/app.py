"""The control API as a WSGI application, and the shell wrapper's handler beside it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import falcon
import falcon.media

from redlane.control.access import Access
from redlane.control.errors import add_error_handlers
from redlane.control.followers import Followers
from redlane.control.rendering import Rendering
from redlane.control.resources.addresses import NameAddresses
from redlane.control.resources.authority import AuthorityRenewal
from redlane.control.resources.daemon import Health, MetricsPage, Reload, Status
from redlane.control.resources.events import EventCollection, EventCounts
from redlane.control.resources.pins import PinCollection, PinItem
from redlane.control.resources.processes import ProcessItem
from redlane.control.resources.reviews import ReviewCollection, ReviewItem
from redlane.control.resources.sessions import (
    SessionAction,
    SessionCollection,
    SessionItem,
)
from redlane.control.resources.syscalls import AllowedPlaces, SessionCalls
from redlane.control.resources.verdicts import Analyze
from redlane.gate import Gate
from redlane.judging.connection_limit import Counted
from redlane.judging.leases import Leases
from redlane.judging.metrics import Metrics
from redlane.judging.service import Contents, JudgingService
from redlane.judging.shell_service import ShellService
from redlane.membership.authentication import Authenticator
from redlane.membership.resolver import MembershipResolver
from redlane.policies.loaded import Loaded
from redlane.sessions.changes import Changes
from redlane.sessions.held_calls import HeldCalls
from redlane.sessions.service import SessionService
from redlane.sessions.session_proxy import SessionProxy
from redlane.state.event_feed import EventFeed
from redlane.state.pins import Pins
from redlane.state.reviews import Reviews
from redlane.state.sessions import SessionTable

__all__ = ["Collaborators", "create_app", "shell_service"]


@dataclass(frozen=True, slots=True)
class Collaborators:
    """What the API is a face of; the daemon builds it."""

    gate: Gate
    judging: JudgingService
    contents: Contents
    table: SessionTable
    sessions: SessionService
    membership: MembershipResolver
    authenticator: Authenticator
    counted: Counted
    reviews: Reviews
    events: EventFeed
    metrics: Metrics
    rendering: Rendering
    held: HeldCalls
    changes: Changes
    proxy: SessionProxy
    pins: Pins
    leases: Leases
    reload: Callable[[], Loaded]


def create_app(parts: Collaborators) -> "falcon.App[falcon.Request, falcon.Response]":
    """The control API (HTTP over a Unix socket, JSON in and out)."""
    app = falcon.App(middleware=[Access(parts.authenticator)])
    dumps = partial(json.dumps, ensure_ascii=True, allow_nan=False)
    app.resp_options.media_handlers[falcon.MEDIA_JSON] = falcon.media.JSONHandler(
        dumps=dumps
    )
    add_error_handlers(app)
    judging = parts.judging
    reviews, rendering, followers = parts.reviews, parts.rendering, Followers()
    sessions = parts.sessions
    routes = {
        "/api/analyze": Analyze(judging, sessions, parts.contents, reviews),
        "/api/ca/regenerate": AuthorityRenewal(parts.proxy),
        "/api/policies/reload": Reload(parts.reload, rendering),
        "/api/status": Status(rendering),
        "/api/sessions": SessionCollection(
            parts.table, sessions, rendering, parts.proxy
        ),
        "/api/sessions/{session_id}": SessionItem(
            sessions, rendering, parts.events.refused_calls
        ),
        "/api/sessions/{session_id}/addresses": NameAddresses(
            sessions, judging, parts.contents
        ),
        "/api/sessions/{session_id}/allowed": AllowedPlaces(sessions),
        "/api/sessions/{session_id}/syscalls": _session_calls(parts),
        "/api/sessions/{session_id}/{action}": SessionAction(sessions, rendering),
        "/api/events": EventCollection(parts.events, followers),
        "/api/events/counts": EventCounts(parts.events),
        "/api/reviews": ReviewCollection(reviews, followers),
        "/api/reviews/{review_id}": ReviewItem(reviews),
        "/api/pins": PinCollection(parts.pins),
        "/api/pins/{pin_id}": PinItem(parts.pins, parts.gate, sessions),
        "/api/processes/{pid:int}": ProcessItem(parts.membership),
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


def shell_service(parts: Collaborators) -> ShellService:
    """What answers the shell wrapper, on a socket of its own."""
    return ShellService(
        parts.judging,
        parts.sessions,
        parts.contents,
        parts.authenticator,
        parts.held,
        parts.leases,
    )
