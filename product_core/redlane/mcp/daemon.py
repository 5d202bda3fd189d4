"""The daemon that a server's messages are judged by: found, and connected to."""

import os
from collections.abc import Callable
from pathlib import Path

from redlane.client.connection import QuestionConnection
from redlane.client.locating import locate
from redlane.client.questions import Questions
from redlane.errors import DaemonError
from redlane.mcp.usual_place import usual_place
from redlane.messages import EndingError
from redlane.paths import SHELL_SOCKET
from redlane.wire.shell_frames import QUESTIONS_GREETING
from redlane.wire.sockets import connect_socket

__all__ = ["find_socket", "questions"]

_SECONDS = 30.0
_MOST_AT_ONCE = 48


def find_socket() -> Path:
    """The shell socket of the daemon to ask; inside a session the kernel says which.

    Raises EndingError.
    """
    place = locate(usual_place(os.environ))
    return Path(os.fsdecode(place.socket)).with_name(SHELL_SOCKET)


def questions(find: Callable[[], Path] = find_socket) -> Questions:
    """Asks the daemon whose shell socket `find` finds, which may raise EndingError."""

    def connect() -> QuestionConnection:
        try:
            path = find()
        except EndingError as ending:
            raise DaemonError(str(ending)) from ending
        try:
            connection = connect_socket(path, _SECONDS)
        except OSError as error:
            why = error.strerror or str(error)
            raise DaemonError(
                f"none at {path}: {why}; start it with: redlane start"
            ) from error
        return QuestionConnection(connection, QUESTIONS_GREETING)

    return Questions(connect, _MOST_AT_ONCE)
