"""execve and execveat: judged, then handed over to what sees the started program.

That lets them go on (`redlane.api.Starts`). What it calls itself, to make the guarded
shell of another shell, is not judged.
"""

from collections.abc import Callable

from redlane.api import Starts
from redlane_context_syscall.calls import GIVEN, GO_ON, Answer, Handler
from redlane_context_syscall.deciding import Candidates
from redlane_context_syscall.kernel.listener import Notification

__all__ = ["STARTING", "Starting"]

STARTING = ("execve", "execveat")
_TOKEN = 5


class Starting:
    """Judges the start of a program and hands it over."""

    def __init__(
        self,
        judged: Handler,
        starts: Starts,
        going_on: Callable[[int, str, Candidates], None],
    ) -> None:
        """`judged` is asked first, and raises OSError for what is refused.

        `going_on` is told of a thread that goes on unjudged, and of what it executes.
        """
        self._judged = judged
        self._starts = starts
        self._going_on = going_on

    def __call__(self, notification: Notification) -> Answer:
        """Judge, and hand over what is allowed."""
        starts = self._starts
        if notification.args[_TOKEN] == starts.token:
            self._going_on(notification.pid, "execveat", (starts.program,))
        else:
            answer = self._judged(notification)
            if answer is not GO_ON:
                return answer
        starts.let_go(notification.id, notification.pid)
        return GIVEN
