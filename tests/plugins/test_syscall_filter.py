"""The filter of a session, loaded: what is refused, asked about, or let through."""

import ctypes
import errno
import mmap
import os
import platform
import signal
import struct
import time
from collections.abc import Callable, Sequence

import pytest

from redlane.api import GuardOptions
from redlane.policies.syscall_names import SYSCALL_NAMES
from redlane_context_syscall.filter import program, refusal, roads
from redlane_context_syscall.kernel.listener import Listener
from redlane_context_syscall.kernel.system import pidfd_getfd, pidfd_open
from redlane_context_syscall.numbers import name_of, number_of
from redlane_context_syscall.roads import EXACT, closed, watched

_ASKED = errno.EUCLEAN  # what we answer, and no call here fails with by itself
_THROUGH = "let through"
_HIGH = 0xDEADBEEF << 32
_SECONDS = 30
_NEW_LISTENER, _NEW_PRIVILEGES, _DUMPABLE = 8, 38, 4
_LIBRARY = ctypes.PyDLL(None, use_errno=True)
_RESULTS_AT = 16

Call = tuple[str, tuple[int, ...]]


def _outcomes(code: bytes, calls: Sequence[Call]) -> list[str]:
    """Make the calls under the filter: what became of each."""
    page = mmap.mmap(-1, mmap.PAGESIZE * 4)
    child = os.fork()
    if not child:
        _make_calls(code, calls, page)
    try:
        _answer(child, page)
    finally:
        status = os.waitpid(child, 0)[1]
    assert status == 0
    numbers = struct.unpack_from(f"={len(calls)}i", page, _RESULTS_AT)
    names = {_ASKED: "asked", errno.EPERM: "EPERM", errno.ENOSYS: "ENOSYS"}
    names[errno.EOPNOTSUPP] = "EOPNOTSUPP"
    return [names.get(number, _THROUGH) for number in numbers]


def _make_calls(code: bytes, calls: Sequence[Call], page: mmap.mmap) -> None:
    try:
        numbered = [(number_of(name) or 0, args) for name, args in calls]
        _load(code, page)
        for at, (number, args) in enumerate(numbered):
            registers = [ctypes.c_ulong(each) for each in (*args, *[0] * 6)[:6]]
            result = _LIBRARY.syscall(ctypes.c_long(number), *registers)
            seen = ctypes.get_errno() if result == -1 else 0
            struct.pack_into("=i", page, _RESULTS_AT + 4 * at, seen)
        os._exit(0)
    finally:
        os._exit(1)


def _load(code: bytes, page: mmap.mmap) -> None:
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    _LIBRARY.prctl(_DUMPABLE, 1, 0, 0, 0)
    _LIBRARY.prctl(_NEW_PRIVILEGES, 1, 0, 0, 0)
    number = _LIBRARY.syscall(
        number_of("seccomp"), 1, _NEW_LISTENER, ctypes.c_char_p(head)
    )
    struct.pack_into("=i", page, 0, number)
    while not page[4]:
        os.sched_yield()


def _answer(child: int, page: mmap.mmap) -> None:
    """Tell every call that is asked about that it was."""
    deadline = time.monotonic() + _SECONDS
    while not (number := struct.unpack_from("=i", page)[0]):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert number > 0
    process = pidfd_open(child)
    listener = Listener(pidfd_getfd(process, number))
    os.close(process)
    page[4] = 1
    while (notification := listener.receive()) is not None:
        listener.answer(notification.id, error=_ASKED)
    listener.close()


def _plain(
    *named: str, protected: frozenset[int] = frozenset(), namespaces: bool = False
) -> bytes:
    options = GuardOptions(namespaces=namespaces)
    return program(dict.fromkeys(named, False), protected, options)


def _known(names: Sequence[str]) -> list[str]:
    return [each for each in names if number_of(each) is not None]


def _outcome_of(becomes: int) -> str:
    return {
        0x7FC00000: "asked",
        0x00050000 | errno.EPERM: "EPERM",
        0x00050000 | errno.ENOSYS: "ENOSYS",
        0x00050000 | errno.EOPNOTSUPP: "EOPNOTSUPP",
    }[becomes]


def test_what_is_closed_or_watched_whatever_it_is_given() -> None:
    rows = [each for each in (*closed(), *watched()) if not each.when]
    rows = [each for each in rows if number_of(each.call) is not None]

    outcomes = _outcomes(_plain(), [(each.call, ()) for each in rows])

    found = {each.call: outcome for each, outcome in zip(rows, outcomes, strict=True)}
    assert found == {each.call: _outcome_of(each.becomes) for each in rows}


def test_exact_calls_are_asked_about_in_every_session() -> None:
    names = _known(tuple(EXACT))

    assert set(_outcomes(_plain(), [(name, ()) for name in names])) == {"asked"}


