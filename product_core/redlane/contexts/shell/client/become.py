"""Becoming the shell: the same process, so that its signals and status are bash's."""

import posix

from .environment import clean_environment
from .locate import Place, own_directory
from .message import refuse
from .options import Invocation

__all__ = ["Shell"]

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes longer to import than all the rest
    from typing import NoReturn

_BASH, _SH = b"/bin/bash", b"/bin/sh"


class Shell:
    """The real shell to become, with the options of this invocation.

    `closed` are the descriptors that were filled at the start; the shell finds them
    closed, as the caller left them.
    """

    def __init__(
        self, invocation: Invocation, program: bytes, closed: list[int]
    ) -> None:
        """`program` is the name that this program was called by."""
        self._invocation = invocation
        self._program = program
        self._closed = closed
        self.place: Place | None = None
        """Who was asked, and wants perhaps that system calls are supervised."""

    def run_command(self, command: bytes) -> "NoReturn":
        """Run a command string, with the arguments that came after it."""
        to = self._invocation
        rest = to.arguments if to.kind == "command" else []
        self._become([b"-c", b"--", command, *rest])

    def run_file(self, path: bytes) -> "NoReturn":
        """Run a script file with its arguments."""
        self._become([b"--", path, *self._invocation.arguments])

    def run_input(self, file: int) -> "NoReturn":
        """Run the script in an open file, as standard input."""
        posix.dup2(file, 0, inheritable=True)
        self._closed = [number for number in self._closed if number]
        self._become(self._input_words())

    def run_information(self) -> "NoReturn":
        """Let the shell tell about itself."""
        self._become([self._invocation.subject])

    def run_terminal(self, place: Place) -> "NoReturn":
        """Become the terminal front."""
        self._become_program([b"--socket", place.socket])

    def run_stream(self, place: Place, begun: int) -> "NoReturn":
        """Become the front that judges and runs whole commands one after the other."""
        posix.set_inheritable(begun, True)  # noqa: FBT003  # positional only
        shell = _SH if self._invocation.is_sh else _BASH
        stream = [b"--socket", place.socket, b"--stream", b"%d" % begun, b"--", shell]
        self._become_program([*stream, *self._words(), *self._input_words()])

    def _words(self) -> list[bytes]:
        to = self._invocation
        norc = [b"--norc"] if to.add_norc and not to.is_sh else []
        return [to.called, *norc, *to.options]

    def _input_words(self) -> list[bytes]:
        to = self._invocation
        return [b"-s", b"--", *to.arguments] if to.from_input else []

    def _become(self, rest: list[bytes]) -> "NoReturn":
        shell = _SH if self._invocation.is_sh else _BASH
        words = [*self._words(), *rest]
        if self.place is None or self.place.role is None:
            self._execute(shell, words)
        # In a session of its own, where its system calls are held.
        run = [b"redlane", b"run", b"--role=" + self.place.role, b"--label"]
        run += [b"redlane-sh", b"--", shell, *words[1:]]
        variables = {b"REDLANE_SOCKET": self.place.socket}
        path = own_directory(self._program) + b"/redlane"
        self._execute(path, run, variables)

    def _become_program(self, rest: list[bytes]) -> "NoReturn":
        """The command `redlane` beside this program, which every installation has."""
        path = own_directory(self._program) + b"/redlane"
        self._execute(path, [b"redlane", b"shell", *rest])

    def _execute(
        self,
        path: bytes,
        words: list[bytes],
        variables: "dict[bytes, bytes] | None" = None,
    ) -> "NoReturn":
        for number in self._closed:
            posix.set_inheritable(number, False)  # noqa: FBT003  # positional only
        try:
            posix.execve(path, words, {**clean_environment(), **(variables or {})})
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            refuse(b"%s: %s; not run" % (path, reason.encode()))
