"""One question to the daemon, over its shell socket, within a deadline."""

import _socket
import posix
import time

from .answer import MalformedError, Reply
from .locate import Place
from .message import refuse, tell

__all__ = ["ask"]

_SOCKET = b"shell.sock"
SCRIPT_MAX = 8 * 1024 * 1024
_LONGEST_ADDRESS = 107
_LONGEST_DIRECTORY = 4096


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
    if reply.role is not None and not place.supervises:
        refuse(b"its system calls are to be supervised: start a new shell; not run")
    place.role = reply.role
    return verdict


def _limit(link: _socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    link.settimeout(left)


def _reach(place: Place, deadline: float) -> _socket.socket:
    parent, slash, _ = place.socket.rpartition(b"/")
    path = parent + slash + _SOCKET
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    directory = -1
    try:
        if len(path) > _LONGEST_ADDRESS:
            flags = posix.O_PATH | posix.O_DIRECTORY | posix.O_CLOEXEC
            directory = posix.open(parent, flags)
            path = b"/proc/self/fd/%d/%s" % (directory, _SOCKET)
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
    """The lengths, the directory (empty when it cannot be told), and what is asked."""
    try:
        directory = posix.getcwdb()
    except OSError:
        directory = b""
    if not directory.startswith(b"/") or len(directory) >= _LONGEST_DIRECTORY:
        directory = b""
    lengths = len(directory), len(before), len(question)
    return b"REDLANE 1 %d %d %d\n" % lengths + directory + before + question


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
    held = False
    while True:
        _limit(link, deadline)
        piece = link.recv(65536)
        if not piece:
            raise OSError
        reply.add(piece)
        review = None if held else reply.held()
        if review is not None:
            held = True
            deadline = time.monotonic() + review[1] + timeout
            told = b"held for review %s: redlane review allow %s"
            tell(told % (review[0], review[0]))
        if reply.complete():
            return
