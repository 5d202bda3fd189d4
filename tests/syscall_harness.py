"""Runs a function under a real seccomp filter, with real handlers serving it.

The supervisor is a fork of the test's process, so nothing that it does to itself (its
user, its umask, its threads) outlives a run; the function runs in a fork of that one.
What both have to tell comes back pickled.
"""

import ctypes
import mmap
import os
import pickle
import select
import signal
import struct
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import pidfd_getfd, pidfd_open, prctl
from redlane_context_syscall.loop import Loop, Source
from redlane_context_syscall.numbers import number_of
from redlane_context_syscall.world import World

__all__ = [
    "NOBODY",
    "Decisions",
    "Kit",
    "Outcome",
    "Sourced",
    "become",
    "forked",
    "supervised",
]

NOBODY = 65534

_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_SECONDS = 100.0
_LISTEN, _WAIT_KILLABLE = 8, 32
_ALLOW, _ASK = 0x7FFF0000, 0x7FC00000
_LIBRARY = ctypes.CDLL(None, use_errno=True)


class Decisions:
    """Stands where rulings come from: refuses what `refuses` says, and remembers.

    It refuses to change what `keeps` says.

    `asked` holds (name, candidates) of every call that was judged, `changed` the paths
    that it would change.
    """

    def __init__(
        self,
        refuses: Callable[[str, tuple[bytes | None, ...]], bool] | None = None,
        *,
        keeps: Callable[[bytes | None], bool] = lambda _path: False,
    ) -> None:
        self._refuses = refuses or (lambda _name, _candidates: False)
        self._keeps = keeps
        self.asked: list[tuple[str, tuple[bytes | None, ...]]] = []
        self.changed: list[tuple[str, tuple[bytes | None, ...]]] = []
        self.unfaithful: list[str] = []

    def check(
        self,
        notification: Notification,  # noqa: ARG002  # the signature of the real one
        name: str,
        candidates: tuple[bytes | None, ...] = (),
        changed: tuple[bytes | None, ...] = (),
    ) -> None:
        self.asked.append((name, candidates))
        self.changed.append((name, changed))
        if self._refuses(name, candidates) or any(map(self._keeps, changed)):
            raise PermissionError(1, "refused by the test")

    def would_block(
        self,
        notification: Notification,  # noqa: ARG002  # the signature of the real one
        name: str,
        candidates: tuple[bytes | None, ...],
        changed: tuple[bytes | None, ...] = (),
    ) -> bool:
        return self._refuses(name, candidates) or any(map(self._keeps, changed))

    def is_slow(self, name: str) -> bool:  # noqa: ARG002  # as above
        return False

    def refuse(
        self,
        notification: Notification,  # noqa: ARG002  # the signature of the real one
        name: str,  # noqa: ARG002  # as above
        reason: str,
        candidates: tuple[bytes | None, ...] = (),  # noqa: ARG002  # as above
    ) -> NoReturn:
        self.unfaithful.append(reason)
        raise PermissionError(1, reason)


@dataclass
class Kit:
    """What handlers are made from; `log` comes back to the test."""

    listener: Listener
    world: World
    blocking: Callable[[Notification], None]
    child: int
    log: list[Any] = field(default_factory=list)


Sourced = Callable[[Kit, dict[int, Handler]], tuple[Source, dict[int, Handler]]]


@dataclass
class Outcome:
    """What the function returned, what the supervisor logged, the exit status."""

    result: Any
    log: list[Any]
    status: int
    failures: list[str]


def supervised(
    act: Callable[[], Any],
    names: Sequence[str],
    handlers: Callable[[Kit], Mapping[str, Handler]],
    *,
    user: int | None = None,
    before: Callable[[], Any] | None = None,
    source: Sourced | None = None,
) -> Outcome:
    """Run `act` in a process whose system calls of these names are asked about.

    `handlers` makes what answers them, in the supervisor; a call without one goes on.
    `user`: who both processes are; `before` runs in the child ahead of the filter;
    `source` makes what receives instead of the listener, from handlers by number.
    What a handler raised that is no OSError is raised here.
    """
    answer = forked(lambda: _supervise(act, names, handlers, before, source), user=user)
    assert isinstance(answer, Outcome)
    assert not answer.failures, "\n".join(answer.failures)
    return answer


def become(user: int, group: int | None = None) -> None:
    """Be somebody else for good, as if started by that user: open to its own kind."""
    group = user if group is None else group
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    prctl(_PR_SET_DUMPABLE, 1)


