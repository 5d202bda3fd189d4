"""A session of `redlane run`, in which the attempts are made."""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from redlane.errors import RedlaneError

__all__ = ["NoSessionError", "Patient", "in_session"]

_RUN = (sys.executable, "-I", "-m", "redlane", "run", "--label", "redlane doctor")
_INSIDE = (sys.executable, "-I", "-m", "redlane.doctor.inside")
_SECONDS = 120.0
_REFUSALS = range(1, 4)
"""What `redlane` itself ends with: refused, wrong usage, no daemon."""


class NoSessionError(RedlaneError):
    """The session was not opened, or ended before its time."""

    def __init__(self, message: str, exit_code: int) -> None:
        """`exit_code` is what the doctor ends with."""
        super().__init__(message)
        self.exit_code = exit_code


class Patient:
    """The program within a session, which is told and asked a line at a time."""

    def __init__(self, process: "subprocess.Popen[str]", errors: IO[bytes]) -> None:
        """Of a process whose standard error goes to the file `errors`."""
        self._process = process
        self._errors = errors

    def hear(self) -> str:
        """Its next line; raises NoSessionError when there will be none."""
        assert self._process.stdout is not None  # noqa: S101  # it is a pipe
        line = self._process.stdout.readline()
        if line.endswith("\n"):
            return line.rstrip("\n")
        raise self._ended()

    def tell(self, line: str) -> None:
        """Send it a line; raises NoSessionError when it is gone."""
        assert self._process.stdin is not None  # noqa: S101  # it is a pipe
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _ended(self) -> NoSessionError:
        """Why there is nobody to speak with, in the words of who ended last."""
        status = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        last = said[-1].removeprefix("redlane: ") if said else ""
        return NoSessionError(
            last or f"the session ended, with status {status}, before it was examined",
            status if status in _REFUSALS else 1,
        )


@contextmanager
def in_session(role: str | None) -> Iterator[Patient]:
    """The program in a session of `role`, for as long as the block lasts."""
    given = () if role is None else ("--role", role)
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [*_RUN, *given, "--", *_INSIDE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        # It may hang, as all that is examined: the session ends with its supervisor.
        limit = threading.Timer(_SECONDS, process.kill)
        limit.start()
        try:
            yield Patient(process, errors)
        except BaseException:
            process.terminate()  # as a terminal would: the session ends in order
            raise
        finally:
            limit.cancel()
