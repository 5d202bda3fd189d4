"""Tells each command at its end what was refused of it, on its standard error.

There it reaches who can act on it: a model reads it with the rest, and stops trying. At
the first refusal a copy of that file is taken, since at the end there is none left; it
is let go of as soon as the command has ended, or lets go of it itself, so that whoever
reads to its end comes to it. A command of which nothing is refused costs nothing.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from redlane.api import Ruling, SystemCall
from redlane_context_syscall.kernel.system import pidfd_getfd, pidfd_open
from redlane_context_syscall.lineage import Command, Lineage, Process
from redlane_context_syscall.refusals import Refusals
from redlane_context_syscall.standard_error import write_lines

__all__ = ["Telling"]

_MOST_KEPT = 64
"""Commands at once, with two descriptors each; more are not told anything."""
_MOST_WAITING, _MOST_WRITERS = 16, 64
"""Threads that wait for room, and threads at all: where many wait others do not."""
_MOST_CALLERS = 1024
_LOOK_SECONDS = 0.25
"""How often it is looked whether a command has let go of its standard error."""
_WRITE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Kept:
    """A command that has something to be told: its process, and a copy of its file."""

    command: Command
    process: int
    file: int
    refusals: Refusals

    def has_let_go(self) -> bool:
        return self.command.process.outlet.name != self.command.outlet.name


class Telling:
    """The refusals of one session by command; for several threads at once."""

    def __init__(self, lineage: Lineage, home: str) -> None:
        """Nothing was refused yet; paths below `home` are told with ~."""
        self._lineage = lineage
        self._home = home
        self._lock = threading.Lock()
        self._kept: dict[Process, _Kept] = {}
        self._callers: dict[Process, Process] = {}
        self._poll: select.epoll | None = None
        self._writers: list[threading.Thread] = []
        self._is_over = False

    def refused(self, call: SystemCall, ruling: Ruling) -> None:
        """Have a command told of one more; never waits for it.

        Who cannot be told is not: the event is there.
        """
        pid = call.details.get("pid")
        caller = Process.read(pid) if isinstance(pid, int) else None
        if caller is None or self._is_known(caller, call, ruling):
            return
        command = self._lineage.command_of(caller.pid)
        if command is None:
            return
        with self._lock:
            kept = self._kept.get(command.process)
            if kept is None:
                with suppress(OSError, RuntimeError):  # RuntimeError: no thread
                    kept = self._keep(command)
            if kept is not None:
                kept.refusals.add(call, ruling)
                if len(self._callers) >= _MOST_CALLERS:
                    self._callers.clear()
                self._callers[caller] = command.process

    def _is_known(self, caller: Process, call: SystemCall, ruling: Ruling) -> bool:
        """Whether it is counted already: of a process that was refused more.

        To look for its command takes longer than all the rest.
        """
        with self._lock:
            kept = self._kept.get(self._callers.get(caller, caller))
            if kept is not None:
                kept.refusals.add(call, ruling)
            return kept is not None

    def stop(self) -> None:
        """Tell what is still to be told; returns within a second or so."""
        with self._lock:
            self._is_over = True
            self._tell(list(self._kept.values()))
            writers = list(self._writers)
        end = time.monotonic() + _WRITE_SECONDS
        for writer in writers:
            writer.join(max(0.0, end - time.monotonic()))

    def _keep(self, command: Command) -> _Kept | None:
        """Copy the file of a command; with the lock. Raises OSError where it cannot."""
        if self._is_over or len(self._kept) >= _MOST_KEPT:
            return None
        process = pidfd_open(command.process.pid)
        try:
            file = _copy(process, command)
        except OSError:
            os.close(process)
            raise
        kept = _Kept(command, process, file, Refusals(self._home))
        self._kept[command.process] = kept
        try:
            self._watch(process)
        except (OSError, RuntimeError):
            self._let_go(kept)
            raise
        return kept

    def _watch(self, process: int) -> None:
        """Have the end of a process noticed; with the lock."""
        if self._poll is not None:
            self._poll.register(process, select.EPOLLIN)
            return
        poll = select.epoll()
        poll.register(process, select.EPOLLIN)
        _thread(self._run, poll).start()
        self._poll = poll

    def _run(self, poll: select.epoll) -> None:
        """Tell commands as they end, until there is none any more."""
        _block_signals()
        with poll:
            while True:
                ended = {process for process, _ in poll.poll(_LOOK_SECONDS)}
                with self._lock:
                    kept = list(self._kept.values())
                over = [e for e in kept if e.process in ended or e.has_let_go()]
                with self._lock:
                    # What has begun to stop has told them already.
                    self._tell(e for e in over if e.command.process in self._kept)
                    if not self._kept:
                        self._poll = None
                        return

    def _tell(self, over: Iterable[_Kept]) -> None:
        """Have commands told, each by a thread: a file may keep one waiting.

        With the lock. Where too many wait already nothing is said.
        """
        for kept in list(over):
            del self._kept[kept.command.process]
            os.close(kept.process)
            self._writers = [each for each in self._writers if each.is_alive()]
            seconds = _WRITE_SECONDS if len(self._writers) < _MOST_WAITING else 0.0
            writer = _thread(_write, kept.file, kept.refusals.lines(), seconds)
            try:
                if len(self._writers) < _MOST_WRITERS:
                    writer.start()
                    self._writers.append(writer)
                    continue
            except RuntimeError:  # no thread is to be had
                pass
            os.close(kept.file)

    def _let_go(self, kept: _Kept) -> None:
        del self._kept[kept.command.process]
        os.close(kept.process)
        os.close(kept.file)


def _copy(process: int, command: Command) -> int:
    """A copy of the standard error of a command; raises OSError."""
    file = pidfd_getfd(process, command.outlet.number)
    # The id may have passed to another since; the descriptor holds who has it now.
    if Process.read(command.process.pid) != command.process:
        os.close(file)
        raise ProcessLookupError(f"process {command.process.pid} has gone")
    return file


def _write(file: int, lines: list[bytes], seconds: float) -> None:
    _block_signals()
    try:
        write_lines(file, lines, seconds)
    finally:
        os.close(file)


def _block_signals() -> None:
    """Leave all signals to the others: those of a terminal would stop a writer."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def _thread(work: Callable[..., None], *arguments: object) -> threading.Thread:
    return threading.Thread(target=work, args=arguments, name="telling", daemon=True)
