"""`/api/pins`: the tools of MCP servers as they were seen first, and what is not so."""

from collections.abc import Iterator

import falcon

from redlane.control.access import caller_of
from redlane.control.bodies import read_object, required
from redlane.errors import UsageError
from redlane.gate import Gate
from redlane.judging.pin_service import pin_policy, pin_record
from redlane.membership.callers import Caller
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.sessions.service import SessionService
from redlane.state.pin import Pin, PinnedServer, PinsError, ToolFinding
from redlane.state.pin_book import told
from redlane.state.pins import Pins

__all__ = ["PinCollection", "PinItem"]

Document = dict[str, object]


class PinCollection:
    """`GET` lists the servers that the caller sees, and the problems with reading."""

    def __init__(self, pins: Pins) -> None:
        """Show `pins`."""
        self._pins = pins

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """List them, those first that were seen first."""
        servers, problems = [], []
        for owner in _owners(self._pins, caller_of(request)):
            try:
                found = self._pins.servers(owner)
            except PinsError as error:
                problems.append(str(error))
                continue
            servers += [_server_document(each, owner) for each in found]
        response.media = {"servers": servers, "problems": problems}


class PinItem:
    """`GET` shows a server whole, by its id or that of something that was found.

    `POST` `{decision: "accept"}` pins what was found, `DELETE` forgets it: what was
    found, or a server with all that is pinned of it. They are the caller's own, and for
    administrators with `user` those of another.
    """

    def __init__(self, pins: Pins, gate: Gate, sessions: SessionService) -> None:
        """Show and change `pins`; `gate` writes down who did."""
        self._pins = pins
        self._gate = gate
        self._sessions = sessions

    def on_get(
        self, request: falcon.Request, response: falcon.Response, pin_id: str
    ) -> None:
        """Show the server."""
        owner = _owner(request, pin_id)
        for server in self._pins.servers(owner):
            if pin_id in {server.id, server.revision, *server.findings}:
                response.media = _whole_document(server, owner)
                return
        raise _nothing(pin_id)

    def on_post(
        self, request: falcon.Request, response: falcon.Response, pin_id: str
    ) -> None:
        """Accept exactly what the id stands for; 404 when it is that no longer."""
        if required(read_object(request), "decision", str) != "accept":
            raise falcon.HTTPBadRequest(description="'decision' must be 'accept'")
        owner = _owner(request, pin_id)
        found = self._pins.find(owner, pin_id)
        if not found:
            raise _nothing(pin_id)
        name, tools = found[0].server.name, [each.tool for each in found]
        self._write_down(request, name, tools, "accepted")
        self._pins.accept(owner, pin_id)
        response.media = {"server": name, "tools": tools}

    def on_delete(
        self, request: falcon.Request, response: falcon.Response, pin_id: str
    ) -> None:
        """Forget it; a server is pinned anew when it is seen next."""
        try:
            name, tools = self._pins.forget(_owner(request, pin_id), pin_id)
        except UsageError as error:
            raise _nothing(pin_id) from error
        self._write_down(request, name, tools, "forgotten")
        response.media = {"server": name, "tools": tools}

    def _write_down(
        self, request: falcon.Request, server: str, tools: list[str], what: str
    ) -> None:
        """Who decided, in the log of what they run in no session."""
        caller = caller_of(request)
        session = self._sessions.find(caller.default, caller)
        if session is None:
            raise falcon.HTTPNotFound(description="there is no session of the caller's")
        count = f"{len(tools)} tools of " if len(tools) > 1 else ""
        one = f"tool {tools[0]!r} of " if len(tools) == 1 else ""
        verdict = Verdict(
            Decision.ALLOW,
            f"{one}{count}MCP server {server!r} {what} by {caller.name}",
            pin_policy(what),
            role=session.role,
            context=Context.MCP.value,
        )
        self._gate.record(pin_record(server, tools), session, verdict, pid=caller.pid)


def _owners(pins: Pins, caller: Caller) -> Iterator[int | None]:
    """The users whose pins the caller sees."""
    if caller.only_of is not None:
        return iter([caller.owner])
    return iter(dict.fromkeys([caller.owner, *pins.owners()]))


def _owner(request: falcon.Request, pin_id: str) -> int | None:
    """Whose pins are meant; another user's are not there but for administrators."""
    caller = caller_of(request)
    user = request.get_param_as_int("user", min_value=0)
    if user is None or user == caller.owner:
        return caller.owner
    if caller.only_of is not None or caller.owner is None:
        raise _nothing(pin_id)
    return user


def _server_document(server: PinnedServer, owner: int | None) -> Document:
    return {
        "id": server.id,
        "name": server.name,
        "started": server.started,
        "user": owner,
        "seen": server.seen,
        "session": server.session or None,
        "tools": len(server.tools),
        "revision": server.revision or None,
        "findings": [
            _finding_document(server, tool, found)
            for tool, found in server.findings.values()
        ],
    }


def _whole_document(server: PinnedServer, owner: int | None) -> Document:
    tools = [_tool_document(server, *each) for each in server.tools.items()]
    return {**_server_document(server, owner), "tools": tools}


def _tool_document(server: PinnedServer, name: str, pin: Pin) -> Document:
    found = pin.found
    return {
        "name": name,
        "definition": pin.text,
        "since": pin.since or None,
        "found": None
        if found is None
        else {**_finding_document(server, name, found), "definition": found.text},
    }


def _finding_document(server: PinnedServer, tool: str, found: ToolFinding) -> Document:
    return {
        "id": found.id(server.key, tool),
        "tool": tool,
        "kind": found.kind.value,
        "reason": told(server.name, server.key, tool, found),
        "seen": found.seen,
        "session": found.session or None,
    }


def _nothing(pin_id: str) -> falcon.HTTPNotFound:
    return falcon.HTTPNotFound(
        description=f"nothing is pinned, or waits, under {pin_id!r}: it may have "
        "changed since (see: redlane mcp pins list)"
    )
