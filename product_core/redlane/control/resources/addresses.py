"""`/api/sessions/{id}/addresses`: names, for what supervises a session."""

import re
import socket

import falcon

from redlane.control.access import caller_of
from redlane.control.channel import PEER_KEY
from redlane.control.name_records import (
    NoNameServerError,
    has_no_addresses,
    records_of,
)
from redlane.control.resources.sessions import found
from redlane.judging.service import (
    Contents,
    JudgeRequest,
    JudgingService,
    Passing,
    Reading,
)
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.sessions.service import SessionService
from redlane.state.sessions import Session

__all__ = ["NameAddresses"]

_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_LONGEST = 253
_PORT = 53
_REFUSED = 5
"""The RCODE of a server that does not answer whoever asks (RFC 1035)."""
_UNKNOWN = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


class NameAddresses:
    """`GET` where a name leads, which a program of the session looks up.

    A name server is told what it is asked. So a name is judged first, as a connection
    to port 53 of it would be; nobody is asked about one that would not pass as it is.
    """

    def __init__(
        self, control: SessionService, judging: JudgingService, contents: Contents
    ) -> None:
        """Find sessions with `control`; `judging` judges what `contents` reads."""
        self._control = control
        self._judging = judging
        self._contents = contents

    def on_get(
        self, request: falcon.Request, response: falcon.Response, session_id: str
    ) -> None:
        """Answer addresses, each with NUL at its end: whoever reads them is in C.

        None: nobody was asked. An empty one alone: there is no such name. A name that
        no server answers for is a 503. With `records`, the number of a kind, it is
        those: the RCODE (a byte), how many (two), and they as a message has them.
        """
        session = found(self._control, session_id, caller_of(request))
        name = request.get_param("name", required=True)
        if len(name) > _LONGEST or not _NAME.fullmatch(name):
            raise falcon.HTTPBadRequest(description=f"{name!r} is no name of a host")
        kind = request.get_param_as_int("records")
        if kind is not None and not has_no_addresses(kind):
            raise falcon.HTTPBadRequest(description="'records' without addresses alone")
        data = f"CONNECT {name}:{_PORT} HTTP/1.1\n\n".encode()
        peer, hiding = request.env[PEER_KEY], self._control.hiding(session)
        asked = JudgeRequest(
            Context.NETWORK,
            data,
            lambda: Reading(self._contents.parse(Context.NETWORK, data, peer, hiding)),
            hold=False,
        )
        passes = self._passes(asked, session)
        response.content_type = "application/octet-stream"
        if kind is not None:
            response.data = _records(name, kind) if passes else _shown(_REFUSED)
            return
        addresses = _addresses(name) if passes else ()
        response.data = b"".join(each.encode() + b"\0" for each in addresses)

    def _passes(self, asked: JudgeRequest, session: Session) -> bool:
        """Whether the name server may be told; what it is told is an event."""
        if self._judging.passes(asked.read, session) is Passing.NO:
            return False
        verdict = self._judging.judge(asked, session).verdict
        return verdict.decision is Decision.ALLOW


def _shown(code: int, count: int = 0, data: bytes = b"") -> bytes:
    return bytes([code]) + count.to_bytes(2) + data


def _records(name: str, kind: int) -> bytes:
    try:
        found = records_of(name, kind)
    except NoNameServerError as error:
        raise falcon.HTTPServiceUnavailable(
            description=f"no name server answers for {name}: {error}"
        ) from error
    return _shown(found.code, found.count, found.data)


def _addresses(name: str) -> tuple[str, ...]:
    """What a name leads to; one that is empty: there is none of that name."""
    # With a point at its end it is not looked for below other names.
    whole = f"{name}." if "." in name else name
    try:
        found = socket.getaddrinfo(whole, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _UNKNOWN:
            return ("",)
        raise falcon.HTTPServiceUnavailable(
            description=f"no name server answers for {name}: {error.strerror}"
        ) from error
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))