_NEW_USER, _NEW_MOUNTS, _NEW_PIDS, _NEW_NET = 1 << 28, 1 << 17, 1 << 29, 1 << 30
_NO_FORK = 0x10000  # CLONE_THREAD without what it needs: EINVAL, and no child
_PARTS: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("clone", (_NEW_USER | 17,), "EPERM"),
    ("clone", (_NEW_MOUNTS | 17,), "EPERM"),
    ("clone", (_HIGH | _NEW_USER,), "EPERM"),
    ("clone", (_NEW_PIDS | _NO_FORK,), "asked"),
    ("clone", (_NEW_NET | _NO_FORK,), "asked"),
    ("clone", (_NO_FORK,), _THROUGH),
    ("unshare", (_NEW_USER,), "EPERM"),
    ("unshare", (_NEW_MOUNTS | 0x400,), "EPERM"),
    ("unshare", (_HIGH,), "asked"),
    ("userfaultfd", (0o2000000,), "EPERM"),
    ("userfaultfd", (2 | 1,), _THROUGH),  # a flag that is none: EINVAL
    ("ioctl", (-1, 0xAA00, 0), "EPERM"),
    ("ioctl", (-1, 0xAA00, 1), _THROUGH),
    ("ioctl", (-1, 0x5412, 0), "EPERM"),
    ("ioctl", (-1, _HIGH | 0x5412, 0), "EPERM"),
    ("ioctl", (-1, 0x541C, 0), "EPERM"),
    ("ioctl", (-1, 0x8901, 0), "EPERM"),
    ("ioctl", (-1, 0x8902, 0), "EPERM"),
    ("ioctl", (-1, 0x50009401, 0), "EPERM"),
    ("ioctl", (-1, 0x50009417, 0), "EPERM"),
    ("ioctl", (-1, 0xC038586B, 0), "EPERM"),
    ("ioctl", (-1, 0x5401, 0), _THROUGH),
    ("fcntl", (0, 15, 0), "EPERM"),
    ("fcntl", (-1, 8, 0), _THROUGH),
    ("fcntl", (0, 8, 12345), "asked"),
    ("fcntl", (0, 1, 0), _THROUGH),
    ("prctl", (24, 0), "asked"),
    ("prctl", (_HIGH | 28, 0), "asked"),
    ("prctl", (47, 0), "asked"),
    ("prctl", (3, 0), _THROUGH),
    ("prlimit64", (0, 7, 0, 0), _THROUGH),
    ("prlimit64", (12345, 7, 0, 0), "asked"),
    ("mknod", (0, 0o20666, 0), "EPERM"),
    ("mknod", (0, 0o60660, 0), "EPERM"),
    ("mknod", (0, 0o100644, 0), _THROUGH),
    ("mknod", (0, 0o10644, 0), _THROUGH),
    ("mknodat", (-100, 0, 0o60660, 0), "EPERM"),
    ("mknodat", (-100, 0, 0o140644, 0), _THROUGH),
    ("kill", (12345, 0), "asked"),
    ("kill", (0, 9), "asked"),
    ("tkill", (12345, 0), "asked"),
    ("tgkill", (0, 0, 0), _THROUGH),
    ("pidfd_send_signal", (-1, 0, 0, 0), "asked"),
    ("pidfd_open", (0, 0), _THROUGH),
    ("getpid", (), _THROUGH),
    ("read", (-1, 0, 0), _THROUGH),
    ("connect", (-1, 0, 0), _THROUGH),
    ("execve", (0, 0, 0), _THROUGH),
)


def test_what_is_closed_or_watched_in_part() -> None:
    rows = [each for each in _PARTS if number_of(each[0]) is not None]

    outcomes = _outcomes(_plain(), [(name, args) for name, args, _ in rows])

    assert list(zip(rows, outcomes, strict=True)) == [(row, row[2]) for row in rows]


@pytest.fixture
def guard() -> int:
    """A process that guards a session: here, ourselves, who survive a failed test."""
    return os.getpid()


def _hits(guard: int) -> tuple[tuple[str, tuple[int, ...], str], ...]:
    """The signal 0 hits nobody, should it get through."""
    group = os.getpgid(guard)
    return (
        ("kill", (guard, 0), "EPERM"),
        ("kill", (_HIGH | guard, 0), "EPERM"),
        ("kill", (-1, 0), "EPERM"),
        ("kill", (0xFFFFFFFF, 0), "EPERM"),
        ("kill", (-guard, 9), "EPERM"),
        ("kill", (-group, 9), "EPERM"),
        ("kill", (-group & 0xFFFFFFFF, _HIGH | 19), "EPERM"),
        ("kill", (-group, 0), "asked"),
        ("kill", (guard + 1, 0), "asked"),
        ("tkill", (guard, 0), "EPERM"),
        ("tgkill", (guard, guard, 0), "EPERM"),
        ("tgkill", (guard + 1, guard, 0), _THROUGH),
        ("rt_sigqueueinfo", (guard, 0, 0), "EPERM"),
        ("rt_tgsigqueueinfo", (guard, guard, 0, 0), "EPERM"),
        ("prlimit64", (guard, 7, 0, 0), "EPERM"),
        ("pidfd_open", (guard, 0), "EPERM"),
        ("pidfd_open", (guard, 0x80), "EPERM"),
        ("fcntl", (0, 8, guard), "EPERM"),
        ("fcntl", (0, 8, -group), "EPERM"),
        ("fcntl", (0, 8, 0x80000001), "EPERM"),
        ("fcntl", (0, 8, guard + 1), "asked"),
    )


