"""One question to the daemon, over its Unix socket, within a deadline."""

import _socket
import posix
import time

from .answer import MalformedError, Reply
from .locate import Place
from .message import refuse, tell

__all__ = ["ask"]

SCRIPT_MAX = 8 * 1024 * 1024
_LONGEST_ADDRESS = 107
_PLAIN = frozenset(range(0x21, 0x7F)) - {ord("%")}


def ask(place: Place, question: bytes, before: bytes = b"") -> bytes | None:
    """None to run the command, or what to run in its place; a refusal ends.

    `before` is text that the same shell has run, so that what it set is known.
    """
    if len(question) > SCRIPT_MAX:
        refuse(b"the command is longer than %d bytes; not run" % SCRIPT_MAX)
    deadline = time.monotonic() + place.timeout
    link = _reach(place, deadline)
    reply = Reply()
    try:
        _send(link, _request(question, before))
        _receive(link, reply, deadline, place.timeout)
        verdict = reply.verdict()
    except TimeoutError:
        refuse(b"the daemon did not answer in time; not run")
    except MalformedError:
        refuse(b"the daemon's answer is not understood; not run")
    except OSError:
        refuse(b"the daemon closed the connection without a verdict; not run")
    link.close()
    return verdict


def _limit(link: _socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    link.settimeout(left)


def _reach(place: Place, deadline: float) -> _socket.socket:
    path = place.socket
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    directory = -1
    try:
        if len(path) > _LONGEST_ADDRESS:
            parent, _, name = path.rpartition(b"/")
            flags = posix.O_PATH | posix.O_DIRECTORY | posix.O_CLOEXEC
            directory = posix.open(parent, flags)
            path = b"/proc/self/fd/%d/%s" % (directory, name)
        _limit(link, deadline)
        link.connect(path)
    except OSError as error:
        refuse(
            b"no daemon at %s (%s): start it with `redlane start`; not run"
            % (place.socket, str(error.strerror or error).encode())
        )
    if directory >= 0:
        posix.close(directory)
    return link


def _request(question: bytes, before: bytes) -> bytes:
    head = (
        b"POST /api/shell HTTP/1.1\r\nHost: redlane\r\nConnection: close\r\n"
        b"Content-Type: application/octet-stream\r\nContent-Length: %d\r\n"
        % (len(before) + len(question))
    )
    if before:
        head += b"X-Redlane-Before: %d\r\n" % len(before)
    try:
        directory = posix.getcwdb()
    except OSError:
        directory = b""
    if directory.startswith(b"/"):
        shown = (b"%c" % c if c in _PLAIN else b"%%%02X" % c for c in directory)
        head += b"X-Redlane-Cwd: " + b"".join(shown) + b"\r\n"
    return head + b"\r\n" + before + question


def _send(link: _socket.socket, request: bytes) -> None:
    """Send all of it; a daemon that stops listening may have answered already."""
    try:
        link.sendall(request)
    except TimeoutError:
        raise
    except OSError:
        return


def _receive(
    link: _socket.socket, reply: Reply, deadline: float, timeout: float
) -> None:
    held = complete = False
    while not complete:
        _limit(link, deadline)
        piece = link.recv(65536)
        if not piece:
            raise OSError
        complete = reply.add(piece)
        review = None if held or reply.status != 200 else reply.held()  # noqa: PLR2004  # HTTP's OK
        if review is None:
            continue
        held = True
        deadline = time.monotonic() + review[1] + timeout
        tell(b"held for review %s: redlane review allow %s" % (review[0], review[0]))
