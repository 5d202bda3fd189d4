"""Signals reach whom they reach natively, but for those who guard the session."""

import ctypes
import os
import signal
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from errno import errorcode
from pathlib import Path
from typing import Any

import pytest
from syscall_harness import NOBODY, Decisions, Kit, forked, supervised
from syscall_trees import raw

from redlane_context_syscall.advisory import Advisory
from redlane_context_syscall.calls import Handler
from redlane_context_syscall.changing import CHANGING, Changing
from redlane_context_syscall.kernel.system import pidfd_open
from redlane_context_syscall.numbers import number_of
from redlane_context_syscall.signals import SIGNALLING, Signals

CALLS = tuple(SIGNALLING)
_PIDFD_THREAD = os.O_EXCL
_TO_GROUP = 4
_SI_QUEUE = -1
_INFORMATION = struct.Struct("=iiiiiIQ96x")
_SET_OWNER, _GET_OWNER = 8, 9

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become others")


def _handlers(
    protected: Callable[[], frozenset[int]] = frozenset,
    calls: tuple[str, ...] = CALLS,
) -> Callable[[Kit], Mapping[str, Handler]]:
    def make(kit: Kit) -> Mapping[str, Handler]:
        decisions = Decisions()
        kit.log.extend([decisions.asked, decisions.unfaithful])
        parts = (kit.listener, kit.world, decisions)
        signals = Signals(*parts, protected())
        changing = Changing(Advisory(*parts, blocking=kit.blocking), kit.world)
        changes = {each for each in CHANGING if number_of(each) is not None}
        return {
            **dict.fromkeys(changes & set(calls), changing),
            **dict.fromkeys(SIGNALLING, signals),
        }

    return make


def _result(call: str, *arguments: object) -> str:
    try:
        return str(raw(call, *arguments))
    except OSError as error:
        return errorcode[error.errno or 0]


def _supervisor() -> frozenset[int]:
    """The supervisor, as the only one that is protected; it says its thread ids."""
    ready = threading.Event()
    threading.Thread(target=ready.wait, daemon=True).start()
    return frozenset({os.getpid()})


def _thread_of_supervisor() -> int:
    """A thread of the supervisor's that is not its first one."""
    pid = os.getppid()
    return max(int(each.name) for each in Path(f"/proc/{pid}/task").iterdir())


WAYS: Mapping[str, Callable[[int], str]] = {
    "kill": lambda one: _result("kill", one, 0),
    "kill, high bits": lambda one: _result("kill", one | 7 << 32, 0),
    "tkill": lambda one: _result("tkill", one, 0),
    "tgkill": lambda one: _result("tgkill", os.getppid(), one, 0),
    "rt_sigqueueinfo": lambda one: _result("rt_sigqueueinfo", one, 0, _queued(0)),
    "rt_tgsigqueueinfo": lambda one: _result(
        "rt_tgsigqueueinfo", os.getppid(), one, 0, _queued(0)
    ),
    "prlimit64": lambda one: _result("prlimit64", one, 0, None, None),
    "fcntl": lambda one: _result("fcntl", 0, _SET_OWNER, one),
    "pidfd_open": lambda one: _result("pidfd_open", one, _PIDFD_THREAD),
}

_KEPT: list[Any] = []


def _queued(number: int, code: int = _SI_QUEUE, value: int = 0) -> int:
    """A siginfo_t in memory."""
    data = _INFORMATION.pack(number, 0, code, 0, os.getpid(), os.getuid(), value)
    _KEPT.append(ctypes.create_string_buffer(data, len(data)))
    return ctypes.addressof(_KEPT[-1])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_supervisor_is_not_reached(way: Callable[[int], str]) -> None:
    outcome = supervised(lambda: way(os.getppid()), CALLS, _handlers(_supervisor))

    assert outcome.result == "EPERM"
    assert outcome.log[1] == ["it would reach a process that guards the session"]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_thread_of_the_supervisor_is_not_reached(way: Callable[[int], str]) -> None:
    outcome = supervised(
        lambda: way(_thread_of_supervisor()), CALLS, _handlers(_supervisor)
    )

    assert outcome.result == "EPERM"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_others_are_reached_as_they_are_natively(way: Callable[[int], str]) -> None:
    def act() -> str:
        # The calls with a process beside the thread name our parent: it is theirs too.
        return way(os.getppid())

    native = forked(act)
    outcome = supervised(act, CALLS, _handlers())

    assert outcome.result == native or native.isdigit() == outcome.result.isdigit()
    assert not outcome.log[1]


