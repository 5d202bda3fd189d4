"""What can go wrong when the daemon is asked; each message is one whole line."""

from collections.abc import Mapping
from typing import Any

from redlane.errors import DaemonError

__all__ = ["NotRunningError", "RefusedError"]


class NotRunningError(DaemonError):
    """Nobody answers on the control socket."""

    exit_code = 3


class RefusedError(DaemonError):
    """The daemon answered with an error; `status` is HTTP's, `document` the body."""

    exit_code = 1

    def __init__(self, message: str, status: int, document: Mapping[str, Any]) -> None:
        """Keep what was answered beside the line for people."""
        super().__init__(message)
        self.status = status
        self.document = document
