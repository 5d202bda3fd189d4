"""The listener of a filter: what it hands out and takes, on a real kernel."""

import ctypes
import errno
import os
import signal
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from mmap import PAGESIZE, mmap
from pathlib import Path

import pytest
from spec.redlane_home import wait_for

from redlane_context_syscall.bpf import NOTIFY, Rule, assemble
from redlane_context_syscall.kernel.features import Features
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import pidfd_getfd, pidfd_open
from redlane_context_syscall.numbers import NATIVE, number_of

_NEW_LISTENER, _NEW_PRIVILEGES, _DUMPABLE = 8, 38, 4
_CALLS = "getpriority"
_LIBRARY = ctypes.PyDLL(None, use_errno=True)
_KERNELS = [(6, 18), (6, 10), (5, 13)]
"""As it is; one that must be polled for the end; one older still."""


@dataclass
class Child:
    """A process under a filter that asks about getpriority."""

    pid: int
    listener: Listener
    page: mmap

    def result(self) -> tuple[int, int]:
        """Wait for it: what its call returned, and its errno."""
        status = os.waitpid(self.pid, 0)[1]
        self.pid = 0
        assert status == 0
        value, code = struct.unpack_from("=qi", self.page, 16)
        return value, code


def _call(*registers: int) -> int:
    arguments = [ctypes.c_ulong(each) for each in (*registers, *[0] * 6)[:6]]
    result: int = _LIBRARY.syscall(ctypes.c_long(number_of(_CALLS) or 0), *arguments)
    return result


def _one_call() -> int:
    return _call(1, 2, 3, 4, 5, 2**64 - 1)


@contextmanager
def _filtered(act: Callable[[], int], version: tuple[int, int]) -> Iterator[Child]:
    page = mmap(-1, PAGESIZE)
    pid = os.fork()
    if not pid:
        _run(act, page)
    wait_for(lambda: page[4])
    process = pidfd_open(pid)
    (number,) = struct.unpack_from("=i", page)
    listener = Listener(pidfd_getfd(process, number), Features(version))
    os.close(process)
    page[5] = 1
    child = Child(pid, listener, page)
    try:
        yield child
    finally:
        listener.close()
        if child.pid:
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)


def _run(act: Callable[[], int], page: mmap) -> None:
    code = assemble({number_of(_CALLS) or 0: [Rule(NOTIFY)]})
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    _LIBRARY.prctl(_DUMPABLE, 1, 0, 0, 0)
    _LIBRARY.prctl(_NEW_PRIVILEGES, 1, 0, 0, 0)
    number = _LIBRARY.syscall(
        number_of("seccomp"), 1, _NEW_LISTENER, ctypes.c_char_p(head)
    )
    struct.pack_into("=i", page, 0, number)
    page[4] = 1
    while not page[5]:
        os.sched_yield()
    os.close(number)
    ctypes.set_errno(0)
    value = act()
    struct.pack_into("=qi", page, 16, value, ctypes.get_errno())
    os._exit(0)


@pytest.fixture(params=_KERNELS, ids=lambda version: f"{version[0]}.{version[1]}")
def version(request: pytest.FixtureRequest) -> tuple[int, int]:
    """A kernel's version that the listener is told."""
    version: tuple[int, int] = request.param
    if version > Features.of_this_kernel().version:
        pytest.skip("a newer kernel than this")
    return version


def _received(child: Child) -> Notification:
    notification = child.listener.receive()
    assert notification is not None
    return notification


def test_a_call_is_told_by_its_registers(version: tuple[int, int]) -> None:
    with _filtered(_one_call, version) as child:
        told = _received(child)

        assert (told.pid, told.number, told.arch) == (
            child.pid,
            number_of(_CALLS),
            NATIVE,
        )
        assert told.args == (1, 2, 3, 4, 5, 2**64 - 1)
        assert child.listener.is_valid(told.id)
        assert not child.listener.is_valid(told.id + 1)


@pytest.mark.parametrize("value", [0, 7, 2**40, -5000])
def test_a_value_is_what_the_call_returns(version: tuple[int, int], value: int) -> None:
    with _filtered(_one_call, version) as child:
        assert child.listener.answer(_received(child).id, value=value)

        assert child.result()[0] == ctypes.c_int(value).value


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOENT, errno.ENOSYS])
def test_an_error_is_what_the_call_fails_with(
    version: tuple[int, int], error: int
) -> None:
    with _filtered(_one_call, version) as child:
        assert child.listener.answer(_received(child).id, error=error)

        assert child.result() == (-1, error)


def test_a_call_can_be_left_to_the_kernel(version: tuple[int, int]) -> None:
    with _filtered(lambda: _call(0, 0), version) as child:
        assert child.listener.go_on(_received(child).id)

        assert child.result() == (20 - os.getpriority(os.PRIO_PROCESS, 0), 0)