def test_a_signal_nobody_is_there_for_fails_as_natively() -> None:
    outcome = supervised(lambda: _result("kill", 2**22 - 1, 0), CALLS, _handlers())

    assert outcome.result == "ESRCH"


@contextmanager
def _waiting(number: int) -> Iterator[tuple[int, Callable[[], Any]]]:
    """A child that waits for a signal, and what it then tells of it."""
    reading, writing = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    pid = os.fork()
    if pid == 0:
        told = signal.sigtimedwait([number], 60)
        fields = (told.si_signo, told.si_code, told.si_pid, told.si_uid) if told else ()
        os.write(writing, repr(fields).encode())
        os._exit(0)
    os.close(writing)
    try:
        yield pid, lambda: os.read(reading, 1000).decode()
    finally:
        os.close(reading)
        os.waitpid(pid, 0)


def _sent(opens: Callable[[int], int], information: int | None) -> tuple[str, str]:
    with _waiting(signal.SIGUSR1) as (pid, told):
        sender = os.getpid()
        result = _result(
            "pidfd_send_signal", opens(pid), signal.SIGUSR1, information, 0
        )
        if result != "0":
            os.kill(pid, signal.SIGKILL)
        return result, told().replace(str(sender), "SENDER")


def _opened_directory(pid: int) -> int:
    return os.open(f"/proc/{pid}", os.O_DIRECTORY)


@pytest.mark.parametrize(
    "opens", [os.pidfd_open, _opened_directory], ids=["pidfd", "directory in /proc"]
)
def test_a_descriptors_process_gets_the_signal_from_its_sender(
    opens: Callable[[int], int],
) -> None:
    outcome = supervised(lambda: _sent(opens, None), CALLS, _handlers())

    fields = (signal.SIGUSR1.value, _SI_QUEUE, "SENDER", os.getuid())
    assert outcome.result == ("0", repr(fields).replace("'", ""))


def test_a_signals_information_arrives() -> None:
    def act() -> tuple[str, str]:
        return _sent(os.pidfd_open, _queued(signal.SIGUSR1, code=-3))

    assert supervised(act, CALLS, _handlers()).result == forked(act)


def _ended() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    descriptor = os.pidfd_open(pid)
    os.waitpid(pid, 0)
    return descriptor


DESCRIPTORS: Mapping[str, Callable[[], int]] = {
    "closed": lambda: 987,
    "-1": lambda: -1,
    "a file": lambda: os.open("/dev/null", os.O_RDONLY),
    "a directory": lambda: os.open("/proc/self/fd", os.O_RDONLY),
    "the root of /proc": lambda: os.open("/proc", os.O_RDONLY),
    "a pipe": lambda: os.pipe()[0],
    "a pinned directory": lambda: os.open(f"/proc/{os.getpid()}", os.O_PATH),
    "a thread's directory": lambda: os.open("/proc/thread-self", os.O_RDONLY),
    "one that has ended": _ended,
    "itself": lambda: pidfd_open(os.getpid()),
}


@pytest.mark.parametrize("opens", DESCRIPTORS.values(), ids=DESCRIPTORS)
@pytest.mark.parametrize(
    ("number", "flags"), [(0, 0), (0, 64), (65, 0), (-1, 0), (0, 1), (0, 1 << 32)]
)
def test_a_descriptor_fails_as_it_does_natively(
    opens: Callable[[], int], number: int, flags: int
) -> None:
    def act() -> str:
        return _result("pidfd_send_signal", opens(), number, None, flags)

    assert supervised(act, CALLS, _handlers()).result == forked(act)


