"""The filter of a session, loaded: what is refused, asked about, or let through."""

import ctypes
import errno
import mmap
import os
import platform
import signal
from collections.abc import Callable, Sequence

import pytest
from syscall_filtered import (
    HIGH,
    THROUGH,
    Call,
    load,
    numbers_of,
    outcomes_of,
    plain,
)

from redlane.api import GuardOptions
from redlane.policies.syscall_names import SYSCALL_NAMES
from redlane_context_syscall.filter import program, refusal, rules
from redlane_context_syscall.filter_rules import EXACT, closed, watched
from redlane_context_syscall.numbers import name_of, number_of


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

    outcomes = outcomes_of(plain(), [(each.call, ()) for each in rows])

    found = {each.call: outcome for each, outcome in zip(rows, outcomes, strict=True)}
    assert found == {each.call: _outcome_of(each.becomes) for each in rows}


def test_exact_calls_are_asked_about_in_every_session() -> None:
    names = _known(tuple(EXACT))

    assert set(outcomes_of(plain(), [(name, ()) for name in names])) == {"asked"}


_NEW_USER, _NEW_MOUNTS, _NEW_PIDS, _NEW_NET = 1 << 28, 1 << 17, 1 << 29, 1 << 30
_NO_FORK = 0x10000  # CLONE_THREAD without what it needs: EINVAL, and no child
_PARTS: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("clone", (_NEW_USER | 17,), "EPERM"),
    ("clone", (_NEW_MOUNTS | 17,), "EPERM"),
    ("clone", (HIGH | _NEW_USER,), "EPERM"),
    ("clone", (_NEW_PIDS | _NO_FORK,), "asked"),
    ("clone", (_NEW_NET | _NO_FORK,), "asked"),
    ("clone", (_NO_FORK,), THROUGH),
    ("unshare", (_NEW_USER,), "EPERM"),
    ("unshare", (_NEW_MOUNTS | 0x400,), "EPERM"),
    ("unshare", (HIGH,), "asked"),
    ("userfaultfd", (0o2000000,), "EPERM"),
    ("userfaultfd", (2 | 1,), THROUGH),  # a flag that is none: EINVAL
    ("ioctl", (-1, 0xAA00, 0), "EPERM"),
    ("ioctl", (-1, 0xAA00, 1), THROUGH),
    ("ioctl", (-1, 0x5412, 0), "EPERM"),
    ("ioctl", (-1, HIGH | 0x5412, 0), "EPERM"),
    ("ioctl", (-1, 0x541C, 0), "EPERM"),
    ("ioctl", (-1, 0x8901, 0), "EPERM"),
    ("ioctl", (-1, 0x8902, 0), "EPERM"),
    ("ioctl", (-1, 0x50009401, 0), "EPERM"),
    ("ioctl", (-1, 0x50009417, 0), "EPERM"),
    ("ioctl", (-1, 0xC038586B, 0), "EPERM"),
    ("ioctl", (-1, 0x5401, 0), THROUGH),
    ("fcntl", (0, 15, 0), "EPERM"),
    ("fcntl", (-1, 8, 0), THROUGH),
    ("fcntl", (0, 8, 12345), "asked"),
    ("fcntl", (0, 1, 0), THROUGH),
    ("prctl", (24, 0), "asked"),
    ("prctl", (HIGH | 28, 0), "asked"),
    ("prctl", (47, 0), "asked"),
    ("prctl", (3, 0), THROUGH),
    ("prlimit64", (0, 7, 0, 0), THROUGH),
    ("prlimit64", (12345, 7, 0, 0), "asked"),
    ("sched_setaffinity", (0, 0, 0), THROUGH),
    ("sched_setaffinity", (HIGH, 0, 0), THROUGH),
    ("sched_setaffinity", (12345, 0, 0), "asked"),
    ("sched_setscheduler", (12345, -1, 0), "asked"),
    ("sched_setparam", (12345, 0), "asked"),
    ("sched_setattr", (12345, 0, 0), "asked"),
    ("setpriority", (0, 0, 0), THROUGH),
    ("setpriority", (0, 12345, 0), "asked"),
    ("setpriority", (1, 0, 0), "asked"),
    ("setpriority", (2, 0, 0), "asked"),
    ("ioprio_set", (1, 0, 0), THROUGH),
    ("ioprio_set", (1, 12345, 0), "asked"),
    ("ioprio_set", (2, 0, 0), "asked"),
    ("ioprio_set", (3, 0, 0), "asked"),
    ("mknod", (0, 0o20666, 0), "asked"),
    ("mknod", (0, 0o60660, 0), "asked"),
    ("mknod", (0, 0o100644, 0), "asked"),
    ("mknod", (0, 0o10644, 0), "asked"),
    ("mknodat", (-100, 0, 0o60660, 0), "asked"),
    ("mknodat", (-100, 0, 0o140644, 0), "asked"),
    ("kill", (12345, 0), "asked"),
    ("kill", (0, 9), "asked"),
    ("tkill", (12345, 0), "asked"),
    ("tgkill", (0, 0, 0), THROUGH),
    ("pidfd_send_signal", (-1, 0, 0, 0), "asked"),
    ("pidfd_open", (0, 0), THROUGH),
    ("getpid", (), THROUGH),
    ("read", (-1, 0, 0), THROUGH),
    ("connect", (-1, 0, 0), THROUGH),
    ("execve", (0, 0, 0), "asked"),
)


