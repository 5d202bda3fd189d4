"""Which processes run a text that was judged, and what their programs start.

What a program hands to a shell that a judged text has started, such as the recipe of a
makefile, is nobody's typing, and neither is what such a text starts. What an agent
types has no judged text above it, or is inside of one.
"""

import threading
from collections import OrderedDict

from redlane.processes import (
    SUPERVISOR,
    Process,
    ProcessUnreadableError,
    ancestry,
    read_process,
)

__all__ = ["JudgedTexts"]

_MOST = 4096
_SHELL = "bash"
"""What the guarded shell becomes; its name changes when it becomes a program."""


class JudgedTexts:
    """Remembers the latest of them; safe for several threads."""

    def __init__(self, most: int = _MOST) -> None:
        """Keep `most`; what is below an older one counts as typed."""
        self._most = most
        self._known: OrderedDict[tuple[int, int], bool] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, pid: int) -> None:
        """Remember that a process goes on with a text that was judged."""
        try:
            process = read_process(pid)
        except ProcessUnreadableError:
            return
        if process is not None:
            is_handed_on = self.hand_on_to(pid)
            with self._lock:
                self._known[process.key] = is_handed_on
                self._known.move_to_end(process.key)
                while len(self._known) > self._most:
                    self._known.popitem(last=False)

    def hand_on_to(self, pid: int) -> bool:
        """Whether a process was started by a program that a judged text has started.

        That is not a fork of the text's shell, which starts what stands in the text:
        that was handed on if the text was. What is above the supervisor of a session
        was typed to another.
        """
        try:
            found = ancestry(pid, lambda each: each.pid != pid and self._ends(each))
        except ProcessUnreadableError:
            return False
        if found is None or not found.complete:
            return False
        above = found.processes[1:]
        starter = next((each for each in above if not each.is_fork), None)
        if starter is None or not self._has(above[-1]):
            return False
        with self._lock:
            was_handed_on = self._known.get(starter.key, True)
        return was_handed_on or starter.name != _SHELL

    def _ends(self, process: Process) -> bool:
        return process.name == SUPERVISOR or self._has(process)

    def _has(self, process: Process) -> bool:
        with self._lock:
            return process.key in self._known
