"""The loop: nothing that one call does keeps the others from being answered."""

import ctypes
import errno
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from syscall_harness import Kit, forked, supervised

from redlane_context_syscall.calls import GO_ON, Answer, Descriptor, Failure, Handler
from redlane_context_syscall.calls import Value as Returned
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.kernel.system import AT_FDCWD, openat
from redlane_context_syscall.watch import Watch

_WAIT_SECONDS = 20
_LIBRARY = ctypes.CDLL(None, use_errno=True)


def _ask() -> int:
    """A harmless call with a number for an answer, which leaves other threads alone."""
    return _checked(_LIBRARY.sched_get_priority_min(0))


def _tell() -> int:
    return _checked(_LIBRARY.sched_get_priority_max(0))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _leave_no_room() -> None:
    """Take no further open file."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))


def _served(
    act: Callable[[], Any], **handlers: Callable[[Kit, Notification], Answer]
) -> Any:
    """Run `act`; each call named is answered by its function."""

    def made(kit: Kit) -> Mapping[str, Handler]:
        return {
            name: lambda notification, each=each: each(kit, notification)
            for name, each in handlers.items()
        }

    return supervised(act, list(handlers), made).result


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (Returned(7), 7),
        (Failure(errno.ENOTDIR), errno.ENOTDIR),
        (GO_ON, 0),
    ],
    ids=["a value", "an errno", "left to the kernel"],
)
def test_the_caller_sees_the_answer(answer: Answer, seen: int) -> None:
    def act() -> int:
        try:
            return _ask()
        except OSError as error:
            return error.errno or -1

    got = _served(act, sched_get_priority_min=lambda _kit, _n: answer)
    assert got == seen


def test_what_a_handler_raises_is_a_refusal_and_is_told() -> None:
    def broken(_kit: Kit, _notification: Notification) -> Answer:
        raise KeyError("a mistake")

    def act() -> int:
        try:
            _ask()
        except OSError as error:
            return error.errno or -1
        return 0

    with pytest.raises(AssertionError, match="a mistake"):
        _served(act, sched_get_priority_min=broken)


def test_an_error_of_the_system_is_the_callers() -> None:
    def gone(_kit: Kit, _notification: Notification) -> Answer:
        raise FileNotFoundError(errno.ENOENT, "gone")

    def act() -> int:
        with pytest.raises(FileNotFoundError):
            _ask()
        return 1

    assert _served(act, sched_get_priority_min=gone) == 1


@pytest.mark.parametrize("says_so", [True, False], ids=["said", "unforeseen"])
def test_a_call_that_waits_holds_up_no_other(*, says_so: bool) -> None:
    going_on = threading.Event()

    def waits(kit: Kit, notification: Notification) -> Answer:
        if says_so:
            kit.blocking(notification)
        return Returned(going_on.wait(_WAIT_SECONDS))

    def sets(_kit: Kit, _notification: Notification) -> Answer:
        going_on.set()
        return Returned(0)

    def act() -> int:
        got: list[int] = []
        first = threading.Thread(target=lambda: got.append(_ask()))
        first.start()
        time.sleep(0)
        _tell()
        first.join()
        return got[0]

    handlers = {"sched_get_priority_min": waits, "sched_get_priority_max": sets}
    assert _served(act, **handlers) == 1


def test_many_calls_that_wait_hold_up_no_other(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    waiting = 60

    def opens(kit: Kit, notification: Notification) -> Answer:
        kit.blocking(notification)
        number = openat(AT_FDCWD, os.fsencode(fifo), os.O_RDONLY | os.O_CLOEXEC)
        return Descriptor(number, close_on_exec=True)

    def act() -> tuple[int, int]:
        numbers: list[int] = []
        threads = [
            threading.Thread(target=lambda: numbers.append(_ask()))
            for _ in range(waiting)
        ]
        for each in threads:
            each.start()
        answered = sum(_tell() for _ in range(100))
        with fifo.open("wb"):
            for each in threads:
                each.join()
        return answered, len(set(numbers))

    handlers = {
        "sched_get_priority_min": opens,
        "sched_get_priority_max": lambda _kit, _notification: Returned(1),
    }
    assert _served(act, **handlers) == (100, waiting)


def test_a_wait_for_a_caller_that_was_killed_is_broken_off(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def opens(kit: Kit, notification: Notification) -> Answer:
        kit.blocking(notification)
        kit.log.append("waits")
        try:
            openat(AT_FDCWD, os.fsencode(fifo), os.O_RDONLY | os.O_CLOEXEC)
        except InterruptedError:
            kit.log.append("broken off")
            raise
        return Returned(0)

    def tells(kit: Kit, _notification: Notification) -> Answer:
        return Returned(len(kit.log))

    def act() -> int:
        pid = os.fork()
        if not pid:
            _ask()
            os._exit(0)
        while _tell() < 1:
            os.sched_yield()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        end = time.monotonic() + _WAIT_SECONDS
        while (told := _tell()) < 2:
            if time.monotonic() > end:
                break
        return told

    handlers = {"sched_get_priority_min": opens, "sched_get_priority_max": tells}
    assert _served(act, **handlers) == 2


def test_a_file_without_room_in_the_table_is_undone(tmp_path: Path) -> None:
    made = tmp_path / "made"

    def creates(_kit: Kit, _notification: Notification) -> Answer:
        number = os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR)
        return Descriptor(number, close_on_exec=True, undo=made.unlink)

    def act() -> int:
        _leave_no_room()
        try:
            _ask()
        except OSError as error:
            return error.errno or -1
        return 0

    assert _served(act, sched_get_priority_min=creates) == errno.EMFILE
    assert not made.exists()


@dataclass(frozen=True, slots=True)
class _Watched(Descriptor):
    """Tells whether its caller still waits when it is closed."""

    waits: Callable[[], bool] = bool
    log: list[bool] = field(default_factory=list)

    def close(self) -> None:
        super(_Watched, self).close()
        self.log.append(self.waits())


@pytest.mark.parametrize("has_room", [True, False], ids=["given", "no room"])
def test_our_own_file_is_closed_before_the_caller_goes_on(*, has_room: bool) -> None:
    """Or what it has just written and closed could not be run yet (ETXTBSY)."""

    def gives(kit: Kit, notification: Notification) -> Answer:
        return _Watched(
            os.open("/dev/null", os.O_RDONLY),
            close_on_exec=True,
            waits=lambda: kit.listener.is_valid(notification.id),
            log=kit.log,
        )

    def act() -> None:
        if not has_room:
            _leave_no_room()
        with suppress(OSError):
            _ask()

    name = "sched_get_priority_min"
    outcome = supervised(
        act, [name], lambda kit: {name: lambda notification: gives(kit, notification)}
    )
    assert outcome.log == [True]


def test_threads_end_with_the_tree() -> None:
    def run() -> list[str]:
        _served(os.getpid, sched_get_priority_min=lambda _kit, _n: GO_ON)
        return []

    assert forked(run) == []


@pytest.mark.parametrize(
    ("restarts", "seen"), [(False, errno.EINTR), (True, 0)], ids=["ends", "restarts"]
)
def test_a_signal_that_is_caught_ends_the_wait(
    tmp_path: Path, *, restarts: bool, seen: int
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def opens(kit: Kit, notification: Notification) -> Answer:
        kit.blocking(notification)
        kit.log.append("waits")
        number = openat(AT_FDCWD, os.fsencode(fifo), os.O_RDONLY | os.O_CLOEXEC)
        os.close(number)
        return Returned(0)

    def tells(kit: Kit, _notification: Notification) -> Answer:
        return Returned(len(kit.log))

    def disturb(process: int) -> None:
        while _tell() < 1:
            os.sched_yield()
        os.kill(process, signal.SIGUSR1)
        while restarts and _tell() < 2:
            os.sched_yield()
        if restarts:
            fifo.open("wb").close()

    def act() -> int:
        signal.signal(signal.SIGUSR1, lambda *_: None)
        signal.siginterrupt(signal.SIGUSR1, not restarts)
        process = os.getpid()
        pid = os.fork()
        if not pid:
            disturb(process)
            os._exit(0)
        try:
            return _ask()
        except InterruptedError as error:
            return error.errno or -1
        finally:
            os.waitpid(pid, 0)

    handlers = {"sched_get_priority_min": opens, "sched_get_priority_max": tells}
    assert _served(act, **handlers) == seen


def test_the_lead_passes_only_while_its_thread_is_at_the_call() -> None:
    passing, ended = threading.Event(), threading.Event()
    was_over = []

    def pass_lead(_thread: int | None) -> bool:
        passing.set()
        was_over.append(ended.wait(0.3))
        return True

    watch = Watch(lambda _: True, pass_lead)
    watch.start()
    watch.begin(1, Notification.unpacked(bytes(80)))
    assert passing.wait(_WAIT_SECONDS)
    watch.end(1)
    ended.set()
    watch.stop()
    assert was_over == [False]
