"""A real bash that runs what it is given and reports how each command ended.

It is interactive, with job control, but reads its commands from a pipe that only we
write to. A command has the terminal as its standard input and our descriptors are
hidden from it. A shell that was made to close them all the same would go on reading
from the terminal by itself: it is ended.
"""

import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import socketpair
from typing import NoReturn, Self

from redlane.contexts.shell.running.environment import clean_environment
from redlane.contexts.shell.running.shell_state import ShellState
from redlane.messages import tell

__all__ = ["EndedError", "GuardedShell"]

_SHELL = ("/bin/bash", "--norc", "--noprofile", "--noediting", "+H", "-i")
_BEGIN = b"set +o history; export -n PS1 PS2\n"
_STATE = b"\\builtin declare -p; \\builtin declare -f; \\builtin printf 'set --'; "
_LOOK_SECONDS, _LOST_SECONDS, _POLL_SECONDS = 0.05, 0.5, 0.005


class EndedError(Exception):
    """The shell has ended with `status`, as wait(2) and subprocess give it."""

    def __init__(self, status: int) -> None:
        """`status` is negative for a signal."""
        super().__init__(f"the shell has ended with {status}")
        self.status = status


class GuardedShell:
    """One shell on a terminal; use it as a context.

    Must be made while this process has the terminal: bash takes it over from there.
    """

    def __init__(self, terminal: int, shims: Mapping[bytes, bytes]) -> None:
        """`terminal` is an open descriptor of it, and is standard input too.

        `shims` are variables that make its shells guarded ones.
        """
        self._terminal = terminal
        self._group = os.getpgrp()
        self._reports, status = os.pipe()
        # Unlike a pipe, a socket cannot be opened again below /proc and written to.
        commands, self._commands = (end.detach() for end in socketpair())
        self._report = (
            b"{ \\builtin printf '%%s\\0' \"$?\"; %s"
            b"\\builtin printf ' %%q' \"$@\"; \\builtin printf '\\n\\0'; } >&%d\n"
            % (_STATE, status)
        )
        self._state = ShellState()
        self._around = b" <&%d %d<&- %d>&-\n" % (terminal, terminal, status)
        self._process = subprocess.Popen(
            _SHELL,
            stdin=commands,
            env={**clean_environment(), **shims, b"PS1": b"", b"PS2": b""},
            pass_fds=(status, terminal),
        )
        os.close(status)
        os.close(commands)
        self._called = b""
        self._signals = {
            number: signal.signal(number, signal.SIG_IGN)
            for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP)
        }
        with self._terminal_back():
            self._write(_BEGIN + self._report)
            self._await_report()
        self._called = self._command_line()

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the shell end as at the end of its input."""
        if self._process.poll() is None:
            with suppress(EndedError):
                self.close(0)
        os.close(self._reports)
        for number, handler in self._signals.items():
            signal.signal(number, handler)

    @property
    def state(self) -> bytes:
        """Text that sets again what the shell's commands have set."""
        return self._state.text

    @property
    def directory(self) -> str | None:
        """The working directory of the shell, None when it is gone."""
        try:
            return str(Path(f"/proc/{self._process.pid}/cwd").readlink())
        except OSError:
            return None

    def run(self, text: bytes, status: int) -> int:
        """Run `text` with `$?` as `status`; the status it ends with.

        Raises EndedError when the shell itself has ended by it.
        """
        command = b"\\builtin eval " + _quoted(text) + self._around
        with self._terminal_back():
            self._give_terminal(os.getpgid(self._process.pid))
            self._write(b"set +H\n" + _status(status) + command + self._report)
            return self._await_report()

    def close(self, status: int) -> int:
        """End the shell's commands, `$?` as `status`; raises EndedError."""
        with self._terminal_back():
            with suppress(OSError):
                self._give_terminal(os.getpgid(self._process.pid))
            self._write(_status(status))
            os.close(self._commands)
            raise EndedError(self._process.wait())

    def _write(self, text: bytes) -> None:
        try:
            while text:
                text = text[os.write(self._commands, text) :]
        except BrokenPipeError:
            raise EndedError(self._process.wait()) from None

    def _await_report(self) -> int:
        """The status that the shell reports; raises EndedError when it will not."""
        report = b""
        while not (report.endswith(b"\0") and report.count(b"\0") > 1):
            if not select.select([self._reports], [], [], _LOOK_SECONDS)[0]:
                self._look()
                continue
            piece = os.read(self._reports, 65536)
            if not piece:
                self._await_end()
            report += piece
        last, state = report.split(b"\0")[-3:-1]
        self._state.take(state)
        return int(last) if last.isdigit() else 1

    def _command_line(self) -> bytes:
        try:
            return Path(f"/proc/{self._process.pid}/cmdline").read_bytes()
        except OSError:
            return b""

    def _reads_commands(self) -> bool:
        """Whether anybody can still read what we write."""
        commands = select.poll()
        commands.register(self._commands, 0)
        return not commands.poll(0)

    def _look(self) -> None:
        """End a shell that has lost our commands without becoming another program."""
        if not self._reads_commands() and self._command_line() == self._called:
            self._cut_off()

    def _cut_off(self) -> None:
        tell(b"the shell was cut off from its guard; ended")
        self._process.kill()

    def _await_end(self) -> NoReturn:
        """The shell reports no more: it ends, or it has become another program."""
        deadline = time.monotonic() + _LOST_SECONDS
        while self._process.poll() is None and self._reads_commands():
            if time.monotonic() > deadline:
                self._cut_off()
            time.sleep(_POLL_SECONDS)
        self._look()
        raise EndedError(self._process.wait())

    def _give_terminal(self, group: int) -> None:
        with suppress(OSError):
            os.tcsetpgrp(self._terminal, group)

    @contextmanager
    def _terminal_back(self) -> Iterator[None]:
        """Whatever happens, we have the terminal afterwards."""
        try:
            yield
        finally:
            self._give_terminal(self._group)


def _status(status: int) -> bytes:
    """The line that makes `$?` what it was."""
    return b"(exit %d)\n" % status if status else b""


def _quoted(text: bytes) -> bytes:
    """`text` as one word of a shell's; in Latin-1 every byte is a character."""
    return shlex.quote(text.decode("latin-1")).encode("latin-1")
