"""What stands outside of the session to be aimed at, and is nobody else's.

A process that waits, a socket, an origin, a directory with a copy of a shell. All of
it ends with the block.
"""

import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from redlane.doctor.origin import origin

__all__ = ["Bystander", "bystander"]

_SHELL = "/bin/sh"
_WAIT = "import sys; sys.stdin.read()"


@dataclass(frozen=True, slots=True)
class Bystander:
    """The doctor's own things; `token` is in the name of each."""

    token: str
    pid: int
    abstract_socket: str
    port: int
    shell_copy: Path


@contextmanager
def bystander() -> Iterator[Bystander]:
    """Things to aim at for as long as the block lasts."""
    token = f"redlane-doctor-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=token)))
        shell = place / "shell"
        shutil.copy(_SHELL, shell)
        process = stack.enter_context(_waiting())
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{token}")
        abstract.listen()
        yield Bystander(
            token=token,
            pid=process.pid,
            abstract_socket=token,
            port=stack.enter_context(origin()),
            shell_copy=shell,
        )


@contextmanager
def _waiting() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that ends with us, whatever becomes of us."""
    with subprocess.Popen(
        [sys.executable, "-ISc", _WAIT],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={},
    ) as process:
        yield process
