"""Asks several checkers at the same time, so that the slowest sets the pace.

Plain threads: the pools of the standard library cost more start-up time than all else
that `redlane validate` imports.
"""

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Generic, TypeVar

from redlane.engine.boundary import fail_closed
from redlane.errors import RedlaneError

__all__ = ["side_by_side"]

Result = TypeVar("Result")


class _Work(threading.Thread, Generic[Result]):
    """One piece of work; without an answer it counts as failed."""

    def __init__(self, work: Callable[[], Result]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._context = copy_context()  # the verdict's time limit holds here as well
        self._answer: list[Result] = []
        self._problem = "a checker ended without an answer"

    def run(self) -> None:
        """Do the work; a failure is kept for whoever asks for the answer."""
        self._context.run(fail_closed, self._do, self._fail)

    def _do(self) -> None:
        self._answer = [self._work()]

    def _fail(self, reason: str) -> None:
        self._problem = reason

    def answer(self) -> Result:
        """Wait for the answer; raises when there is none."""
        self.join()
        if not self._answer:
            raise RedlaneError(self._problem)
        return self._answer[0]


def side_by_side(works: Sequence[Callable[[], Result]]) -> list[Result]:
    """The results of all `works` in their order; raises when any of them failed.

    A single piece of work is done by the caller's own thread.
    """
    if len(works) < 2:  # noqa: PLR2004  # "several" starts at two
        return [work() for work in works]
    started = [_Work(work) for work in works]
    for each in started:
        each.start()
    return [each.answer() for each in started]
