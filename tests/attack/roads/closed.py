"""Calls that no process of a session may make; the answer is how they fail."""

import ctypes
import os
import struct

from road import AT_FDCWD, O_PATH, ROADS, Road, call, road  # type: ignore[import-not-found]  # beside


def _refused(number: int, *args: object) -> Road:
    def attempt() -> object:
        call(number, *args)
        return 0

    return attempt


_POINTER = ctypes.create_string_buffer(256)
CLOSED: dict[str, tuple[int, tuple[object, ...]]] = {
    "openat2": (437, (AT_FDCWD, b"/", struct.pack("QQQ", O_PATH, 0, 0), 24)),
    "io-uring-setup": (425, (8, _POINTER)),
    "clone3": (435, (struct.pack("11Q", *[0] * 4, 17, *[0] * 6), 88)),
    "open-by-handle-at": (304, (3, _POINTER, 0)),
    "ptrace-traceme": (101, (0, 0, 0, 0)),
    "process-vm-writev": (311, (os.getpid(), _POINTER, 0, _POINTER, 0, 0)),
    "pidfd-getfd": (438, (0, 0, 0)),
    "mount": (165, (b"none", b"/nowhere/at/all", b"tmpfs", 0, None)),
    "umount2": (166, (b"/nowhere", 0)),
    "open-tree": (428, (AT_FDCWD, b"/", 0)),
    "move-mount": (429, (0, b"", 0, b"", 0)),
    "fsopen": (430, (b"tmpfs", 0)),
    "fsconfig": (431, (0, 0, None, None, 0)),
    "fsmount": (432, (0, 0, 0)),
    "fspick": (433, (AT_FDCWD, b"/", 0)),
    "mount-setattr": (442, (AT_FDCWD, b"/", 0, _POINTER, 32)),
    "setns": (308, (0, 0)),
    "pivot-root": (155, (b"/", b"/")),
    "unshare-user": (272, (0x10000000,)),
    "unshare-mount": (272, (0x20000,)),
    "unshare-both-and-more": (272, (0x10000000 | 0x20000 | 0x40000000,)),
    "clone-user": (56, (0x10000000 | 17, 0, 0, 0, 0)),
    "clone-mount": (56, (0x20000 | 17, 0, 0, 0, 0)),
    "fanotify-init": (300, (0, 0)),
    "bpf": (321, (0, _POINTER, 128)),
    "init-module": (175, (_POINTER, 8, b"")),
    "finit-module": (313, (0, b"", 0)),
    "delete-module": (176, (b"nothing", 0)),
    "kexec-load": (246, (0, 0, 0, 0)),
    "kexec-file-load": (320, (0, 0, 0, 0, 0)),
    "iopl": (172, (3,)),
    "ioperm": (173, (0x80, 1, 1)),
    "userfaultfd": (323, (0,)),
    "process-madvise": (440, (0, _POINTER, 0, 0, 0)),
    "perf-event-open": (298, (_POINTER, 0, -1, -1, 0)),
    "kcmp": (312, (os.getpid(), os.getppid(), 0, 0, 0)),
}
for _name, (_number, _args) in CLOSED.items():
    ROADS.setdefault("closed", {})[_name] = _refused(_number, *_args)


@road("closed")
def _nested_listener() -> object:
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow))
    call(157, 38, 1, 0, 0, 0)
    return call(317, 1, 8, program) * 0
