"""What a session does, as the kernel sees it: by eBPF, through bcc."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from threading import Timer
from typing import IO, Any

from redlane.errors import RedlaneError
from redlane.tracing.records import Record, read_record

__all__ = ["Tracer", "TracerError", "kernel_tracer"]

_PYTHON = "/usr/bin/python3"
"""Debian's, which finds Debian's bcc; another's is another thing of that name."""

_TRACER = Path(__file__).with_name("kernel_tracer.py")
_READY_SECONDS, _END_SECONDS = 30.0, 5.0

_Line = Mapping[str, Any]


class TracerError(RedlaneError):
    """It cannot be seen that way here; the message says why."""


class Tracer:
    """A tracer that looks."""

    def __init__(self, lines: Iterator[_Line]) -> None:
        """Read what it tells."""
        self._lines = lines
        self.missed: _Line = {}
        """What it did not tell, once it has ended."""

    def drain(self) -> None:
        """Have it say the last that it has to say."""
        for line in self._lines:
            if "lost" in line:
                self.missed = line

    def records(self) -> Iterator[Record]:
        """What is done from now on, until the session has ended."""
        for line in self._lines:
            if "lost" in line:
                self.missed = line
            else:
                yield read_record(line)


@contextmanager
def kernel_tracer(
    root: int, command: tuple[str, ...] = (_PYTHON, "-I", str(_TRACER))
) -> Iterator[Tracer]:
    """Look on what runs below a process; raises TracerError."""
    try:
        process = subprocess.Popen(
            [*command, str(root)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # a ^C is for us: it ends once we have read all
        )
    except OSError as error:
        raise TracerError(f"{command[0]} does not start: {error.strerror}") from error
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    try:
        lines = _read(process.stdout)
        if not select([process.stdout], [], [], _READY_SECONDS)[0]:
            raise TracerError("the tracer does not begin")
        first = next(lines, None)
        if first is None or "ready" not in first:
            why = "the tracer has ended" if first is None else first.get("failed")
            raise TracerError(str(why))
        tracer = Tracer(lines)
        try:
            yield tracer
        finally:
            process.terminate()
            # It may wait for room to tell what it has seen.
            late = Timer(_END_SECONDS, process.kill)
            late.start()
            tracer.drain()
            late.cancel()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _read(stream: IO[str]) -> Iterator[_Line]:
    for line in stream:
        with suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found