def forked(function: Callable[[], Any], *, user: int | None = None) -> Any:
    """What `function` returns in a fork of this process, as `user`."""
    memory = os.memfd_create("answer")
    pid = os.fork()
    if pid == 0:
        _run_in_child(function, memory, user)
    try:
        _wait(pid)
        return _unpickled(memory)
    finally:
        os.close(memory)


def _run_in_child(function: Callable[[], Any], memory: int, user: int | None) -> None:
    """Leave the answer or the traceback in the memory file, and go."""
    try:
        if user is not None:
            become(user)
        answer = (True, function())
    except BaseException:  # noqa: BLE001  # told to the parent
        answer = (False, traceback.format_exc())
    with open(memory, "wb", closefd=False) as file:
        pickle.dump(answer, file)
    os._exit(0)


def _unpickled(memory: int) -> Any:
    os.lseek(memory, 0, os.SEEK_SET)
    with open(memory, "rb", closefd=False) as file:
        data = file.read()
    assert data, "the child ended without an answer"
    is_fine, answer = pickle.loads(data)
    assert is_fine, answer
    return answer


def _wait(pid: int) -> int:
    """Reap a child, by force when it takes too long."""
    end = time.monotonic() + _SECONDS
    pidfd = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        if not poll.poll((end - time.monotonic()) * 1000):
            os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1]
    finally:
        os.close(pidfd)


def _supervise(
    act: Callable[[], Any],
    names: Sequence[str],
    handlers: Callable[[Kit], Mapping[str, Handler]],
    before: Callable[[], Any] | None,
    source: Sourced | None,
) -> Outcome:
    page = mmap.mmap(-1, mmap.PAGESIZE)
    memory = os.memfd_create("result")
    child = os.fork()
    if child == 0:
        _run_in_child(lambda: _filtered(act, names, page, before), memory, None)
    failures: list[str] = []
    loops: list[Loop] = []

    def blocking(notification: Notification) -> None:
        loops[0].blocking(notification)

    kit = Kit(Listener(_taken(child, page)), World(), blocking, child)
    numbered = {_number(name): handler for name, handler in handlers(kit).items()}
    received, numbered = source(kit, numbered) if source else (None, numbered)
    loop = Loop(
        kit.listener,
        numbered,
        _go_on,
        lambda notification, error: failures.append(
            f"{notification}: {''.join(traceback.format_exception(error))}"
        ),
        received,
    )
    loops.append(loop)
    loop.start(failures.append)
    page[8:9] = b"\1"
    status = _wait(child)
    return Outcome(_unpickled(memory), kit.log, status, failures)


def _go_on(notification: Notification) -> Answer:  # noqa: ARG001  # a Handler's name
    return GO_ON


def _number(name: str) -> int:
    number = number_of(name)
    assert number is not None, name
    return number


def _taken(child: int, page: mmap.mmap) -> int:
    """The listener that the child has just made; see `_filtered`."""
    end = time.monotonic() + _SECONDS
    while not (number := struct.unpack_from("=i", page, 4)[0]):
        assert time.monotonic() < end, "the child loads no filter"
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the child has ended"
        os.sched_yield()
    process = pidfd_open(child)
    try:
        return pidfd_getfd(process, number)
    finally:
        os.close(process)


def _filtered(
    act: Callable[[], Any],
    names: Sequence[str],
    page: mmap.mmap,
    before: Callable[[], Any] | None,
) -> Any:
    """Load the filter; make no call that could be asked about until it is served."""
    if before is not None:
        before()
    program = _program([_number(name) for name in names])
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    number = _LIBRARY.syscall(
        _number("seccomp"), 1, _LISTEN | _WAIT_KILLABLE, ctypes.c_char_p(head)
    )
    struct.pack_into("=i", page, 4, number)
    while page[8] == 0:
        os.sched_yield()
    os.close(number)
    return act()


def _program(numbers: Sequence[int]) -> bytes:
    """Ask about these numbers, allow the rest."""
    instruction = struct.Struct("=HBBI")
    lines = [instruction.pack(0x20, 0, 0, 0)]  # the number
    for number in numbers:
        lines.append(instruction.pack(0x15, 0, 1, number))
        lines.append(instruction.pack(0x06, 0, 0, _ASK))
    lines.append(instruction.pack(0x06, 0, 0, _ALLOW))
    return b"".join(lines)
