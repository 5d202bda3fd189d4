"""What cannot be done fails under supervision as it fails alone, and nothing else does.

The role blocks paths below `denied`, for all calls that are done in the caller's place.
An agent makes the calls of a table and tells their ends; it is run alone, and in a
session.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from supervised import ONE_OF_PEOPLE, Guarded, guarded, person_named, watching

PYTHON = "/usr/bin/python3"
_NUMBERS = """
open 2 truncate 76 rename 82 mkdir 83 rmdir 84 creat 85 link 86 unlink 87 symlink 88
chmod 90 chown 92 lchown 94 utime 132 mknod 133 setxattr 188 removexattr 197 utimes 235
openat 257 mkdirat 258 mknodat 259 fchownat 260 unlinkat 263 renameat 264 linkat 265
symlinkat 266 fchmodat 268 utimensat 280 renameat2 316"""
NUMBERS = {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", _NUMBERS)}
AGENT = """\
import ctypes, errno, json, os, sys
libc, numbers = ctypes.CDLL(None, use_errno=True), json.loads(sys.argv[1])
libc.syscall.restype = ctypes.c_long
def end(name, *given):
    words = [os.fsencode(e) if isinstance(e, str) else ctypes.c_long(e) for e in given]
    found = libc.syscall(ctypes.c_long(numbers[name]), *words)
    return "ok" if found >= 0 else errno.errorcode[ctypes.get_errno()]
for name in filter(None, sys.argv[2].split("/")):
    os.chdir(name)
print(json.dumps([end(*each) for each in json.loads(sys.stdin.read())]))
"""
HERE = -100  # AT_FDCWD
Call = list[str | int]


@pytest.fixture(scope="module", params=ONE_OF_PEOPLE)
def place(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded(person_named(request.param)) as made:
        opens = watching(["open", "openat"], "opens") | {"pattern": "^/dev/zero$"}
        made.home.policies(watching([*NUMBERS]) | {"pattern": "/denied/"}, opens)
        made.home.role("opening", "opens")
        made.start()
        made.renew_work()
        yield made


@pytest.fixture
def work(place: Guarded) -> None:
    """An empty directory with `file`, `free` and `denied`."""
    place.alone("/bin/sh", "-c", "rm -rf *; mkdir free denied; touch file")


def _ends(
    place: Guarded, calls: list[Call], role: str = "", *, within: str = ""
) -> list[str]:
    """What the calls end with, in a session of the role or in none."""
    run = partial(place.supervised, role=role) if role else place.alone
    words = (PYTHON, "-I", "-c", AGENT, json.dumps(NUMBERS), within)
    ran = run(*words, stdin=json.dumps(calls))
    assert ran.code == 0, ran
    ends = json.loads(ran.out)
    assert isinstance(ends, list)
    return ends


NO_PATHS = {"long": "a/" * 2048, "long name": "x" * 256}
"""What is given for a path, and is none that the kernel takes."""

CALLS: dict[str, Callable[[str], Call]] = {
    "open": lambda bad: ["open", bad, os.O_RDONLY],
    "openat": lambda bad: ["openat", HERE, bad, os.O_RDONLY],
    "openat, no link": lambda bad: ["openat", HERE, bad, os.O_NOFOLLOW],
    "openat, path": lambda bad: ["openat", HERE, bad, os.O_PATH],
    "creat": lambda bad: ["creat", bad, 0o600],
    "unlink": lambda bad: ["unlink", bad],
    "unlinkat": lambda bad: ["unlinkat", HERE, bad, 0],
    "rmdir": lambda bad: ["rmdir", bad],
    "mkdir": lambda bad: ["mkdir", bad, 0o700],
    "mknod": lambda bad: ["mknod", bad, stat.S_IFIFO | 0o600, 0],
    "mknodat": lambda bad: ["mknodat", HERE, bad, stat.S_IFREG | 0o600, 0],
    "rename, old": lambda bad: ["rename", bad, "file"],
    "rename, new": lambda bad: ["rename", "file", bad],
    "renameat2": lambda bad: ["renameat2", HERE, "file", HERE, bad, 0],
    "link, old": lambda bad: ["link", bad, "new"],
    "link, new": lambda bad: ["link", "file", bad],
    "symlink": lambda bad: ["symlink", "file", bad],
    "symlinkat, text": lambda bad: ["symlinkat", bad, HERE, "none/new"],
    "truncate": lambda bad: ["truncate", bad, 0],
    "chmod": lambda bad: ["chmod", bad, 0o600],
    "fchmodat": lambda bad: ["fchmodat", HERE, bad, 0o600],
    "fchownat": lambda bad: ["fchownat", HERE, bad, -1, -1, 0],
    "utime": lambda bad: ["utime", bad, 0],
    "utimensat": lambda bad: ["utimensat", HERE, bad, 0, 0],
    "setxattr": lambda bad: ["setxattr", bad, "user.x", "v", 1, 0],
}


@pytest.mark.parametrize("bad", NO_PATHS.values(), ids=NO_PATHS)
@pytest.mark.usefixtures("work")
def test_what_is_no_path_fails_as_the_kernel_has_it(place: Guarded, bad: str) -> None:
    calls = {name: call(bad) for name, call in CALLS.items()}

    alone = _ends(place, [*calls.values()])
    ends = _ends(place, [*calls.values()], "watched")

    assert "EPERM" not in alone
    assert dict(zip(calls, ends, strict=True)) == dict(zip(calls, alone, strict=True))


DEEP = "/".join(["d" * 200] * 24)
"""With this below it, a directory's path is longer than the kernel tells at once."""
LAY = """\
import os, sys
os.chdir(sys.argv[1])
for each in sys.argv[2].split("/"):
    os.mkdir(each)
    os.chdir(each)
open("f", "w").close()
os.symlink("f", "link")
"""