def test_registers_that_name_a_guarding_process(guard: int) -> None:
    rows = _hits(guard)
    code = _plain(protected=frozenset({guard}))

    outcomes = _outcomes(code, [(name, args) for name, args, _ in rows])

    assert list(zip(rows, outcomes, strict=True)) == [(row, row[2]) for row in rows]


def test_a_policy_opens_no_way_to_a_guarding_process(guard: int) -> None:
    code = _plain("kill", "tgkill", protected=frozenset({guard}))
    calls = [("kill", (guard, 0)), ("tgkill", (guard, guard, 0)), ("tgkill", (0, 0, 0))]

    assert _outcomes(code, calls) == ["EPERM", "EPERM", "asked"]


def test_numbers_mean_others_where_namespaces_may_be_entered(guard: int) -> None:
    code = _plain(protected=frozenset({guard}), namespaces=True)
    calls: list[Call] = [("kill", (guard, 0)), ("kill", (-1, 0))]

    assert _outcomes(code, calls) == ["asked", "asked"]


@pytest.mark.parametrize("name", ["mount", "setns", "unshare", "pivot_root"])
def test_mounting_is_asked_about_where_namespaces_may_be_entered(name: str) -> None:
    code = _plain(namespaces=True)

    assert _outcomes(code, [(name, (_NEW_USER,))]) == ["asked"]


@pytest.mark.parametrize("name", ["connect", "ptrace", "openat2", "ioctl", "mkdir"])
def test_what_a_policy_names_is_asked_about(name: str) -> None:
    calls: list[Call] = [(name, (-1, 0x5412)), ("socket", (-1,))]

    assert _outcomes(_plain(name), calls) == ["asked", _THROUGH]


def test_what_a_policy_names_is_refused_all_the_same() -> None:
    options = GuardOptions()
    rows: list[tuple[str, tuple[int, ...], int]] = [
        ("ptrace", (0,) * 6, errno.EPERM),
        ("openat2", (0,) * 6, errno.ENOSYS),
        ("ioctl", (0, _HIGH | 0x5412, 0, 0, 0, 0), errno.EPERM),
        ("ioctl", (0, 0x5401, 0, 0, 0, 0), 0),
        ("unshare", (_NEW_MOUNTS, 0, 0, 0, 0, 0), errno.EPERM),
        ("unshare", (0x400, 0, 0, 0, 0, 0), 0),
        ("openat", (0,) * 6, 0),
    ]

    assert [refusal(name, args, options) for name, args, _ in rows] == [
        error for _, _, error in rows
    ]
    assert refusal("mount", (0,) * 6, GuardOptions(namespaces=True)) == 0


def test_a_filter_for_every_name_is_not_too_long() -> None:
    protected = frozenset(range(1_000_000, 1_000_010))

    code = program(dict.fromkeys(SYSCALL_NAMES, True), protected, GuardOptions())

    assert len(code) // 8 < 4096


def test_names_unknown_to_this_machine_are_left_out() -> None:
    assert _plain("no_such_call") == _plain()


def test_every_road_has_a_reason_and_a_name_that_is_known() -> None:
    rows = list(roads({}, frozenset({os.getpid()}), GuardOptions()))

    assert all(each.why for each in rows)
    assert {each.call for each in rows} <= SYSCALL_NAMES


def _run_code(code: bytes, filtered: bytes) -> int:
    """The status of a process that runs machine code under a filter."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    child = os.fork()
    if not child:
        memory = mmap.mmap(-1, mmap.PAGESIZE, prot=7)
        memory.write(code)
        at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        function: Callable[[], int] = ctypes.PYFUNCTYPE(ctypes.c_int)(at)
        page[4] = 1
        _load(filtered, page)
        os._exit(0 if function() > 0 else 1)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its way into the kernel")
def test_the_calls_of_32_bits_end_the_process() -> None:
    by_interrupt = b"\xb8\x14\0\0\0\xcd\x80\xc3"  # mov eax, getpid; int 0x80; ret

    status = _run_code(by_interrupt, _plain())

    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGSYS


def test_numbers_and_names_belong_together() -> None:
    for name in SYSCALL_NAMES:
        number = number_of(name)
        assert number is None or name_of(number) == name
    assert name_of(1_000_000) is None
