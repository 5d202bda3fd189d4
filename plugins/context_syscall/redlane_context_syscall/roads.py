"""Which system calls the filter stops, refuses or asks about, and why: tables.

Without them a session could reach a file, another process or its own supervisor by a
road on which nobody looks. `Road.when` is empty for every invocation of the call; of
several roads of one call the first that applies wins.
"""

import errno
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import getpgid
from types import MappingProxyType

from redlane_context_syscall.bpf import NOTIFY, Condition, refuse

__all__ = ["EXACT", "Road", "closed", "guarding", "watched"]


@dataclass(frozen=True, slots=True)
class Road:
    """What becomes of a system call in the filter (SECCOMP_RET_…), and why."""

    call: str
    becomes: int
    why: str
    when: tuple[Condition, ...] = ()


_REFUSED = refuse(errno.EPERM)
_ABSENT = refuse(errno.ENOSYS)
_SWITCHED_OFF = refuse(errno.EOPNOTSUPP)

EXACT: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            *("open", "openat", "creat", "unlink", "unlinkat", "rmdir"),
            *("rename", "renameat", "renameat2"),
        ),
        "done in the caller's place (policy format: Syscall policy rule 6)",
    )
)
"""Calls that are done for the caller, in every session."""

_NOT_THERE: Mapping[str, str] = MappingProxyType(
    {
        "openat2": "its flags are in memory; programs fall back on openat",
        "clone3": "its flags are in memory; programs fall back on clone",
        "io_uring_setup": "opens, removes and connects without a system call",
        "io_uring_enter": "a ring from outside does so too",
        "io_uring_register": "a ring from outside does so too",
    }
)
_SANDBOXES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            "landlock_create_ruleset",
            "landlock_add_rule",
            "landlock_restrict_self",
        ),
        "the supervisor opens for the caller, and could not keep to its sandbox",
    )
)
_CLOSED: Mapping[str, str] = MappingProxyType(
    {
        "open_by_handle_at": "opens a file that no path is known of",
        "ptrace": "puts system calls and memory into other processes",
        "process_vm_writev": "writes into other processes",
        "process_madvise": "acts on the memory of other processes",
        "pidfd_getfd": "takes open files out of other processes",
        "kcmp": "looks into other processes",
        "perf_event_open": "looks into other processes",
        "fanotify_init": "could hold up what the supervisor opens",
        "bpf": "programs in the kernel see and change what others do",
        "init_module": "code in the kernel is bound by no filter",
        "finit_module": "code in the kernel is bound by no filter",
        "delete_module": "takes code out of the kernel",
        "kexec_load": "replaces the kernel",
        "kexec_file_load": "replaces the kernel",
        "iopl": "reaches the disk past the kernel",
        "ioperm": "reaches the disk past the kernel",
        "acct": "has the kernel write to a file",
        "swapon": "has the kernel write to a file",
    }
)
_MOUNTING: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("mount", "umount2", "open_tree", "open_tree_attr", "move_mount"),
                *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
                "pivot_root",
            ),
            "gives files other paths than policies know",
        ),
        "setns": "paths mean other files in another namespace",
    }
)
"""Closed, or asked about for a role that may enter namespaces."""

_CREDENTIALS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            *("setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid"),
            *("setfsuid", "setfsgid", "setgroups", "capset"),
        ),
        "from then on the caller has other rights than its supervisor",
    )
)
_VIEWS: Mapping[str, str] = MappingProxyType(
    {
        "chroot": "from then on paths mean other files",
        "unshare": "from then on paths may mean other files",
        "link": "a second name could go past policies on the first",
        "linkat": "a second name could go past policies on the first",
    }
)

_NEW_NAMESPACES = 0x7E020000  # CLONE_NEW…, but for time's, which clone has not
_NEW_VIEWS = 0x10020000  # CLONE_NEWUSER and CLONE_NEWNS
_CAPABILITY_OPTIONS = (24, 28, 47)  # PR_CAPBSET_DROP, _SET_SECUREBITS, _CAP_AMBIENT
_USER_FAULTS = 1  # UFFD_USER_MODE_ONLY
_NEW_USERFAULTFD = 0xAA00  # ioctl USERFAULTFD_IOC_NEW
_SET_OWNER, _SET_OWNER_EX = 8, 15  # fcntl F_SETOWN, F_SETOWN_EX
_SET_OWNERS = (0x8901, 0x8902)  # ioctl FIOSETOWN, SIOCSPGRP
_TYPING = (0x5412, 0x541C)  # ioctl TIOCSTI, TIOCLINUX
_SNAPSHOTS = (0x50009401, 0x50009417)  # ioctl BTRFS_IOC_SNAP_CREATE, its _V2
_BY_HANDLE = 0xC038586B  # ioctl XFS_IOC_OPEN_BY_HANDLE
_KIND, _DEVICES = 0xF000, (0x2000, 0x6000)  # S_IFMT; S_IFCHR, S_IFBLK
_NEGATIVE = 0x80000000


def _some(argument: int, flags: int) -> Condition:
    """At least one of the flags is set."""
    return Condition(argument, (0,), mask=flags, negated=True)


