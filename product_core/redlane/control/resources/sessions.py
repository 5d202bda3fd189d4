"""`/api/sessions`: list, open, change, freeze, kill and close sessions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import falcon

from redlane.control.access import caller_of
from redlane.control.bodies import optional, read_object, required
from redlane.control.rendering import Rendering
from redlane.errors import UsageError
from redlane.membership.callers import Caller
from redlane.sessions.service import Opening, SessionService
from redlane.sessions.session_proxy import SessionProxy
from redlane.state.sessions import Session, SessionTable

__all__ = ["SessionAction", "SessionCollection", "SessionItem", "found"]

_LONGEST_LABEL = 200
_LARGEST_PID = 1 << 22
"""No Linux counts further."""
_ACTIONS = ("freeze", "unfreeze", "kill")


class SessionCollection:
    """`GET` lists sessions; `POST` opens one.

    Its body: `{role?, label?, root_pid?, reaper_pid?, restrictions?, holds_calls?,
    takes_files?, wants_proxy?}`.
    `redlane run` names itself as the root before it starts anything: then it and all
    below it belong to the session. Without `root_pid` the session is a name to judge
    under, and the caller keeps its rights.
    """

    def __init__(
        self,
        table: SessionTable,
        control: SessionService,
        rendering: Rendering,
        proxy: SessionProxy,
    ) -> None:
        """Show the table; change it with `control`; offer `proxy` to openers."""
        self._proxy = proxy
        self._table = table
        self._control = control
        self._rendering = rendering

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """List every session that the caller sees, oldest first."""
        caller = caller_of(request)
        self._control.find(caller.default, caller)
        response.media = {
            "sessions": [
                self._rendering.session(each)
                for each in self._table.list()
                if caller.sees(each.id)
            ]
        }

    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        """Open a session."""
        body = read_object(request)
        label = optional(body, "label", str) or ""
        if len(label) > _LONGEST_LABEL or not label.isprintable():
            raise falcon.HTTPBadRequest(
                description=f"'label' must be up to {_LONGEST_LABEL} printable letters"
            )
        wants_proxy = optional(body, "wants_proxy", bool) is True
        if wants_proxy:  # a session that is open already would have to end again
            self._proxy.prepare()
        session = self._control.open(
            Opening(
                root_pid=_process_id(body, "root_pid"),
                role=optional(body, "role", str),
                label=label,
                reaper=_process_id(body, "reaper_pid"),
                restrictions=body.get("restrictions"),
                holds_calls=optional(body, "holds_calls", bool) is True,
                takes_files=optional(body, "takes_files", bool) is not False,
            ),
            caller_of(request),
        )
        response.status = falcon.HTTP_201
        document = self._rendering.session(session)
        if wants_proxy:
            offer = self._proxy.offer(session.id, session.role)
            document = {**document, "proxy": offer}
        response.media = document


class SessionItem:
    """One session: `GET`, `PATCH` `{role}` or `{allow_write}`, `DELETE`."""

    def __init__(
        self,
        control: SessionService,
        rendering: Rendering,
        refused: Callable[[str], Sequence[Mapping[str, object]]],
    ) -> None:
        """Find and change it with `control`; `refused` counts what was of its calls."""
        self._control = control
        self._rendering = rendering
        self._refused = refused

    def on_get(
        self, request: falcon.Request, response: falcon.Response, session_id: str
    ) -> None:
        """Show the session, and what was refused of its system calls."""
        session = found(self._control, session_id, caller_of(request))
        refused = self._refused(session.id)
        response.media = {**self._rendering.session(session), "refused_calls": refused}

    def on_patch(
        self, request: falcon.Request, response: falcon.Response, session_id: str
    ) -> None:
        """Change the role, or let it change files below one more path."""
        caller = caller_of(request)
        session = found(self._control, session_id, caller)
        body = read_object(request)
        if body.get("restrictions") is not None:
            raise UsageError("a session's restrictions stay as they are to its end")
        path = optional(body, "allow_write", str)
        if path is not None:
            changed = self._control.allow_write(session, path, caller)
            response.media = self._rendering.session(changed)
            return
        role = required(body, "role", str)
        changed = self._control.set_role(session.id, role, caller)
        response.media = self._rendering.session(changed)

    def on_delete(
        self, request: falcon.Request, response: falcon.Response, session_id: str
    ) -> None:
        """End the session: a supervisor its own once it is empty, a person any.

        What still runs in it is killed when a person ends it: it would be free.
        """
        caller = caller_of(request)
        session = found(self._control, session_id, caller)
        _refuse_default(session)
        if caller.is_outside:
            self._control.kill(session.id, caller.only_of)
        else:
            self._control.close(session.id)
        response.status = falcon.HTTP_204


class SessionAction:
    """`POST /api/sessions/{id}/freeze`, `unfreeze` and `kill`."""

    def __init__(self, control: SessionService, rendering: Rendering) -> None:
        """Find and change it with `control`."""
        self._control = control
        self._rendering = rendering

    def on_post(
        self,
        request: falcon.Request,
        response: falcon.Response,
        session_id: str,
        action: str,
    ) -> None:
        """Do it, and show how the session is after it."""
        read_object(request)
        if action not in _ACTIONS:
            raise falcon.HTTPNotFound(description=f"no action {action!r}")
        caller = caller_of(request)
        session = found(self._control, session_id, caller)
        match action:
            case "freeze":
                self._control.freeze(session.id, caller.only_of)
            case "unfreeze":
                self._control.unfreeze(session.id, caller.only_of)
            case _:
                _refuse_default(session)
                self._control.kill(session.id, caller.only_of)
        session = found(self._control, session_id, caller)
        response.media = self._rendering.session(session)


def _process_id(body: Mapping[str, Any], name: str) -> int | None:
    value = optional(body, name, int)
    if value is not None and value > _LARGEST_PID:
        raise UsageError(f"there is no process {value}")
    return value


def found(control: SessionService, session_id: str, caller: Caller) -> Session:
    """The session that a caller means; 404 when it is not there for that caller."""
    session = control.find(session_id, caller)
    if session is None:
        raise falcon.HTTPNotFound(description=f"there is no session {session_id!r}")
    return session


def _refuse_default(session: Session) -> None:
    if session.is_default:
        raise UsageError(
            "the default session has no processes of its own and cannot end; "
            "freeze it instead"
        )