def test_what_is_closed_or_watched_in_part() -> None:
    rows = [each for each in _PARTS if number_of(each[0]) is not None]

    outcomes = outcomes_of(plain(), [(name, args) for name, args, _ in rows])

    assert list(zip(rows, outcomes, strict=True)) == [(row, row[2]) for row in rows]


_ROUND_PLACES: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("setxattrat", (), "ENOSYS"),
    ("file_setattr", (), "ENOSYS"),
    ("ioctl", (-1, 0x40086602, 0), "EPERM"),  # FS_IOC_SETFLAGS
    ("ioctl", (-1, 0x401C5820, 0), "EPERM"),  # FS_IOC_FSSETXATTR
    ("ioctl", (-1, 0x40806685, 0), "EPERM"),  # FS_IOC_ENABLE_VERITY
    ("ioctl", (-1, 0x5000940F, 0), "EPERM"),  # BTRFS_IOC_SNAP_DESTROY
    ("ioctl", (-1, 0x40087602, 0), "EPERM"),  # FS_IOC_SETVERSION
    ("ioctl", (-1, 0x40046604, 0), "EPERM"),  # EXT4_IOC32_SETVERSION
    ("ioctl", (-1, 0x40047211, 0), "EPERM"),  # FAT_IOCTL_SET_ATTRIBUTES
    ("ioctl", (-1, 0x41009432, 0), "EPERM"),  # FS_IOC_SETFSLABEL
    ("ioctl", (-1, 0x4008662C, 0), "EPERM"),  # EXT4_IOC_SETFSUUID
    ("ioctl", (-1, 0x8004587D, 0), "EPERM"),  # EXT4_IOC_SHUTDOWN
    ("ioctl", (-1, 0xC0045877, 0), "EPERM"),  # FIFREEZE
    ("ioctl", (-1, 0xC0185879, 0), "EPERM"),  # FITRIM
    ("ioctl", (-1, 0xC0C89425, 0), "EPERM"),  # BTRFS_IOC_SET_RECEIVED_SUBVOL
    ("ioctl", (-1, 0x4004F50D, 0), "EPERM"),  # F2FS_IOC_SET_PIN_FILE
    ("quotactl", (-1, 0, 0, 0), "EPERM"),
    ("quotactl_fd", (-1, 0, 0, 0), "EPERM"),
    ("ioctl", (-1, 0x80086601, 0), THROUGH),  # FS_IOC_GETFLAGS
    ("chmod", (0, 0), "asked"),
)


def test_what_goes_round_places_is_refused_where_there_are_some() -> None:
    rows = [each for each in _ROUND_PLACES if number_of(each[0]) is not None]

    outcomes = outcomes_of(plain(places=True), [(name, args) for name, args, _ in rows])

    assert list(zip(rows, outcomes, strict=True)) == [(row, row[2]) for row in rows]


def test_limit_of_core_files_stays_where_none_may_be_left() -> None:
    bad = 1 << 46  # nobody's memory: the kernel itself would fail
    calls: list[Call] = [
        ("setrlimit", (4, bad)),
        ("setrlimit", (HIGH | 4, bad)),
        ("prlimit64", (0, 4, bad, 0)),
        ("prlimit64", (0, 4, 1, 0)),
        ("prlimit64", (12345, 4, bad, 0)),
    ]

    assert numbers_of(plain(coreless=True), calls) == (0,) * 5
    assert numbers_of(plain(), calls[:4]) == (errno.EFAULT,) * 4


def test_memory_stays_open_to_a_supervisor_that_is_not_root() -> None:
    closing, telling = (4, 0, 0, 0, 0, 0), (4, 1, 0, 0, 0, 0)
    options = GuardOptions()

    assert refusal("prctl", closing, options, is_root=False) == 0
    assert refusal("prctl", telling, options, is_root=False) is None
    assert refusal("prctl", closing, options) is None


@pytest.fixture
def guard() -> int:
    """A process that guards a session: here, ourselves, who survive a failed test."""
    return os.getpid()


