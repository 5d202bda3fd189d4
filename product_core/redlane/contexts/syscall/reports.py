"""What a supervisor has to tell of system calls, until the daemon has heard it.

Repeats are counted and not kept, and there is a bound to what is: a session that does
the same forbidden thing a million times takes no more room than one that does it twice.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

from redlane.contexts.syscall.content import document_of_call
from redlane.model.content import SystemCall

__all__ = ["CallReport", "Reports"]

_MOST_KEPT = 1000
_LONGEST_PATH = 8192
_LONGEST_TEXT = 1000
_LONGEST_COMMAND = 1000
_OTHERS = "many different calls of this kind: no paths were kept"


@dataclass(frozen=True, slots=True)
class CallReport:
    """A system call that was blocked or flagged; `count` times, if it was the same."""

    call: SystemCall
    verdict: str
    policy: str | None
    reason: str
    kill: bool = False
    restriction: bool = False
    count: int = 1

    @property
    def key(self) -> tuple[object, ...]:
        """What repeats have in common: all but which process it was."""
        return (
            *(self.call.name, self.call.paths, self.verdict, self.policy, self.reason),
            *(self.kill, self.restriction),
        )

    def document(self) -> dict[str, object]:
        """The report as the daemon takes it: bounded, and text throughout."""
        call = document_of_call(self.call)
        call["paths"] = [_text(each) for each in self.call.paths]
        call.pop("session", None)
        if isinstance(command := call.get("command"), str):
            call["command"] = (_text(command) or "")[:_LONGEST_COMMAND]
        return {
            "call": call,
            "verdict": self.verdict,
            "policy": self.policy,
            "reason": self.reason[:_LONGEST_TEXT],
            "kill": self.kill,
            "restriction": self.restriction,
            "count": self.count,
        }


class Reports:
    """A bounded queue that counts repeats together; safe for several threads."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        """Nothing is to be told yet."""
        self._most = most
        self._came = threading.Condition()
        self._kept: OrderedDict[tuple[object, ...], CallReport] = OrderedDict()
        self._closed = False

    def put(self, report: CallReport) -> None:
        """Keep a report; where there is no room, with others of its kind."""
        with self._came:
            self._add(report)
            self._came.notify()

    def take(self, most: int, seconds: float) -> list[CallReport]:
        """The oldest reports; waits so long for one. Who cannot tell puts them back."""
        with self._came:
            if not self._kept and not self._closed:
                self._came.wait(seconds)
            count = min(most, len(self._kept))
            return [self._kept.popitem(last=False)[1] for _ in range(count)]

    def close(self) -> None:
        """Let nobody wait for a report any more; what is kept can still be taken."""
        with self._came:
            self._closed = True
            self._came.notify_all()

    def _add(self, report: CallReport) -> None:
        known = self._kept.get(report.key)
        if known is None and len(self._kept) >= self._most:
            report = replace(report, call=SystemCall(report.call.name), reason=_OTHERS)
            known = self._kept.get(report.key)
            if known is None and len(self._kept) >= 2 * self._most:
                return
        if known is not None:
            report = replace(known, count=known.count + report.count)
        self._kept[report.key] = report


def _text(path: str | None) -> str | None:
    """A path as text: bytes that are no UTF-8, surrogates here, are written out."""
    if path is None:
        return None
    data = path.encode(errors="surrogateescape")
    return data.decode(errors="backslashreplace")[:_LONGEST_PATH]
