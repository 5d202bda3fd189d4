"""Who makes a call is looked up only for those who want to know."""

import pytest

from redlane.api import Ruling, SystemCall
from redlane_context_syscall.deciding import Decisions
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.processes import Described

NOTIFICATION = Notification(1, 4321, 0, 0, 0, 0, (1, 2, 3, 4, 5, 6))


class Wanting:
    """A judge that looks up details of a call and refuses it."""

    generation = 1
    is_slow: frozenset[str] = frozenset()

    def __init__(self, *wanted: str) -> None:
        self._wanted = wanted
        self.told: dict[str, object] = {}

    def rule(self, call: SystemCall) -> Ruling:
        self.told = {each: call.details.get(each) for each in self._wanted}
        return Ruling(allowed=False)


@pytest.mark.parametrize(
    ("wanted", "told", "looks"),
    [
        pytest.param((), {}, 0, id="nothing"),
        pytest.param(("own_files",), {"own_files": None}, 0, id="no detail"),
        pytest.param(("args",), {"args": [1, 2, 3, 4, 5, 6]}, 0, id="registers"),
        pytest.param(("pid", "ppid"), {"pid": 9, "ppid": 8}, 1, id="the process"),
        pytest.param(("session",), {"session": "s"}, 1, id="session"),
    ],
)
def test_a_caller_is_described_at_most_once_and_only_if_asked_for(
    wanted: tuple[str, ...], told: dict[str, object], looks: int
) -> None:
    looked: list[Notification] = []

    def describe(notification: Notification) -> Described:
        looked.append(notification)
        return Described(9, 8, "sh")

    judge = Wanting(*wanted)
    decisions = Decisions(judge, describe, lambda _: None, "s")  # type: ignore[arg-type]  # of a judge, rules only

    assert decisions.would_block(NOTIFICATION, "open", (b"/etc/passwd",))
    assert judge.told == told
    assert len(looked) == looks
