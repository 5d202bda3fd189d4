"""What the attempts aim at: all of it is the doctor's own, but the daemon.

It stands outside of the session, and is told to the side within as one line of JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

__all__ = ["Targets"]


@dataclass(frozen=True, slots=True)
class Targets:
    """Where each attempt goes to.

    `token` is in every trace that an attempt leaves. `bystander` is a process outside,
    `abstract_socket` the name of a socket of it, `port` is its origin's. `own_file` is
    a file that is not there, among the daemon's, `file_elsewhere` one where the role
    lets nobody write, `hidden` something that it lets nobody read, and `service` a Unix
    socket that it lets nobody connect to; None, and why there is none.
    """

    token: str
    bystander: int
    daemon: int
    abstract_socket: str
    port: int
    shell_copy: str
    own_file: str
    file_elsewhere: str | None = None
    why_nowhere: str = ""
    hidden: str | None = None
    why_nothing: str = ""
    service: str | None = None
    why_no_service: str = ""
    holds_connections: bool = False
    intercepting: bool = False
    no_proxy: str = ""
    named: Sequence[str] = ()
    egress: str = "any"

    def line(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def of(cls, line: str) -> "Targets":
        """Out of what `line` gave."""
        return cls(**json.loads(line))