def test_a_call_is_answered_once(version: tuple[int, int]) -> None:
    with _filtered(lambda: _call() + _call(), version) as child:
        told = _received(child)
        child.listener.answer(told.id)
        child.listener.answer(_received(child).id)

        assert not child.listener.answer(told.id)


@pytest.mark.parametrize("close_on_exec", [True, False])
def test_an_open_file_is_given_away(
    version: tuple[int, int], *, close_on_exec: bool, tmp_path: Path
) -> None:
    file = tmp_path / "given"
    file.write_bytes(b"content")

    def act() -> int:
        number = _call()
        fine = os.get_inheritable(number) is not close_on_exec
        return number if fine and os.read(number, 9) == b"content" else -2

    with _filtered(act, version) as child, file.open("rb") as opened:
        told = _received(child).id
        number = child.listener.hand_over(
            told, opened.fileno(), close_on_exec=close_on_exec
        )

        assert child.listener.answer(told, value=number)
        assert child.result()[0] > 2


def test_a_full_table_leaves_the_call_unanswered(version: tuple[int, int]) -> None:
    def act() -> int:
        limit = (ctypes.c_ulong * 2)(3, 3)
        _LIBRARY.setrlimit(7, limit)
        return _call()

    with _filtered(act, version) as child:
        told = _received(child)
        with pytest.raises(OSError, match="Too many open files") as caught:
            child.listener.hand_over(told.id, 0, close_on_exec=True)
        assert child.listener.answer(told.id, error=caught.value.errno or 0)

        assert child.result() == (-1, errno.EMFILE)


def test_a_caller_that_has_gone_is_no_error(version: tuple[int, int]) -> None:
    with _filtered(_one_call, version) as child:
        listener, told = child.listener, _received(child)
        os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
        child.pid = 0

        assert not listener.is_valid(told.id)
        assert not listener.answer(told.id)
        assert not listener.go_on(told.id)
        assert listener.hand_over(told.id, 0, close_on_exec=True) == -1
        assert listener.receive() is None


def test_the_end_of_the_last_process_is_told(version: tuple[int, int]) -> None:
    """Told to a thread that waits already, and only when no descendant is left."""
    reading, writing = os.pipe()

    def act() -> int:
        if not os.fork():
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        return 0

    told: list[Notification | None] = []
    with _filtered(act, version) as child:
        thread = threading.Thread(target=lambda: told.append(child.listener.receive()))
        thread.start()
        child.result()
        assert not told

        os.close(writing)
        thread.join(20)
    os.close(reading)
    assert told == [None]


def test_nothing_is_received_after_giving_up(version: tuple[int, int]) -> None:
    with _filtered(_one_call, version) as child:
        child.listener.give_up()

        assert child.listener.receive() is None


def test_many_threads_answer_at_once(version: tuple[int, int]) -> None:
    def act() -> int:
        totals: list[int] = []
        workers = [
            threading.Thread(
                target=lambda: totals.append(sum(_waiting_call() for _ in range(200)))
            )
            for _ in range(4)
        ]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        return sum(totals)

    with _filtered(act, version) as child:
        lock = threading.Lock()

        def serve() -> None:
            while True:
                with lock:
                    told = child.listener.receive()
                if told is None:
                    return
                child.listener.answer(told.id, value=3)

        servers = [threading.Thread(target=serve) for _ in range(3)]
        for each in servers:
            each.start()
        assert child.result()[0] == 4 * 200 * 3
        for each in servers:
            each.join(20)


def _waiting_call() -> int:
    """A call that lets other threads of the interpreter run meanwhile."""
    result: int = ctypes.CDLL(None).syscall(number_of(_CALLS), 0, 0)
    return result


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("6.1.0-13-amd64", (6, 1)),
        ("5.6", (5, 6)),
        ("6.18.44-fc", (6, 18)),
        ("odd", (0, 0)),
        ("", (0, 0)),
    ],
)
def test_releases_are_read(release: str, version: tuple[int, int]) -> None:
    assert Features.of(release).version == version


@pytest.mark.parametrize(
    ("version", "offers"),
    [
        ((4, 19), ()),
        ((5, 4), ()),
        ((5, 5), ("goes_on",)),
        ((5, 8), ("goes_on", "resolves")),
        ((5, 9), ("goes_on", "resolves", "injects")),
        ((6, 10), ("goes_on", "resolves", "injects")),
        ((6, 11), ("goes_on", "resolves", "injects", "tells_of_the_end")),
    ],
)
def test_what_a_kernel_offers(
    version: tuple[int, int], offers: tuple[str, ...]
) -> None:
    features = Features(version)
    names = ("goes_on", "resolves", "injects", "tells_of_the_end")

    assert tuple(each for each in names if getattr(features, each)) == offers
