"""What a daemon that does not start tells those whose connections wanted it to.

systemd starts the daemon for a connection. One that was left unanswered would start
the next daemon at once, to fail likewise; and who waits is to learn why.
"""

import json
import select
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

from redlane.control.documents import finding_document
from redlane.daemon.listeners import SHELL
from redlane.daemon.sockets import PassedSocket
from redlane.judging.shell_answers import block_line
from redlane.membership.callers import Admission
from redlane.membership.peers import Peer, peer_of
from redlane.model.problem import Finding
from redlane.processes import SUPERVISOR, ancestry

__all__ = ["turn_away"]

_ANSWER_SECONDS = 2.0
_READ_SECONDS = 1.0
_PIECE = 64 * 1024
_LOAD_ERRORS = "422 Unprocessable Entity"
_UNAVAILABLE = "503 Service Unavailable"


def turn_away(
    passed: Sequence[PassedSocket],
    admission: Admission,
    error: str,
    findings: Sequence[Finding] = (),
) -> None:
    """Answer every connection that waits with why nothing runs; a command is blocked.

    The `findings` are for those only who may reload policies.
    """
    deadline = time.monotonic() + _ANSWER_SECONDS
    answered = []
    for name, listener in passed:
        for connection in _waiting(listener, deadline):
            if name == SHELL:
                answer = block_line(error)
            else:
                told = findings if _may_reload(connection, admission) else ()
                status = _LOAD_ERRORS if findings else _UNAVAILABLE
                answer = _refusal(status, error, told)
            with suppress(OSError):
                connection.settimeout(max(0.01, deadline - time.monotonic()))
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
            answered.append(connection)
    _read_out(answered)


def _waiting(listener: socket.socket, deadline: float) -> Iterator[socket.socket]:
    """Each connection that was not accepted yet, for as long as there is time."""
    if listener.fileno() < 0:  # closed: it was served
        return
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while time.monotonic() < deadline and poll.poll(0):
        try:
            yield listener.accept()[0]
        except OSError:
            return


def _may_reload(connection: socket.socket, admission: Admission) -> bool:
    """Whether it is an administrator who asks, from outside all sessions."""
    try:
        peer = peer_of(connection)
    except OSError:
        return False
    with closing(peer):
        known = admission.admits(peer) and not admission.bounds(peer)
        return known and _is_outside(peer)


def _is_outside(peer: Peer) -> bool:
    chain = ancestry(peer.pid)
    if chain is None or not peer.alive:
        return False
    return not any(each.name == SUPERVISOR for each in chain.processes)


def _refusal(status: str, error: str, findings: Sequence[Finding]) -> bytes:
    document = {"error": error, "errors": [*map(finding_document, findings)]}
    body = json.dumps(document).encode()
    head = (
        f"HTTP/1.1 {status}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body


def _read_out(connections: Sequence[socket.socket]) -> None:
    """Let each client send the rest of its question before the connection ends."""
    deadline = time.monotonic() + _READ_SECONDS
    for connection in connections:
        with connection, suppress(OSError):
            left = deadline - time.monotonic()
            while left > 0:
                connection.settimeout(left)
                if not connection.recv(_PIECE):
                    break
                left = deadline - time.monotonic()
