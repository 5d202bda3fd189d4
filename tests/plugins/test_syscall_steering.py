"""No process is had to run otherwise that the session has not started."""

import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from errno import errorcode

from syscall_harness import Decisions, Kit, supervised
from syscall_trees import raw

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.signals import SIGNALLING, Signals

CALLS = tuple(SIGNALLING)
_MASK = (1).to_bytes(128, "little")
_ATTRIBUTES = struct.pack("=IIQiIQQQ", 48, 0, 0, 0, 0, 0, 0, 0)
_LIMIT = struct.pack("=QQ", 1 << 40, 1 << 40)


def _handlers(
    protected: Callable[[], frozenset[int]] = frozenset,
) -> Callable[[Kit], Mapping[str, Handler]]:
    def make(kit: Kit) -> Mapping[str, Handler]:
        decisions = Decisions()
        kit.world.view.top = os.getpid()
        kit.log.extend([decisions.asked, decisions.unfaithful])
        signals = Signals(kit.listener, kit.world, decisions, protected())
        return dict.fromkeys(SIGNALLING, signals)

    return make


def _supervisor() -> frozenset[int]:
    return frozenset({os.getpid()})


def _result(call: str, *arguments: object) -> str:
    try:
        return str(raw(call, *arguments))
    except OSError as error:
        return errorcode[error.errno or 0]


def _steered(pid: int) -> dict[str, str]:
    """What comes of having another process run a little differently."""
    return {
        "prlimit64": _result("prlimit64", pid, 1, _LIMIT, None),
        "sched_setaffinity": _result("sched_setaffinity", pid, len(_MASK), _MASK),
        "sched_setscheduler": _result("sched_setscheduler", pid, 0, bytes(4)),
        "sched_setparam": _result("sched_setparam", pid, bytes(4)),
        "sched_setattr": _result("sched_setattr", pid, _ATTRIBUTES, 0),
        "setpriority": _result("setpriority", 0, pid, 0),
        "ioprio_set": _result("ioprio_set", 1, pid, 0),
    }


@contextmanager
def _another() -> Iterator[int]:
    """A child; outside for a supervisor that starts meanwhile."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    try:
        yield pid
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(pid, 0)


def test_processes_outside_run_on_as_they_did() -> None:
    with _another() as pid:
        outcome = supervised(lambda: _steered(pid), CALLS, _handlers())
        affinity = os.sched_getaffinity(pid)

    assert set(outcome.result.values()) == {"EPERM"}
    assert affinity == os.sched_getaffinity(0)
    why = "it would change a process outside of the session"
    assert outcome.log[1] == [why] * len(outcome.result)


def test_the_supervisor_runs_on_as_it_did() -> None:
    def act() -> dict[str, str]:
        return _steered(os.getppid())

    outcome = supervised(act, CALLS, _handlers(_supervisor))

    assert set(outcome.result.values()) == {"EPERM"}


def test_processes_of_the_session_steer_one_another() -> None:
    def act() -> list[dict[str, str]]:
        with _another() as pid:
            return [_steered(each) for each in (0, os.getpid(), pid)]

    outcome = supervised(act, CALLS, _handlers(_supervisor))

    assert all(set(each.values()) == {"0"} for each in outcome.result)


def test_limits_of_others_can_be_read() -> None:
    with _another() as pid:
        outcome = supervised(
            lambda: _result("prlimit64", pid, 1, None, None),
            CALLS,
            _handlers(),
        )

    assert outcome.result == "0"


def test_groups_and_users_are_not_steered() -> None:
    def act() -> list[str]:
        other = os.fork()
        if other == 0:
            os.setpgid(0, 0)
            results = [
                _result("setpriority", 1, 0, 0),
                _result("ioprio_set", 2, 0, 0),
            ]
            os._exit(0 if results == ["0", "0"] else 1)
        assert os.waitpid(other, 0)[1] == 0
        return [
            _result("setpriority", 1, 0, 0),  # the supervisor is of our group
            _result("setpriority", 1, os.getpgid(0), 0),
            _result("setpriority", 2, 0, 0),
            _result("setpriority", 2, os.getuid(), 0),
            _result("ioprio_set", 2, 0, 0),
            _result("ioprio_set", 3, 0, 0),
        ]

    outcome = supervised(act, CALLS, _handlers(_supervisor))

    assert outcome.result == ["EPERM"] * 6
