"""Which system calls the filter stops, refuses or asks about, and why: tables.

Without them a session could reach a file, another process or its own supervisor by a
way that nobody looks at. `FilterRule.when` is empty for every invocation of the call;
of several rules about one call the first that applies wins.
"""

import errno
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import getpgid
from types import MappingProxyType

from redlane_context_syscall.bpf import NOTIFY, Condition, refuse

__all__ = ["EXACT", "FilterRule", "closed", "guarding", "watched"]


@dataclass(frozen=True, slots=True)
class FilterRule:
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
            *("mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat"),
            *("truncate", "chmod", "fchmod", "fchmodat", "fchmodat2"),
            *("chown", "fchown", "lchown", "fchownat"),
            *("utime", "utimes", "futimesat", "utimensat"),
            *("setxattr", "lsetxattr", "fsetxattr"),
            *("removexattr", "lremovexattr", "fremovexattr"),
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
        "process_vm_readv": "reads from other processes",
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
            ("mount", "umount2", "pivot_root"),
            "gives files other paths than policies know",
        ),
        "setns": "paths mean other files in another namespace",
    }
)
"""Closed, or asked about for a role that may enter namespaces."""

_BY_DESCRIPTOR: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            *("open_tree", "open_tree_attr", "move_mount"),
            *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
        ),
        "files of a mount that is nowhere have no paths; programs fall back on mount",
    )
)
"""Closed, or as if there were none for a role that may enter namespaces."""

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
        "execve": "what is started is looked at before it runs: it may be a shell",
        "execveat": "what is started is looked at before it runs: it may be a shell",
    }
)

_NEW_NAMESPACES = 0x7E020000  # CLONE_NEW…, but for time's, which clone has not
_NEW_VIEWS = 0x10020000  # CLONE_NEWUSER and CLONE_NEWNS
_SIBLING = 0x8000  # CLONE_PARENT
_CAPABILITY_OPTIONS = (24, 28, 47)  # PR_CAPBSET_DROP, _SET_SECUREBITS, _CAP_AMBIENT
_MEMORY_MAP = 35  # PR_SET_MM
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


_IN_PART: tuple[FilterRule, ...] = (
    FilterRule(
        "userfaultfd",
        _REFUSED,
        "could hold up the supervisor where it reads the caller's memory",
        (Condition(0, (0,), mask=_USER_FAULTS),),
    ),
    FilterRule(
        "ioctl",
        _REFUSED,
        "could hold up the supervisor where it reads the caller's memory",
        (_is(1, _NEW_USERFAULTFD), Condition(2, (0,), mask=_USER_FAULTS)),
    ),
    FilterRule(
        "clone",
        _REFUSED,
        "whose child a process is tells whether its shells have been judged",
        (_some(0, _SIBLING),),
    ),
    FilterRule(
        "prctl",
        _REFUSED,
        "which program a process runs tells what it may read",
        (_is(0, _MEMORY_MAP),),
    ),
    FilterRule(
        "ioctl",
        _REFUSED,
        "types into the terminal's other programs",
        (_is(1, *_TYPING),),
    ),
    FilterRule(
        "ioctl",
        _REFUSED,
        "has the kernel send signals; whereto is in memory",
        (_is(1, *_SET_OWNERS),),
    ),
    FilterRule(
        "ioctl",
        _REFUSED,
        "gives every file of a tree a second name",
        (_is(1, *_SNAPSHOTS),),
    ),
    FilterRule(
        "ioctl",
        _REFUSED,
        "opens a file that no path is known of",
        (_is(1, _BY_HANDLE),),
    ),
    FilterRule(
        "fcntl",
        _REFUSED,
        "has the kernel send signals; whereto is in memory",
        (_is(1, _SET_OWNER_EX),),
    ),
)