def _hits(guard: int) -> tuple[tuple[str, tuple[int, ...], str], ...]:
    """The signal 0 hits nobody, should it get through."""
    group = os.getpgid(guard)
    return (
        ("kill", (guard, 0), "EPERM"),
        ("kill", (HIGH | guard, 0), "EPERM"),
        ("kill", (-1, 0), "EPERM"),
        ("kill", (0xFFFFFFFF, 0), "EPERM"),
        ("kill", (-guard, 9), "EPERM"),
        ("kill", (-group, 9), "EPERM"),
        ("kill", (-group & 0xFFFFFFFF, HIGH | 19), "EPERM"),
        ("kill", (-group, 0), "asked"),
        ("kill", (guard + 1, 0), "asked"),
        ("tkill", (guard, 0), "EPERM"),
        ("tgkill", (guard, guard, 0), "EPERM"),
        ("tgkill", (guard + 1, guard, 0), THROUGH),
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
    code = plain(protected=frozenset({guard}))

    outcomes = outcomes_of(code, [(name, args) for name, args, _ in rows])

    assert list(zip(rows, outcomes, strict=True)) == [(row, row[2]) for row in rows]


def test_a_policy_opens_no_way_to_a_guarding_process(guard: int) -> None:
    code = plain("kill", "tgkill", protected=frozenset({guard}))
    calls = [("kill", (guard, 0)), ("tgkill", (guard, guard, 0)), ("tgkill", (0, 0, 0))]

    assert outcomes_of(code, calls) == ["EPERM", "EPERM", "asked"]


def test_numbers_mean_others_where_namespaces_may_be_entered(guard: int) -> None:
    code = plain(protected=frozenset({guard}), namespaces=True)
    calls: list[Call] = [("kill", (guard, 0)), ("kill", (-1, 0))]

    assert outcomes_of(code, calls) == ["asked", "asked"]


@pytest.mark.parametrize("name", ["mount", "setns", "unshare", "pivot_root"])
def test_mounting_is_asked_about_where_namespaces_may_be_entered(name: str) -> None:
    code = plain(namespaces=True)

    assert outcomes_of(code, [(name, (_NEW_USER,))]) == ["asked"]


@pytest.mark.parametrize("name", ["connect", "ptrace", "openat2", "ioctl", "mkdir"])
def test_what_a_policy_names_is_asked_about(name: str) -> None:
    calls: list[Call] = [(name, (-1, 0x5412)), ("socket", (-1,))]

    assert outcomes_of(plain(name), calls) == ["asked", THROUGH]


def test_what_a_policy_names_is_refused_all_the_same() -> None:
    options = GuardOptions(coreless=True)
    rows: list[tuple[str, tuple[int, ...], int | None]] = [
        ("ptrace", (0,) * 6, errno.EPERM),
        ("openat2", (0,) * 6, errno.ENOSYS),
        ("ioctl", (0, HIGH | 0x5412, 0, 0, 0, 0), errno.EPERM),
        ("ioctl", (0, 0x5401, 0, 0, 0, 0), None),
        ("unshare", (_NEW_MOUNTS, 0, 0, 0, 0, 0), errno.EPERM),
        ("unshare", (0x400, 0, 0, 0, 0, 0), None),
        ("openat", (0,) * 6, None),
        ("setrlimit", (4, 1, 0, 0, 0, 0), 0),
        ("prlimit64", (0, 4, 1 << 32, 0, 0, 0), 0),
        ("prlimit64", (0, 4, 0, 1, 0, 0), None),
    ]

    assert [refusal(name, args, options) for name, args, _ in rows] == [
        error for _, _, error in rows
    ]
    assert refusal("mount", (0,) * 6, GuardOptions(namespaces=True)) is None


def test_a_filter_for_every_name_is_not_too_long() -> None:
    protected = frozenset(range(1_000_000, 1_000_010))

    options = GuardOptions(places=True, coreless=True)
    named = dict.fromkeys(SYSCALL_NAMES, True)
    code = program(named, protected, options, is_root=False)

    assert len(code) // 8 < 4096


def test_names_unknown_to_this_machine_are_left_out() -> None:
    assert plain("no_such_call") == plain()


def test_every_road_has_a_reason_and_a_name_that_is_known() -> None:
    options = GuardOptions(places=True, coreless=True)
    rows = list(rules({}, frozenset({os.getpid()}), options, is_root=False))

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
        load(filtered, page)
        os._exit(0 if function() > 0 else 1)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its way into the kernel")
def test_the_calls_of_32_bits_end_the_process() -> None:
    by_interrupt = b"\xb8\x14\0\0\0\xcd\x80\xc3"  # mov eax, getpid; int 0x80; ret

    status = _run_code(by_interrupt, plain())

    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGSYS


def test_numbers_and_names_belong_together() -> None:
    for name in SYSCALL_NAMES:
        number = number_of(name)
        assert number is None or name_of(number) == name
    assert name_of(1_000_000) is None
