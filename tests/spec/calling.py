"""An agent that makes system calls as it is told, and tells what came of them.

Reads lines of JSON, `[name, argument, …]`, and answers each with a line: `ok`, or the
name of the error. Text is a path; the calls are made as such, not as a library would.
"""

import ctypes
import errno
import json
import os
import socket
import subprocess
import sys
import threading

NUMBERS = {
    "open": 2,
    "openat": 257,
    "creat": 85,
    "unlink": 87,
    "unlinkat": 263,
    "rmdir": 84,
    "rename": 82,
    "renameat": 264,
    "renameat2": 316,
    "mkdir": 83,
    "chmod": 90,
    "stat": 4,
    "link": 86,
    "symlink": 88,
    "truncate": 76,
    "getppid": 110,
    "sethostname": 170,
}
AT_FDCWD = -100
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


def raw(name: str, *given: object) -> None:
    """One of the calls with a number above."""
    words = [os.fsencode(each) if isinstance(each, str) else each for each in given]
    longs = [ctypes.c_long(each) if isinstance(each, int) else each for each in words]
    if LIBC.syscall(ctypes.c_long(NUMBERS[name]), *longs) < 0:
        raise OSError(ctypes.get_errno(), name)


SHORT = {
    "openat": lambda path, flags=0: raw("openat", AT_FDCWD, path, flags, 0o644),
    "creat": lambda path: raw("creat", path, 0o644),
    "unlinkat": lambda path, *rest: raw("unlinkat", AT_FDCWD, path, *(rest or (0,))),
    "renameat": lambda one, two: raw("renameat", AT_FDCWD, one, AT_FDCWD, two),
    "renameat2": lambda one, two, *rest: raw(
        "renameat2", AT_FDCWD, one, AT_FDCWD, two, *(rest or (0,))
    ),
    "mkdir": lambda path: raw("mkdir", path, 0o755),
    "chmod": lambda path: raw("chmod", path, 0o644),
    "open": lambda path, flags=0: raw("open", path, flags, 0o644),
}


def run(*words: str) -> None:
    """Start a program; what it exits with does not matter."""
    subprocess.run(words, stdout=subprocess.DEVNULL, check=False)


def connect(host: str, port: int) -> None:
    """Connect to an address, or to a path when the port is 0."""
    family = socket.AF_INET if port else socket.AF_UNIX
    with socket.socket(family) as one:
        one.connect((host, port) if port else host)


def opened_at(directory: str, path: str) -> None:
    """Open a path that is relative to a directory's descriptor."""
    number = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        raw("openat", number, path, 0)
    finally:
        os.close(number)


def opened_within(directory: str, path: str) -> None:
    """Open a path that is relative to the working directory."""
    before = os.open(".", os.O_PATH)
    os.chdir(directory)
    try:
        raw("openat", AT_FDCWD, path, 0)
    finally:
        os.fchdir(before)


def in_a_thread(*rest: object) -> None:
    """Make a call in another thread."""
    errors: list[OSError] = []

    def act() -> None:
        try:
            make(*rest)
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def in_a_child(*rest: object) -> None:
    """Make a call in a child that does not come back but with the error."""
    child = os.fork()
    if not child:
        try:
            make(*rest)
        except OSError as error:
            os._exit(error.errno or 255)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        raise OSError(errno.EOWNERDEAD, f"signal {-code}")
    if code:
        raise OSError(code, "the child")


WAYS = {
    **SHORT,
    "run": run,
    "connect": connect,
    "open-at": opened_at,
    "open-within": opened_within,
    "in-a-thread": in_a_thread,
    "in-a-child": in_a_child,
}


def make(name: object, *given: object) -> None:
    """Make one call."""
    if name in WAYS:
        WAYS[str(name)](*given)  # type: ignore[operator]  # a table of unlike functions
    else:
        raw(str(name), *given)


def main() -> None:
    """Answer every line."""
    for line in sys.stdin:
        try:
            make(*json.loads(line))
            answer = "ok"
        except OSError as error:
            answer = errno.errorcode.get(error.errno or 0, str(error.errno))
        print(answer, flush=True)  # noqa: T201  # the answer


if __name__ == "__main__":
    main()
