"""Which arguments of which system calls are paths, and how the kernel follows them.

One row for each system call of Linux that takes a path, as x86-64 and arm64 have them;
the old calls without a directory argument exist on x86-64 alone.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from redlane_context_syscall.kernel.system import (
    AT_EMPTY_PATH,
    AT_SYMLINK_FOLLOW,
    AT_SYMLINK_NOFOLLOW,
)

__all__ = ["ADDRESSES", "PATHS", "PathArgument", "arguments_of"]

_IN_DONT_FOLLOW = 0x02000000
_FAN_DONT_FOLLOW = 0x4
_UMOUNT_NOFOLLOW = 0x8
_PICK_NOFOLLOW, _PICK_EMPTY = 0x2, 0x8
_MOVE_FROM_FOLLOW, _MOVE_FROM_EMPTY = 0x1, 0x4
_MOVE_TO_FOLLOW, _MOVE_TO_EMPTY = 0x10, 0x40
_CREATED_ONLY = os.O_CREAT | os.O_EXCL


@dataclass(frozen=True, slots=True)
class PathArgument:
    """A path among a call's registers, by number; -1 where it has no such argument.

    `follows`: whether a symlink in the last place is followed, unless a bit of
    `unfollow` or `follow` is set in the register `flags`. With a bit of `empty` set, or
    always if it is `optional`, no path means `directory` itself. A path that is
    `text_of` a link is looked up from where that argument's link stands.
    """

    pointer: int
    directory: int = -1
    follows: bool = True
    flags: int = -1
    unfollow: int = 0
    follow: int = 0
    empty: int = 0
    optional: bool = False
    text_of: int = -1

    def follows_in(self, registers: Sequence[int]) -> bool:
        """Whether this call follows a symlink in the path's last place."""
        bits = registers[self.flags] if self.flags >= 0 else 0
        if bits & _CREATED_ONLY == _CREATED_ONLY and self.unfollow == os.O_NOFOLLOW:
            return False
        if self.follows:
            return not bits & self.unfollow
        return bool(bits & self.follow)

    def may_be_empty(self, registers: Sequence[int]) -> bool:
        """Whether no path stands for the directory argument in this call."""
        is_said = self.flags >= 0 and registers[self.flags] & self.empty
        return self.optional or bool(is_said)


def _plain(*pointers: int, follows: bool = True) -> tuple[PathArgument, ...]:
    """Paths that start at the working directory."""
    return tuple(PathArgument(each, follows=follows) for each in pointers)


def _at(*directories: int, follows: bool = True) -> tuple[PathArgument, ...]:
    """Paths that stand behind the directories they start at."""
    return tuple(PathArgument(each + 1, each, follows) for each in directories)


def _flagged(flags: int, directory: int = 0) -> tuple[PathArgument, ...]:
    """As `_at`, with the usual AT_… flags in another argument."""
    path = PathArgument(
        directory + 1,
        directory,
        flags=flags,
        unfollow=AT_SYMLINK_NOFOLLOW,
        empty=AT_EMPTY_PATH,
    )
    return (path,)


def _linking(flags: int) -> PathArgument:
    return PathArgument(
        1,
        0,
        follows=False,
        flags=flags,
        follow=AT_SYMLINK_FOLLOW,
        empty=AT_EMPTY_PATH,
    )


def _opening(pointer: int, flags: int, directory: int = -1) -> tuple[PathArgument, ...]:
    path = PathArgument(pointer, directory, flags=flags, unfollow=os.O_NOFOLLOW)
    return (path,)


_FOLLOWED = (
    *("creat", "stat", "access", "execve", "truncate", "chdir", "chroot"),
    *("chmod", "chown", "utime", "utimes", "statfs", "uselib", "swapon", "swapoff"),
    *("setxattr", "getxattr", "listxattr", "removexattr"),
)
_NOT_FOLLOWED = (
    *("lstat", "mkdir", "rmdir", "unlink", "readlink", "lchown", "mknod"),
    *("lsetxattr", "lgetxattr", "llistxattr", "lremovexattr"),
)
_FLAGS_BEHIND = {
    **dict.fromkeys(
        (
            *("statx", "open_tree", "open_tree_attr", "mount_setattr"),
            *("setxattrat", "getxattrat", "listxattrat", "removexattrat"),
        ),
        2,
    ),
    **dict.fromkeys(("newfstatat", "faccessat2", "fchmodat2"), 3),
    **dict.fromkeys(("fchownat", "execveat", "file_getattr", "file_setattr"), 4),
}

PATHS: Mapping[str, tuple[PathArgument, ...]] = MappingProxyType(
    {
        **dict.fromkeys(_FOLLOWED, _plain(0)),
        **dict.fromkeys(_NOT_FOLLOWED, _plain(0, follows=False)),
        **{name: _flagged(flags) for name, flags in _FLAGS_BEHIND.items()},
        **dict.fromkeys(("openat2", "fchmodat", "faccessat"), _at(0)),
        **dict.fromkeys(("mkdirat", "mknodat", "unlinkat"), _at(0, follows=False)),
        **dict.fromkeys(("renameat", "renameat2"), _at(0, 2, follows=False)),
        **dict.fromkeys(("rename", "link"), _plain(0, 1, follows=False)),
        "open": _opening(0, 1),
        "openat": _opening(1, 2, directory=0),
        "linkat": (_linking(4), *_at(2, follows=False)),
        "symlink": (PathArgument(0, text_of=1), *_plain(1, follows=False)),
        "symlinkat": (PathArgument(0, 1, text_of=2), *_at(1, follows=False)),
        "readlinkat": (PathArgument(1, 0, follows=False, optional=True),),
        "futimesat": (PathArgument(1, 0, optional=True),),
        "utimensat": (
            PathArgument(
                1,
                0,
                flags=3,
                unfollow=AT_SYMLINK_NOFOLLOW,
                empty=AT_EMPTY_PATH,
                optional=True,
            ),
        ),
        "name_to_handle_at": (_linking(4),),
        "acct": (PathArgument(0, optional=True),),
        "mount": (PathArgument(0, optional=True), *_plain(1)),
        "umount2": (PathArgument(0, flags=1, unfollow=_UMOUNT_NOFOLLOW),),
        "pivot_root": _plain(0, 1),
        "quotactl": (PathArgument(1, optional=True),),
        "inotify_add_watch": (PathArgument(1, flags=2, unfollow=_IN_DONT_FOLLOW),),
        "fanotify_mark": (
            PathArgument(4, 3, flags=1, unfollow=_FAN_DONT_FOLLOW, optional=True),
        ),
        "move_mount": (
            PathArgument(
                1,
                0,
                follows=False,
                flags=4,
                follow=_MOVE_FROM_FOLLOW,
                empty=_MOVE_FROM_EMPTY,
            ),
            PathArgument(
                3,
                2,
                follows=False,
                flags=4,
                follow=_MOVE_TO_FOLLOW,
                empty=_MOVE_TO_EMPTY,
            ),
        ),
        "fspick": (
            PathArgument(1, 0, flags=2, unfollow=_PICK_NOFOLLOW, empty=_PICK_EMPTY),
        ),
    }
)
"""The path arguments of each system call that has any, in the call's order."""

ADDRESSES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"connect": (1, 2), "bind": (1, 2), "sendto": (4, 5)}
)
"""Where a socket address and its length stand; sendmsg and sendmmsg point to both."""


def arguments_of(name: str) -> tuple[PathArgument, ...]:
    """The path arguments of a system call; none for one that takes no path."""
    return PATHS.get(name, ())
