"""A file system whose one file exists, and never tells what is in it.

Usage: fuse_silent.py POINT. Mounts itself there (as root), prints `ready`, and answers
everything but an opening of the file `silent`; and what `slow` holds only after a line
on standard input.
"""

import ctypes
import errno
import os
import struct
import sys
import threading

LOOKUP, GETATTR, OPEN, READ, STATFS = 1, 3, 14, 15, 17
INIT, OPENDIR = 26, 27
FORGET, BATCH_FORGET, INTERRUPT = 2, 42, 36
NAMES = {b"silent": 2, b"slow": 3}
LIBC = ctypes.CDLL(None, use_errno=True)


def attributes(node: int) -> bytes:
    mode = 0o40755 if node == 1 else 0o100644
    size = 0 if node == 1 else 4096
    times, rest = (0,) * 6, (mode, 1, 0, 0, 0, 4096, 0)
    return struct.pack("<3Q3Q3I7I", node, size, 8, *times, *rest)


def main(point: str) -> None:
    """Serve until killed."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if LIBC.mount(b"silent", point.encode(), b"fuse", 0, options):
        sys.exit(os.strerror(ctypes.get_errno()))
    released = threading.Event()
    threading.Thread(
        target=lambda: sys.stdin.readline() and released.set(), daemon=True
    ).start()
    print("ready", flush=True)  # noqa: T201  # tells the test
    while True:
        request = os.read(device, 1 << 20)
        operation, unique, node = struct.unpack_from("<4xIQQ", request)
        body = request[40:]
        if operation == OPEN and node == 2:
            continue
        if operation == READ:
            threading.Thread(
                target=_read_late, args=(device, unique, released), daemon=True
            ).start()
        elif operation not in (FORGET, BATCH_FORGET, INTERRUPT):
            _answer(device, unique, *_answered(operation, node, body))


def _read_late(device: int, unique: int, released: threading.Event) -> None:
    released.wait()
    _answer(device, unique, 0, b"/etc/hostname\0".ljust(4096, b"\0"))


def _answered(operation: int, node: int, body: bytes) -> tuple[int, bytes]:
    answers = {
        INIT: struct.pack("<4I2H4I28x", 7, 31, 65536, 0, 16, 12, 65536, 1, 0, 0),
        GETATTR: struct.pack("<QII", 0, 0, 0) + attributes(node),
        OPEN: struct.pack("<QII", 1, 0, 0),
        OPENDIR: struct.pack("<QII", 1, 0, 0),
        STATFS: bytes(80),
    }
    if operation == LOOKUP:
        found = NAMES.get(body.rstrip(b"\0"))
        if found is None:
            return errno.ENOENT, b""
        return 0, struct.pack("<4Q2I", found, 0, 0, 0, 0, 0) + attributes(found)
    if operation in answers:
        return 0, answers[operation]
    return errno.ENOSYS, b""


def _answer(device: int, unique: int, error: int, body: bytes) -> None:
    os.write(device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)


if __name__ == "__main__":
    main(*sys.argv[1:])
