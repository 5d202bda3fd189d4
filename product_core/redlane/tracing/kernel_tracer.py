"""A program of its own: tells what a tree of processes does, by eBPF, through bcc.

It is run by Debian's interpreter, which is the one that finds Debian's `bcc`, and knows
the standard library besides and nothing of Redlane: bcc writes to standard error as it
likes, and its compiler may end the process. Each line on standard output is an object:
`{"ready": threads}` once it looks, `{"failed": why}`, what was done, and in the end how
many events got lost.

    kernel_tracer.py PID    follows what runs below this process

Calls are looked at where they end: those that a supervisor answers never begin, for the
kernel's tracepoints. No kernel headers are needed for that; the few names that bcc asks
for are made here.
"""

import ctypes
import json
import os
import platform
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from errno import errorcode
from pathlib import Path
from typing import Any

__all__ = ["event", "main"]

PROGRAM = Path(__file__).with_name("kernel_tracer.c")
HEADERS = {
    "linux/types.h": """
        typedef unsigned char __u8, u8; typedef signed char __s8, s8;
        typedef unsigned short __u16, u16, umode_t; typedef short __s16, s16;
        typedef unsigned int __u32, u32, dev_t, uid_t, gid_t; typedef int __s32, s32;
        typedef unsigned long long __u64, u64; typedef long long __s64, s64, loff_t;
        typedef __u16 __be16, __le16, __sum16; typedef __u32 __be32, __le32, __wsum;
        typedef __u64 __be64, __le64, __aligned_u64 __attribute__((aligned(8)));
        typedef unsigned long size_t, uintptr_t; typedef int pid_t; typedef _Bool bool;
        #define NULL ((void *)0)
        #define PAGE_SIZE 4096
        """,
    "linux/version.h": """
        #define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
        #define LINUX_VERSION_CODE KERNEL_VERSION(5, 10, 0)
        """,
    "linux/kconfig.h": "#define CONFIG_BPF_SYSCALL 1",
    "linux/bpf_common.h": "",
    "linux/log2.h": "",
    "asm/page.h": "",
    "uapi/linux/if_packet.h": "",
    "uapi/linux/bpf.h": "",
}
"""What bcc includes, of kernels that it does not find."""

RECORD = struct.Struct("=QQqIiIi16s")
"""When, flags, result, process, directory, length, kind, program (kernel_tracer.c)."""

EXEC, OPEN, CONNECT = 1, 2, 3
KINDS = {EXEC: "exec", OPEN: "open", CONNECT: "connect"}
SENT, LOST, UNFOLLOWED, OTHERS = range(4)
OWN_NAMESPACE = "pid:[4026531836]"
"""The first one (PROC_PID_INIT_INO): the kernel's numbers are those of processes."""

SUPERVISOR = "redlane-run"
FILE_MOST = 256
UNUSED = -100
CREATES, MODE = os.O_CREAT, os.O_ACCMODE
MODES = {os.O_RDONLY: "r", os.O_WRONLY: "w", os.O_RDWR: "rw"}
SLICE_MS = 100
SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG: nothing is left of this, however who started it ends."""


def tell(**line: object) -> None:
    """A line for whoever started this; without them there is nothing to look at."""
    try:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    except OSError:
        os._exit(1)


def main() -> int:
    """Follow the tree below the process that the first word names."""
    root = int(sys.argv[1])
    ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGTERM)
    why = problem()
    if why:
        tell(failed=why)
        return 1
    with tempfile.TemporaryDirectory() as directory:
        lay_headers(Path(directory))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)  # bcc speaks of itself there, and of nothing else
        try:
            from bcc import BPF  # noqa: PLC0415  # takes time, and may be away

            os.environ["BCC_KERNEL_SOURCE"] = directory
            program = BPF(text=PROGRAM.read_text(encoding="ascii"))
        except ImportError:
            tell(failed="python3-bpfcc is not installed")
            return 1
        except Exception as error:  # noqa: BLE001  # whatever bcc raises
            tell(failed=f"the kernel takes no program of bcc's: {error}")
            return 1
    follow(program, root)
    return 0


def problem() -> str:
    """Why it cannot be tried at all, or ""."""
    if platform.machine() != "x86_64":
        return f"eBPF is not used on {platform.machine()}"
    if os.geteuid() != 0:
        return "root alone may load eBPF programs"
    if os.readlink("/proc/self/ns/pid") != OWN_NAMESPACE:  # noqa: PTH115
        return "this is a container, whose processes the kernel numbers otherwise"
    return ""


def lay_headers(directory: Path) -> None:
    """Write what bcc includes."""
    for name, text in HEADERS.items():
        path = directory / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")


def follow(program: Any, root: int) -> None:  # noqa: ANN401  # of bcc
    """Tell what is done, until the root has ended."""
    offset = time.time() - time.monotonic()

    def take(_cpu: int, data: int, size: int) -> None:
        tell(**event(ctypes.string_at(data, size), offset))

    ends: list[int] = []  # what a handler raises within a call of bcc's is lost
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ends.append(1))
    program["events"].open_ring_buffer(take)
    begun = started(root)
    tell(ready=seed(program["followed"], root))
    while not ends and begun is not None and started(root) == begun:
        program.ring_buffer_poll(SLICE_MS)
    if not ends:
        program.ring_buffer_consume()
    counts = [program["counts"][each].value for each in range(4)]
    tell(lost=counts[LOST], unfollowed=counts[UNFOLLOWED], others=counts[OTHERS])


def seed(followed: Any, root: int) -> int:  # noqa: ANN401  # of bcc
    """Follow all that runs below the root now; how many threads that are.

    What they start is followed by the kernel, so it is done once a look finds nothing
    new. The supervisor's own processes are left out.
    """
    known: dict[int, int] = {}
    while True:
        before = len(known)
        for thread in threads(root):
            begun = started(thread)
            if begun is None or known.get(thread) == begun:
                continue
            followed[ctypes.c_uint(thread)] = ctypes.c_ubyte(1)
            known[thread] = begun
            if started(thread) != begun:
                with suppress(KeyError):
                    del followed[ctypes.c_uint(thread)]
        if len(known) == before:
            return before


def threads(root: int) -> Iterator[int]:
    """The threads below a process, those of the supervisor's own processes aside."""
    seen, left = set(), children(root)
    own = program_of(root)
    while left:
        process = left.pop()
        if process in seen or process == os.getpid():
            continue
        seen.add(process)
        left += children(process)
        if own is None or program_of(process) != own:
            with suppress(OSError):
                tasks = Path(f"/proc/{process}/task").iterdir()
                yield from (int(each.name) for each in tasks)


