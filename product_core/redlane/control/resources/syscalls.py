"""`/api/sessions/{id}/syscalls` and `allowed`: for what supervises a session."""

import json
import os

import falcon

from redlane.control.access import caller_of
from redlane.control.bodies import read_object
from redlane.control.call_reports import CallEvent, read_report
from redlane.control.channel import CLOSED_KEY
from redlane.control.resources.sessions import found
from redlane.gate import Gate
from redlane.judging.metrics import Metrics
from redlane.model.content import TextContent
from redlane.model.policy import Context
from redlane.sessions.changes import Changes
from redlane.sessions.held_calls import HeldCalls
from redlane.sessions.service import SessionService
from redlane.state.sessions import Session, SessionTable

__all__ = ["AllowedPlaces", "SessionCalls"]

_LONGEST_WAIT = 60


class SessionCalls:
    """`GET` the rules, by long poll with `after`; `POST` what came of them.

    The body of a report: `{filter?: {syscalls, namespaces, places}, coverage?,
    events?}`.
    """

    def __init__(
        self,
        control: SessionService,
        held: HeldCalls,
        changes: Changes,
        gate: Gate,
        table: SessionTable,
        metrics: Metrics,
    ) -> None:
        """Answer what `held` knows, again after each of `changes`; record in `gate`."""
        self._control = control
        self._held = held
        self._changes = changes
        self._gate = gate
        self._table = table
        self._metrics = metrics

    def on_get(
        self, request: falcon.Request, response: falcon.Response, session_id: str
    ) -> None:
        """Answer the rules; with `after`, once their generation is another."""
        caller = caller_of(request)
        session = found(self._control, session_id, caller)
        after = request.get_param("after")
        wait = request.get_param_as_int(
            "wait", default=_LONGEST_WAIT, min_value=0, max_value=_LONGEST_WAIT
        )
        left = _Left(self._changes)
        when_closed = request.env.get(CLOSED_KEY)
        if when_closed is not None:
            when_closed(left.leave)
        rules = self._changes.wait_until(
            lambda: self._held.rules(session.id),
            lambda rules: left.gone or rules["generation"] != after,
            wait,
            None if caller.owner is None else str(caller.owner),
        )
        if self._changes.is_over:
            raise falcon.HTTPServiceUnavailable(description="the daemon is stopping")
        response.media = rules

    def on_post(
        self, request: falcon.Request, response: falcon.Response, session_id: str
    ) -> None:
        """Take what the supervisor reports, its filter before its events."""
        session = found(self._control, session_id, caller_of(request))
        report = read_report(read_object(request), session.role)
        if report.filtered is not None:
            session = self._table.set_filter(
                session.id,
                report.filtered,
                sandboxes=report.sandboxes,
                places=report.places,
            )
        if report.coverage is not None:
            self._held.put(session, report.coverage)
        for event in report.events:
            self._record(session, event)
        response.media = {"events": len(report.events)}

    def _record(self, session: Session, event: CallEvent) -> None:
        verdict = event.verdict
        self._gate.record(
            TextContent(Context.SYSCALL, _content(event)),
            session,
            verdict,
            pid=event.pid,
            details=_details(event),
        )
        self._metrics.count_calls(verdict.decision.value, event.count)


class AllowedPlaces:
    """`GET` where a person lets a session write, beyond what its role says."""

    def __init__(self, control: SessionService) -> None:
        """Find sessions with `control`."""
        self._control = control

    def on_get(
        self, request: falcon.Request, response: falcon.Response, session_id: str
    ) -> None:
        """Answer the paths, each with NUL at its end: whoever reads them is in C."""
        session = found(self._control, session_id, caller_of(request))
        response.content_type = "application/octet-stream"
        response.data = b"".join(os.fsencode(each) + b"\0" for each in session.allowed)


class _Left:
    """Whether the caller has hung up."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self.gone = False

    def leave(self) -> None:
        self.gone = True
        self._changes.bump()


def _content(event: CallEvent) -> bytes:
    """The call as events show it."""
    described = {
        "syscall": event.call.name,
        "paths": list(event.call.paths),
        **event.call.details,
    }
    return json.dumps(described, separators=(",", ":"), ensure_ascii=False).encode()


def _details(event: CallEvent) -> tuple[str, ...]:
    killed = ("its process was killed",) if event.verdict.kill else ()
    repeated = (f"{event.count} times",) if event.count > 1 else ()
    return (*killed, *repeated)
