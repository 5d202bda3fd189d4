"""The shell wrapper's question, as it comes over the shell socket.

One line, `REDLANE 1 <cwd length> <before length> <body length>`, then the working
directory, what the same shell has run before, and the command with the arguments that
follow it, each after a NUL. Nothing comes after that.

A connection that begins with LANE is none of the wrapper's: more than one question is
asked on it.
"""

import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from redlane.control.server import MOST_BODY_BYTES

__all__ = ["LANE", "Frame", "FrameError", "LaneBegunError", "read_frame"]

LANE = b"REDLANE LANE 1\n"
"""How a lane begins."""

_LENGTH = rb"(0|[1-9][0-9]{0,7})"
_HEAD = re.compile(rb"REDLANE 1 %b %b %b\n" % (_LENGTH, _LENGTH, _LENGTH))
_LONGEST_HEAD = 40
_LONGEST_DIRECTORY = 64 * 1024
_PIECE = 64 * 1024


class FrameError(Exception):
    """What was sent is no question."""


class LaneBegunError(Exception):
    """It is a lane; `begun` is what has come of it behind the first line."""

    def __init__(self, begun: bytes) -> None:
        """Keep what would be missed."""
        super().__init__("a lane")
        self.begun = begun


@dataclass(frozen=True, slots=True)
class Frame:
    """A question; `directory` is empty where the wrapper could not tell it."""

    directory: bytes
    before: bytes
    body: bytes


def read_frame(
    connection: socket.socket,
    seconds: float,
    admit: Callable[[int], None] = lambda _: None,
) -> Frame:
    """The question that `connection` sends; `admit` is told its length first.

    Raises FrameError for anything else, LaneBegunError for a lane, and OSError when it
    is not there in time.
    """
    deadline = time.monotonic() + seconds
    data = bytearray()
    lengths = None
    while lengths is None or len(data) < sum(lengths):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(_PIECE)
        if not piece:
            raise FrameError("the question ends too early")
        data += piece
        if lengths is None:
            lengths = _take_lengths(data)
            if lengths is not None:
                admit(sum(lengths))
    if len(data) > sum(lengths):
        raise FrameError("something follows the question")
    directory, before, _ = lengths
    return Frame(
        directory=bytes(data[:directory]),
        before=bytes(data[directory : directory + before]),
        body=bytes(data[directory + before :]),
    )


def _take_lengths(data: bytearray) -> tuple[int, int, int] | None:
    """Take the first line off `data`, once it is there."""
    found = _HEAD.match(data)
    if found is None:
        if data.startswith(LANE):
            raise LaneBegunError(bytes(data[len(LANE) :]))
        if len(data) >= _LONGEST_HEAD or b"\n" in data:
            raise FrameError("the first line is none of ours")
        return None
    directory, before, body = map(int, found.groups())
    if directory > _LONGEST_DIRECTORY or before + body >= MOST_BODY_BYTES:
        raise FrameError("the question is too long")
    del data[: found.end()]
    return directory, before, body
