"""Several children at a time in one thread, each with a deadline of its own."""

import math
import os
import select
import time
from collections import deque
from collections.abc import Callable, Sequence

from redlane.execution.child import Child
from redlane.execution.starting import start
from redlane.execution.stopping import Stop
from redlane.execution.values import Command, Ending, Manner

__all__ = ["run_side_by_side"]

_NOBODY = -1


def run_side_by_side(
    commands: Sequence[Command],
    *,
    seconds: float,
    at_once: int,
    queue_seconds: float,
    in_all: float = math.inf,
    stop: Stop | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Ending, ...]:
    """Run `commands`, at most `at_once` at a time; see `redlane.execution.run_all`.

    After `in_all` seconds none of them runs any more.
    """
    try:
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        told = f"could not be started: {os.devnull}: {error.strerror}"
        return (Ending(Manner.NOT_STARTED, told),) * len(commands)
    try:
        run = _Run(commands, seconds, clock() + in_all, null, clock, stop)
        return run.endings(at_once, queue_seconds)
    finally:
        os.close(null)


class _Run:
    """One call: the commands that wait, those that run, and how the others ended."""

    def __init__(
        self,
        commands: Sequence[Command],
        seconds: float,
        end: float,
        null: int,
        clock: Callable[[], float],
        stop: Stop | None,
    ) -> None:
        self._stop = stop
        self._commands = commands
        self._seconds = seconds
        self._end_of_all = end
        self._null = null
        self._clock = clock
        self._waiting = deque(range(len(commands)))
        self._running: dict[int, Child] = {}
        self._allowed: dict[int, float] = {}
        self._deadlines: dict[int, float] = {}
        self._ended: dict[int, Ending] = {}

    def endings(self, at_once: int, queue_seconds: float) -> tuple[Ending, ...]:
        """Run everything; nothing is left running, even when this is interrupted."""
        queue_end = self._clock() + queue_seconds
        try:
            while self._waiting or self._running:
                if self._stop is not None and self._stop.is_set:
                    return self._stopped()
                while self._waiting and len(self._running) < at_once:
                    self._start(self._waiting.popleft(), queue_end)
                if self._running:
                    self._wait()
                    self._stop_late()
        finally:
            for child in self._running.values():
                child.stop()
        return tuple(self._ended[index] for index in range(len(self._commands)))

    def _stopped(self) -> tuple[Ending, ...]:
        """The endings, where nobody waits for the others any more."""
        stopped = Ending(Manner.STOPPED, "was stopped")
        return tuple(self._ended.get(i, stopped) for i in range(len(self._commands)))

    def _start(self, index: int, queue_end: float) -> None:
        # The time runs from before the start: a start that takes long is part of it.
        now = self._clock()
        started: Child | Ending
        if now >= queue_end:
            started = _not_started("too many commands were waiting before it")
        elif now >= self._end_of_all:
            started = _not_started("the time for a verdict was over before it")
        else:
            started = start(self._commands[index], self._null)
        if isinstance(started, Ending):
            self._ended[index] = started
        else:
            self._running[index] = started
            self._deadlines[index] = min(now + self._seconds, self._end_of_all)
            self._allowed[index] = self._deadlines[index] - now

    def _wait(self) -> None:
        """Act on what happens, until the next deadline at most.

        A child's exit is looked at before its deadline is: what exited in time counts,
        also when this thread was kept busy or off the processor.
        """
        # poll, not epoll: it needs no descriptor, so there is one less way to fail.
        poll = select.poll()
        owners: dict[int, int] = {}
        for index, child in self._running.items():
            for descriptor, event in child.awaited():
                poll.register(descriptor, event)
                owners[descriptor] = index
        if self._stop is not None:
            poll.register(self._stop.descriptor, select.POLLIN)
        nearest = min(self._deadlines[index] for index in self._running)
        milliseconds = math.ceil(max(0.0, nearest - self._clock()) * 1000)
        for descriptor, _ in poll.poll(milliseconds):
            index = owners.get(descriptor, _NOBODY)
            if index in self._running:
                self._act(index, descriptor)

    def _act(self, index: int, descriptor: int) -> None:
        ending = self._running[index].act(descriptor)
        if ending is not None:
            self._end(index, ending)

    def _stop_late(self) -> None:
        now = self._clock()
        late = [index for index in self._running if self._deadlines[index] <= now]
        for index in late:
            self._running[index].kill()
        for index in late:
            self._running[index].stop()
            # A little is gone before the start: 4.99 seconds are five to everybody.
            allowed = round(self._allowed[index], 1) or 0.1
            told = f"did not exit within {allowed:g} seconds"
            self._end(index, Ending(Manner.TIMED_OUT, told))

    def _end(self, index: int, ending: Ending) -> None:
        self._ended[index] = ending
        del self._running[index]


def _not_started(why: str) -> Ending:
    return Ending(Manner.NOT_STARTED, f"could not be started: {why}")
