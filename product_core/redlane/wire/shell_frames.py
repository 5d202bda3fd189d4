"""The shell wrapper's question, as it comes over the shell socket.

One line, `REDLANE 1 <cwd length> <before length> <body length>`, then the working
directory, what the same shell has run before, and the command with the arguments that
follow it, each after a NUL. Nothing comes after that. `REDLANE PREVIEW 1 …` asks only
whether the command would pass as it is; by `REDLANE AS-IT-IS 1 …` it then has passed.
Where the supervisor of a session asks about another process, the line ends with that
one's id.

A connection that begins with QUESTIONS_GREETING is none of the wrapper's: questions are
asked on it one after the other, in frames.
"""

import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from redlane.wire.limits import MOST_BODY_BYTES

__all__ = [
    "QUESTIONS_GREETING",
    "QuestionsBegunError",
    "ShellFrame",
    "ShellFrameError",
    "read_frame",
]

QUESTIONS_GREETING = b"REDLANE QUESTIONS 1\n"
"""How a connection begins on which many questions are to be asked."""

_PREVIEW, _AS_IT_IS = b"PREVIEW", b"AS-IT-IS"
_LENGTH = rb"(0|[1-9][0-9]{0,7})"
_PROCESS = rb"([1-9][0-9]{0,9})"
_HEAD = re.compile(
    rb"REDLANE (?:(PREVIEW|AS-IT-IS) )?1 %b %b %b(?: %b)?\n"
    % (*[_LENGTH] * 3, _PROCESS)
)
_LONGEST_HEAD = 64
_LONGEST_DIRECTORY = 64 * 1024
_PIECE = 64 * 1024


class ShellFrameError(Exception):
    """What was sent is no question."""


class QuestionsBegunError(Exception):
    """Many questions are to come; `begun` is what has come behind the first line."""

    def __init__(self, begun: bytes) -> None:
        """Keep what would be missed."""
        super().__init__("many questions are to come")
        self.begun = begun


@dataclass(frozen=True, slots=True)
class ShellFrame:
    """A question; `directory` is empty where the wrapper could not tell it.

    `is_preview`: nothing comes of the answer but the same question once more.
    `as_it_is`: so it is where the command does not pass as it is, and else that runs.
    `process` is whose command it is, where that is not who asks.
    """

    directory: bytes
    before: bytes
    body: bytes
    is_preview: bool = False
    process: int | None = None
    as_it_is: bool = False


@dataclass(frozen=True, slots=True)
class _Head:
    """The first line: the lengths of what follows."""

    directory: int
    before: int
    body: int
    kind: bytes
    process: int | None

    @property
    def length(self) -> int:
        """Of all that follows."""
        return self.directory + self.before + self.body


def read_frame(
    connection: socket.socket,
    seconds: float,
    admit: Callable[[int], None] = lambda _: None,
) -> ShellFrame:
    """The question that `connection` sends; `admit` is told its length first.

    Raises ShellFrameError for anything else, QuestionsBegunError where many questions
    are to come, and OSError when it is not there in time.
    """
    deadline = time.monotonic() + seconds
    data = bytearray()
    head = None
    while head is None or len(data) < head.length:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(_PIECE)
        if not piece:
            raise ShellFrameError("the question ends too early")
        data += piece
        if head is None:
            head = _take_head(data)
            if head is not None:
                admit(head.length)
    if len(data) > head.length:
        raise ShellFrameError("something follows the question")
    before = head.directory + head.before
    return ShellFrame(
        directory=bytes(data[: head.directory]),
        before=bytes(data[head.directory : before]),
        body=bytes(data[before:]),
        is_preview=head.kind == _PREVIEW,
        process=head.process,
        as_it_is=head.kind == _AS_IT_IS,
    )


def _take_head(data: bytearray) -> _Head | None:
    """Take the first line off `data`, once it is there."""
    found = _HEAD.match(data)
    if found is None:
        if data.startswith(QUESTIONS_GREETING):
            raise QuestionsBegunError(bytes(data[len(QUESTIONS_GREETING) :]))
        if len(data) >= _LONGEST_HEAD or b"\n" in data:
            raise ShellFrameError("the first line is none of ours")
        return None
    kind, *lengths, process = found.groups()
    directory, before, body = map(int, lengths)
    if directory > _LONGEST_DIRECTORY or before + body >= MOST_BODY_BYTES:
        raise ShellFrameError("the question is too long")
    del data[: found.end()]
    return _Head(
        directory,
        before,
        body,
        kind=kind or b"",
        process=None if process is None else int(process),
    )
