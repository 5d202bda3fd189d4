"""A real bash that runs what it is given and reports how each command ended.

It is interactive, with job control, but reads its commands from a pipe that only we
write to. A command runs with the terminal as its standard input and never sees our two
descriptors, so nothing that it does can put a command past the guard.
"""

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from redlane.contexts.shell.client.environment import clean_environment
from redlane.contexts.shell.client.startup import quoted

__all__ = ["EndedError", "GuardedShell"]

_SHELL = ("/bin/bash", "--norc", "--noprofile", "--noediting", "+H", "-i")
_BEGIN = b"set +o history; export -n PS1 PS2"


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

    def __init__(self, terminal: int) -> None:
        """`terminal` is an open descriptor of it."""
        self._terminal = terminal
        self._group = os.getpgrp()
        self._reports, status = os.pipe()
        self._report = b"\\builtin printf '%%s\\0' \"$?\" >&%d\n" % status
        # With the terminal as its input, and without our two descriptors.
        self._input = b" <&%d %d<&- %d>&-\n" % (terminal, terminal, status)
        environment = clean_environment()
        self._process = process = subprocess.Popen(
            _SHELL,
            stdin=subprocess.PIPE,
            env={**environment, b"PS1": b"", b"PS2": b""},
            pass_fds=(status, terminal),
        )
        os.close(status)
        assert process.stdin is not None  # noqa: S101  # it is the pipe asked for
        self._commands = process.stdin
        self._signals = {
            number: signal.signal(number, signal.SIG_IGN)
            for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP)
        }
        with self._terminal_back():
            self._write(_BEGIN + b"\n" + self._report)
            self._await_report()

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the shell end as at the end of its input."""
        with suppress(EndedError):
            self.close()
        os.close(self._reports)
        for number, handler in self._signals.items():
            signal.signal(number, handler)

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
        before = b"(exit %d)\n" % status if status else b""
        command = b"\\builtin eval " + quoted(text) + self._input
        with self._terminal_back():
            self._give_terminal(os.getpgid(self._process.pid))
            self._write(b"set +H\n" + before + command + self._report)
            return self._await_report()

    def close(self) -> int:
        """End the shell's input and wait; raises EndedError with its status."""
        with self._terminal_back():
            with suppress(OSError):
                self._give_terminal(os.getpgid(self._process.pid))
            with suppress(BrokenPipeError):
                self._commands.close()
            raise EndedError(self._process.wait())

    def _write(self, text: bytes) -> None:
        try:
            self._commands.write(text)
            self._commands.flush()
        except BrokenPipeError:
            raise EndedError(self._process.wait()) from None

    def _await_report(self) -> int:
        """The status that the shell reports; a shell that ends has reported all."""
        report = b""
        with os.fdopen(os.pidfd_open(self._process.pid), "rb") as ended:
            while not report.endswith(b"\0"):
                ready = select.select([self._reports, ended.fileno()], [], [])[0]
                piece = os.read(self._reports, 64) if self._reports in ready else b""
                if not piece:
                    raise EndedError(self._process.wait())
                report += piece
        last = report.split(b"\0")[-2]
        return int(last) if last.isdigit() else 1

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