@pytest.mark.parametrize(
    "information", [1 << 46, "other signal"], ids=["wild", "of another signal"]
)
def test_bad_information_fails_as_it_does_natively(information: object) -> None:
    def act() -> str:
        given = information if isinstance(information, int) else _queued(signal.SIGUSR2)
        with _waiting(signal.SIGUSR1) as (pid, _):
            descriptor = pidfd_open(pid)
            os.kill(pid, signal.SIGUSR1)
            return _result("pidfd_send_signal", descriptor, signal.SIGUSR1, given, 0)

    assert supervised(act, CALLS, _handlers()).result == forked(act)


@pytest.mark.parametrize(
    "opens",
    [
        lambda: pidfd_open(os.getppid()),
        lambda: os.open(f"/proc/{os.getppid()}", os.O_DIRECTORY),
        lambda: pidfd_open(_thread_of_supervisor(), _PIDFD_THREAD),
    ],
    ids=["pidfd", "directory in /proc", "thread"],
)
def test_a_descriptor_of_the_supervisor_reaches_nobody(
    opens: Callable[[], int],
) -> None:
    calls = ("pidfd_send_signal",)

    def act() -> str:
        return _result("pidfd_send_signal", opens(), signal.SIGTERM, None, 0)

    outcome = supervised(act, calls, _handlers(_supervisor))

    assert outcome.result == "EPERM"
    assert outcome.log[1] == ["it would reach a process that guards the session"]


def test_a_group_with_the_supervisor_in_it_is_not_killed() -> None:
    def act() -> str:
        descriptor = pidfd_open(os.getpid())
        arguments = (descriptor, signal.SIGKILL, None, _TO_GROUP)
        return _result("pidfd_send_signal", *arguments)

    outcome = supervised(act, CALLS, _handlers(_supervisor))

    assert outcome.result == "EPERM"


@only_root
def test_who_has_become_another_user_may_not_signal_everybody() -> None:
    calls = (*CALLS, "setresuid", "setresgid", "setgroups")

    def act() -> list[str]:
        with _waiting(signal.SIGUSR1) as (pid, _):
            of_root = pidfd_open(pid)
            os.setresuid(NOBODY, NOBODY, 0)
            refused = _result("pidfd_send_signal", of_root, signal.SIGUSR1, None, 0)
            own = _result("pidfd_send_signal", pidfd_open(os.getpid()), 0, None, 0)
            os.setresuid(0, 0, 0)
            os.kill(pid, signal.SIGUSR1)
        return [refused, own]

    outcome = supervised(act, calls, _handlers(calls=calls))

    assert outcome.result == forked(act) == ["EPERM", "0"]


def test_an_exchanged_descriptor_does_not_reach_the_supervisor() -> None:
    """One thread signals, another puts a protected process in the victim's place."""
    calls = ("pidfd_send_signal",)

    def act() -> int:
        harmless, other = pidfd_open(os.getpid()), pidfd_open(os.getppid())
        slot = os.dup(harmless)
        over = threading.Event()

        def exchange() -> None:
            while not over.is_set():
                os.dup2(other, slot)
                os.dup2(harmless, slot)

        thread = threading.Thread(target=exchange)
        thread.start()
        refusals = attempts = 0
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        while attempts < 5_000 or (not refusals and attempts < 500_000):
            result = _result("pidfd_send_signal", slot, signal.SIGUSR1, None, 0)
            refusals += result == "EPERM"
            attempts += 1
        over.set()
        thread.join()
        return refusals

    # SIGUSR1 would end the supervisor, and then nothing would be told here.
    assert supervised(act, calls, _handlers(_supervisor)).result > 0


def test_other_commands_of_fcntl_go_on() -> None:
    def act() -> str:
        return _result("fcntl", 0, 3, os.getppid())

    assert supervised(act, CALLS, _handlers(_supervisor)).result.isdigit()