_SOME_PROCESS = (Condition(0, (0,), negated=True),)  # none is who calls
_STEERING: tuple[tuple[str, tuple[Condition, ...]], ...] = (
    ("sched_setaffinity", _SOME_PROCESS),
    ("sched_setscheduler", _SOME_PROCESS),
    ("sched_setparam", _SOME_PROCESS),
    ("sched_setattr", _SOME_PROCESS),
    ("setpriority", (Condition(1, (0,), negated=True),)),
    ("setpriority", (_is(0, 1, 2),)),  # PRIO_PGRP, PRIO_USER
    ("ioprio_set", (Condition(1, (0,), negated=True),)),
    ("ioprio_set", (_is(0, 2, 3),)),  # IOPRIO_WHO_PGRP, IOPRIO_WHO_USER
)

_SIGNALS: tuple[FilterRule, ...] = (
    *(
        FilterRule(name, NOTIFY, "may reach a thread of the supervisor")
        for name in ("kill", "tkill", "rt_sigqueueinfo", "pidfd_send_signal")
    ),
    FilterRule(
        "prlimit64",
        NOTIFY,
        "may reach a thread of the supervisor",
        (Condition(0, (0,), negated=True),),
    ),
    *(
        FilterRule(name, NOTIFY, "may change a process outside", when)
        for name, when in _STEERING
    ),
    FilterRule(
        "fcntl",
        NOTIFY,
        "has the kernel send signals to a process",
        (_is(1, _SET_OWNER), Condition(2, (0,), negated=True)),
    ),
)
"""Thread ids reach processes too, so registers alone do not tell who is meant."""

_BY_PROCESS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
_FATAL_TO_ALL = (9, 19)  # SIGKILL, SIGSTOP


def closed(*, namespaces: bool = False) -> Iterator[FilterRule]:
    """What is refused; for a policy that names it, after an event (`refusal`)."""
    for table, becomes in (
        (_NOT_THERE, _ABSENT),
        (_SANDBOXES, _SWITCHED_OFF),
        (_CLOSED, _REFUSED),
        (_MOUNTING, NOTIFY if namespaces else _REFUSED),
        (_BY_DESCRIPTOR, _ABSENT if namespaces else _REFUSED),
    ):
        for name, why in table.items():
            yield FilterRule(name, becomes, why)
    yield from _IN_PART
    if not namespaces:
        why = "paths mean other files in another namespace"
        for name in ("clone", "unshare"):
            yield FilterRule(name, _REFUSED, why, (_some(0, _NEW_VIEWS),))


def watched() -> Iterator[FilterRule]:
    """What the supervisor is asked about, whatever policies say."""
    for table in (EXACT, _CREDENTIALS, _VIEWS):
        for name, why in table.items():
            yield FilterRule(name, NOTIFY, why)
    yield FilterRule(
        "clone",
        NOTIFY,
        "the child may see other files and processes",
        (_some(0, _NEW_NAMESPACES),),
    )
    yield FilterRule(
        "prctl",
        NOTIFY,
        "from then on programs start with other rights",
        (_is(0, *_CAPABILITY_OPTIONS),),
    )
    yield from _SIGNALS


def guarding(
    protected: frozenset[int], *, namespaces: bool = False
) -> Iterator[FilterRule]:
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
        yield FilterRule(name, _REFUSED, why, (_is(0, *processes),))
    all_of_them = tuple(-each for each in groups)
    signals = _is(1, *_FATAL_TO_ALL)
    yield FilterRule("kill", _REFUSED, "hits every process", (_is(0, -1),))
    yield FilterRule("kill", _REFUSED, why, (_is(0, *all_of_them), signals))
    sets_owner = _is(1, _SET_OWNER)
    yield FilterRule("fcntl", _REFUSED, why, (sets_owner, _is(2, *processes)))
    yield FilterRule("fcntl", _REFUSED, why, (sets_owner, _is_negative(2)))


def _groups(processes: tuple[int, ...]) -> Iterator[int]:
    for each in processes:
        try:
            yield getpgid(each)
        except ProcessLookupError:
            continue