def _is(argument: int, *values: int) -> Condition:
    return Condition(argument, values)


def _is_negative(argument: int) -> Condition:
    return Condition(argument, (_NEGATIVE,), mask=_NEGATIVE)


_IN_PART: tuple[Road, ...] = (
    Road(
        "userfaultfd",
        _REFUSED,
        "could hold up the supervisor where it reads the caller's memory",
        (Condition(0, (0,), mask=_USER_FAULTS),),
    ),
    Road(
        "ioctl",
        _REFUSED,
        "could hold up the supervisor where it reads the caller's memory",
        (_is(1, _NEW_USERFAULTFD), Condition(2, (0,), mask=_USER_FAULTS)),
    ),
    Road(
        "ioctl",
        _REFUSED,
        "types into the terminal's other programs",
        (_is(1, *_TYPING),),
    ),
    Road(
        "ioctl",
        _REFUSED,
        "has the kernel send signals; whereto is in memory",
        (_is(1, *_SET_OWNERS),),
    ),
    Road(
        "ioctl",
        _REFUSED,
        "gives every file of a tree a second name",
        (_is(1, *_SNAPSHOTS),),
    ),
    Road(
        "ioctl",
        _REFUSED,
        "opens a file that no path is known of",
        (_is(1, _BY_HANDLE),),
    ),
    Road(
        "fcntl",
        _REFUSED,
        "has the kernel send signals; whereto is in memory",
        (_is(1, _SET_OWNER_EX),),
    ),
    *(
        Road(
            name,
            _REFUSED,
            "a second node of a device goes past policies on the first",
            (Condition(argument, _DEVICES, mask=_KIND),),
        )
        for name, argument in (("mknod", 1), ("mknodat", 2))
    ),
)

_SIGNALS: tuple[Road, ...] = (
    *(
        Road(name, NOTIFY, "may reach a thread of the supervisor")
        for name in ("kill", "tkill", "rt_sigqueueinfo", "pidfd_send_signal")
    ),
    Road(
        "prlimit64",
        NOTIFY,
        "may reach a thread of the supervisor",
        (Condition(0, (0,), negated=True),),
    ),
    Road(
        "fcntl",
        NOTIFY,
        "has the kernel send signals to a process",
        (_is(1, _SET_OWNER), Condition(2, (0,), negated=True)),
    ),
)
"""Thread ids reach processes too, so registers alone do not tell who is meant."""

_BY_PROCESS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
_FATAL_TO_ALL = (9, 19)  # SIGKILL, SIGSTOP


def closed(*, namespaces: bool = False) -> Iterator[Road]:
    """What is refused; for a policy that names it, after an event (`refusal`)."""
    for table, becomes in (
        (_NOT_THERE, _ABSENT),
        (_SANDBOXES, _SWITCHED_OFF),
        (_CLOSED, _REFUSED),
        (_MOUNTING, NOTIFY if namespaces else _REFUSED),
    ):
        for name, why in table.items():
            yield Road(name, becomes, why)
    yield from _IN_PART
    if not namespaces:
        why = "paths mean other files in another namespace"
        for name in ("clone", "unshare"):
            yield Road(name, _REFUSED, why, (_some(0, _NEW_VIEWS),))


def watched() -> Iterator[Road]:
    """What the supervisor is asked about, whatever policies say."""
    for table in (EXACT, _CREDENTIALS, _VIEWS):
        for name, why in table.items():
            yield Road(name, NOTIFY, why)
    yield Road(
        "clone",
        NOTIFY,
        "the child may see other files and processes",
        (_some(0, _NEW_NAMESPACES),),
    )
    yield Road(
        "prctl",
        NOTIFY,
        "from then on programs start with other rights",
        (_is(0, *_CAPABILITY_OPTIONS),),
    )
    yield from _SIGNALS


def guarding(protected: frozenset[int], *, namespaces: bool = False) -> Iterator[Road]:
    """What is refused because registers alone say that it hits a protected process.

    In a process id namespace of its own a number means another process: there the
    supervisor tells.
    """
    if namespaces or not protected:
        return
    processes = tuple(sorted(protected))
    groups = sorted({*_groups(processes), *processes})
    why = "hits a process that guards the session"
    for name in (*_BY_PROCESS, "prlimit64", "pidfd_open"):
        yield Road(name, _REFUSED, why, (_is(0, *processes),))
    all_of_them = tuple(-each for each in groups)
    signals = _is(1, *_FATAL_TO_ALL)
    yield Road("kill", _REFUSED, "hits every process", (_is(0, -1),))
    yield Road("kill", _REFUSED, why, (_is(0, *all_of_them), signals))
    sets_owner = _is(1, _SET_OWNER)
    yield Road("fcntl", _REFUSED, why, (sets_owner, _is(2, *processes)))
    yield Road("fcntl", _REFUSED, why, (sets_owner, _is_negative(2)))


def _groups(processes: tuple[int, ...]) -> Iterator[int]:
    for each in processes:
        try:
            yield getpgid(each)
        except ProcessLookupError:
            continue