DEEP_CALLS: dict[str, Call] = {
    "open": ["open", "f", os.O_RDONLY],
    "open the directory": ["open", ".", os.O_RDONLY],
    "open by a link": ["open", "link", os.O_RDWR],
    "open, new": ["openat", HERE, "new", os.O_CREAT | os.O_WRONLY, 0o600],
    "chmod": ["chmod", "f", 0o600],
    "truncate": ["truncate", "f", 0],
    "mkdir": ["mkdir", "m", 0o700],
    "symlink": ["symlink", "f", "s"],
    "link": ["link", "f", "l"],
    "mknod": ["mknod", "p", stat.S_IFIFO | 0o600, 0],
    "rename": ["rename", "f", "g"],
    "rmdir": ["rmdir", "m"],
    "unlink": ["unlink", "g"],
}


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize(("top", "end"), [("free", "ok"), ("denied", "EPERM")])
def test_path_is_judged_however_long_it_is(place: Guarded, top: str, end: str) -> None:
    assert place.alone(PYTHON, "-I", "-c", LAY, top, DEEP).code == 0

    ends = _ends(place, [*DEEP_CALLS.values()], "watched", within=f"{top}/{DEEP}")

    assert dict(zip(DEEP_CALLS, ends, strict=True)) == dict.fromkeys(DEEP_CALLS, end)


NULL = os.makedev(1, 3)
KINDS: dict[str, tuple[int, int]] = {
    "file": (stat.S_IFREG, 0),
    "FIFO": (stat.S_IFIFO, 0),
    "socket": (stat.S_IFSOCK, 0),
    "characters": (stat.S_IFCHR, NULL),
    "blocks": (stat.S_IFBLK, os.makedev(7, 0)),
    "whiteout": (stat.S_IFCHR, 0),
}


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize(("kind", "device"), KINDS.values(), ids=KINDS)
def test_policies_and_then_the_kernel_say_whether_a_node_is_made(
    place: Guarded, kind: int, device: int
) -> None:
    def calls(name: str) -> list[Call]:
        plain: Call = ["mknod", name, kind | 0o600, device]
        return [plain, ["mknodat", HERE, f"{name}-at", kind | 0o600, device]]

    alone = _ends(place, calls("free/alone"))
    free = _ends(place, calls("free/new"), "watched")
    denied = _ends(place, calls("denied/new"), "watched")

    assert (free, denied) == (alone, ["EPERM", "EPERM"])


@pytest.mark.usefixtures("work")
def test_device_is_judged_by_its_own_path_whatever_node_it_is_opened_by(
    place: Guarded,
) -> None:
    def calls(name: str) -> list[Call]:
        node: Call = ["mknod", name, stat.S_IFCHR | 0o600, os.makedev(1, 5)]
        return [node, ["open", name, os.O_RDONLY]]

    made, _ = _ends(place, calls("free/alone"))

    ends = _ends(place, calls("free/zero"), "opening")

    assert ends == [made, "EPERM" if made == "ok" else "ENOENT"]


WAITING = """\
import os, threading
os.mkfifo("pipe")
ends = []
def wait():
    try:
        os.close(os.open("pipe", os.O_RDONLY))
        ends.append("ok")
    except OSError as error:
        ends.append(error.strerror)
threading.stack_size(64 * 1024)
threads = [threading.Thread(target=wait) for _ in range(1100)]
for each in threads:
    each.start()
while any(each.is_alive() for each in threads):
    writer = os.open("pipe", os.O_RDWR)
    threads[-1].join(0.1)
    os.close(writer)
print(len(ends), *sorted(set(ends)))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("work")
def test_a_thousand_threads_may_wait_for_one_pipe(place: Guarded) -> None:
    ran = place.supervised(PYTHON, "-I", "-c", WAITING, role="watched")

    assert (ran.code, ran.out) == (0, "1100 ok\n"), ran