def children(process: int) -> list[int]:
    """What a process has started, and has not ended."""
    found: list[int] = []
    with suppress(OSError):
        for each in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found += map(int, (each / "children").read_text().split())
    return found


def program_of(process: int) -> "tuple[int, int] | None":
    """The file that a process runs, where that is a supervisor's."""
    try:
        path = f"/proc/{process}/exe"
        name = os.readlink(path)  # noqa: PTH115
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    is_own = os.path.basename(name) == SUPERVISOR  # noqa: PTH119
    return (found.st_dev, found.st_ino) if is_own else None


def started(process: int) -> "int | None":
    """When a process or thread was started, in the kernel's own count.

    None: it has ended, whether or not somebody was told.
    """
    try:
        status = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return None
    told = status.rpartition(b")")[2].split()
    return None if told[0] in (b"Z", b"X") else int(told[19])


def event(raw: bytes, offset: float) -> "dict[str, object]":
    """What was done, as an object."""
    read = RECORD.unpack_from(raw)
    when, flags, result, process, directory, length, kind, name = read
    data = raw[RECORD.size : RECORD.size + length]
    told: dict[str, object] = {
        "time": when / 1e9 + offset,
        "pid": process,
        "program": plain(name.partition(b"\0")[0]),
        "what": KINDS[kind],
        "result": "ok" if result >= 0 else errorcode.get(-result, str(-result)),
    }
    if kind == CONNECT:
        return told | {"target": address(data)}
    told["target"] = plain(data.partition(b"\0")[0])
    if kind == EXEC and result >= 0:
        words = data[FILE_MOST:].split(b"\0")
        told["words"] = list(map(plain, words[:-1]))
        told["is_all"] = flags <= length - FILE_MOST
    if kind == OPEN:
        mode = MODES.get(flags & MODE, "?")
        told["mode"] = mode + ("c" if flags & CREATES else "")
        if directory != UNUSED and not data.startswith(b"/"):
            told["directory"] = directory
    return told


def address(data: bytes) -> str:
    """Where a connection goes, of a socket address as the kernel takes it."""
    family = int.from_bytes(data[:2], sys.byteorder) if len(data) > 1 else 0
    port = int.from_bytes(data[2:4], "big")
    if family == socket.AF_INET and len(data) >= 8:  # noqa: PLR2004
        return f"{socket.inet_ntop(family, data[4:8])}:{port}"
    if family == socket.AF_INET6 and len(data) >= 24:  # noqa: PLR2004
        return f"[{socket.inet_ntop(family, data[8:24])}]:{port}"
    if family == socket.AF_UNIX:
        path = data[2:]
        is_abstract = path[:1] == b"\0"
        return "@" + plain(path[1:]) if is_abstract else plain(path.partition(b"\0")[0])
    return f"family {family}"


def plain(text: bytes) -> str:
    """Bytes as text."""
    return text.decode(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
