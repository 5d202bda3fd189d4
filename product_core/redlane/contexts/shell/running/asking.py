"""One question to the daemon, over its shell socket, within a deadline."""

import os
import socket
import time
from pathlib import Path

from redlane.client.locating import DaemonAddress
from redlane.contexts.shell.running.answers import MalformedError, Reply
from redlane.messages import refuse, tell
from redlane.paths import SHELL_SOCKET
from redlane.wire.sockets import connect_socket

__all__ = ["SCRIPT_MAX", "ask"]

SCRIPT_MAX = 8 * 1024 * 1024
"""Bytes of a command or script that is judged."""

_HELD = b"held for review %s: %s decides within %d s (redlane review show %s)"
_LONGEST_DIRECTORY = 4096
_PIECE = 64 * 1024


def ask(place: DaemonAddress, question: bytes, before: bytes = b"") -> bytes | None:
    """None to run the command, or what to run in its place; else raises EndingError.

    `before` is text that the same shell has run, so that what it set is known.
    """
    if len(question) > SCRIPT_MAX:
        refuse(b"the command is longer than %d bytes; not run" % SCRIPT_MAX)
    deadline = time.monotonic() + place.timeout
    with _reach(place) as link:
        try:
            _send(link, _request(question, before), deadline)
            return _receive(link, deadline, place.timeout)
        except TimeoutError:
            refuse(b"the daemon did not answer in time; not run")
        except MalformedError:
            refuse(b"the daemon's answer is not understood; not run")
        except OSError:
            refuse(b"the daemon closed the connection without a verdict; not run")


def _reach(place: DaemonAddress) -> socket.socket:
    path = Path(os.fsdecode(place.socket)).with_name(SHELL_SOCKET)
    try:
        return connect_socket(path, place.timeout)
    except OSError as error:
        refuse(
            b"no daemon at %s (%s): start it with `redlane start`; not run"
            % (place.socket, str(error.strerror or error).encode())
        )


def _limit(link: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    link.settimeout(left)


def _request(question: bytes, before: bytes) -> bytes:
    """The lengths, the directory (empty when it cannot be told), and what is asked."""
    try:
        directory = os.fsencode(Path.cwd())
    except OSError:
        directory = b""
    if not directory.startswith(b"/") or len(directory) >= _LONGEST_DIRECTORY:
        directory = b""
    lengths = len(directory), len(before), len(question)
    return b"REDLANE 1 %d %d %d\n" % lengths + directory + before + question


def _send(link: socket.socket, request: bytes, deadline: float) -> None:
    """Send all of it; a daemon that stops listening may have answered already."""
    _limit(link, deadline)
    try:
        link.sendall(request)
    except TimeoutError:
        raise
    except OSError:
        return


def _receive(link: socket.socket, deadline: float, timeout: float) -> bytes | None:
    """The verdict; one that is held for review is waited for as long as that may be."""
    reply, held = Reply(), False
    while True:
        piece = _piece(link, deadline)
        if not piece:
            raise ConnectionError
        reply.add(piece)
        review = None if held else reply.held()
        if review is not None:
            held = True
            deadline = time.monotonic() + review[1] + timeout
            tell(_HELD % (review[0], review[2], review[1], review[0]))
        if reply.complete():
            return _verdict(reply)


def _piece(link: socket.socket, deadline: float) -> bytes:
    """A piece more; what has come counts, however late: this may have been stopped."""
    try:
        return link.recv(_PIECE, socket.MSG_DONTWAIT)
    except BlockingIOError:
        _limit(link, deadline)
        return link.recv(_PIECE)


def _verdict(reply: Reply) -> bytes | None:
    """What is run from here runs in no session, so nothing would supervise it."""
    verdict = reply.verdict()
    if verdict is not None and reply.why:
        tell(reply.why)
    if reply.role:
        refuse(b"its system calls are to be supervised: start a new shell; not run")
    return verdict
