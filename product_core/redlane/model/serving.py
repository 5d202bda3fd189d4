"""The seam between Redlane and a context of its own that a plugin serves.

It takes traffic in, on a socket say, has it judged as the content of one of the policy
format's contexts, and obeys the verdict.
"""

import socket
from pathlib import Path
from typing import Protocol

from redlane.model.policy import Context
from redlane.model.verdict import Verdict

__all__ = ["ContentJudge", "ServedContext"]


class ContentJudge(Protocol):
    """Judges what comes in, by the rules of whoever sent it; for several threads."""

    def judge(
        self, connection: socket.socket, context: Context, data: bytes
    ) -> Verdict:
        """The verdict, once what is flagged is decided; never an exception.

        The kernel says which process is at the other end of `connection`, a connected
        Unix socket, and so in which session it is: nothing that is sent does. Whatever
        cannot be told or judged is a Block.
        """
        ...


class ServedContext(Protocol):
    """A service that the daemon starts once it serves, and stops before it ends."""

    @property
    def name(self) -> str:
        """What it is called where it is listed; no context of the policy format."""
        ...

    def start(self, judge: ContentJudge, directory: Path) -> None:
        """Serve, in threads of its own, and return; what it raises is told.

        Sockets have their place in `directory`, the daemon's own: nobody else may enter
        it, unless the daemon serves every user.
        """
        ...

    def stop(self) -> None:
        """End every thread, and let go of everything."""
        ...
