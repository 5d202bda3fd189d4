"""A table of opens, and what is to be seen of each: natively and supervised alike."""

import ctypes
import errno
import fcntl
import os
import re
import socket
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from syscall_open_tables import (
    ACCESS,
    CHANGING,
    DIRECTORIES,
    ELSEWHERE,
    FROM_DIRECTORIES,
    HARMLESS,
    IN_TREE,
    WRITTEN,
)

from redlane_context_syscall.numbers import number_of

__all__ = ["Opens", "make_tree"]

Operation = tuple[str, str, bytes, int, int]
"""The call, the name of a directory's descriptor, path, flags, mode."""

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_LIBRARY.syscall.restype = ctypes.c_long
_CWD = -100
_CHAIN = 41


def _names(directory: int) -> set[str]:
    return set(os.listdir(directory))  # no path, a descriptor


def make_tree(root: Path) -> None:
    """Files of every kind, for any user to be met with."""
    root.mkdir(mode=0o755)
    (root / "file").write_text("contents")
    for name in ("dir", "closed-dir", "unreadable-dir"):
        (root / name).mkdir()
        (root / name / "inner").write_text("inner contents")
    links = {
        "link": "file",
        "link-dir": "dir",
        "link-slash": "dir/",
        "link-file-slash": "file/",
        "link-dots": "dir/../file",
        "link-absolute": str(root / "file"),
        "link-up": "../" + root.name + "/file",
        "link-fifo": "fifo",
        "link-self": "/proc/self",
        "link-null": "/dev/null",
        "link-kept": "/proc/self/fd/{kept}",
        "link-gone": "/dev/fd/{gone}",
        "dangling": "made",
        "dangling-far": "nowhere/made",
        "dangling-slash": "made/",
        "dangling-twice": "dangling",
        "loop": "loop",
        "there": "back",
        "back": "there",
        **{f"chain{number}": f"chain{number + 1}" for number in range(_CHAIN - 1)},
        f"chain{_CHAIN - 1}": "file",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(root / "socket"))
    (root / "closed").write_text("closed")
    (root / "closed").chmod(0)
    (root / "closed-dir").chmod(0o600)
    (root / "unreadable-dir").chmod(0o311)


class Opens:
    """Does the operations of the table in one process, which is in the tree.

    It does every so many of them as `share` says.
    """

    def __init__(self, root: Path, share: int) -> None:
        self._root = root
        self._share = share
        self._numbers: dict[str, int] = {}
        self._known: dict[str, tuple[int, set[str]]] = {}
        self._contents: dict[str, tuple[int, bytes]] = {}

    def prepare(self) -> None:
        """Open what the table refers to; before any filter."""
        os.setsid()
        os.chdir(self._root)
        path = os.O_PATH
        open_at = {
            "kept": os.open("file", os.O_RDONLY),
            "directory": os.open("dir", os.O_RDONLY),
            "pinned-directory": os.open("dir", path),
            "pinned-link": os.open("link", path | os.O_NOFOLLOW),
            "pinned": os.open("file", path),
            "proc": os.open("/proc", path),
            "gone": os.open("gone", os.O_RDWR | os.O_CREAT),
            "memory": os.memfd_create("memory"),
            "event": os.eventfd(0),
            "socket": socket.socket().detach(),
        }
        Path("gone").unlink()
        Path("gone-directory").mkdir()
        open_at["gone-directory"] = os.open("gone-directory", path)
        Path("gone-directory").rmdir()
        ends = os.pipe()
        for number, name in enumerate([*open_at, "pipe", "writing"], 800):
            source = {**open_at, "pipe": ends[0], "writing": ends[1]}[name]
            os.dup2(source, number)
            os.close(source)
            self._numbers[name] = number
        odd = (0xDEAD << 32) | (_CWD & 0xFFFFFFFF)
        self._numbers |= {"": _CWD, "none": 999, "minus": -1, "odd-cwd": odd}
        self._numbers["pid"] = os.getpid()
        for link in (Path("link-kept"), Path("link-gone")):
            target = str(link.readlink()).format(**self._numbers)
            link.unlink()
            link.symlink_to(target)
        for name in (".", "dir", "closed-dir"):
            number = os.open(name, os.O_RDONLY)
            self._known[name] = number, _names(number)
        for name in ("file", "dir/inner", "closed", "closed-dir/inner"):
            if os.access(name, os.R_OK | os.W_OK):
                number = os.open(name, os.O_RDWR)
                self._contents[name] = number, os.read(number, 100)

    def operations(self) -> Iterator[Operation]:
        """Every operation, in an order that is always the same."""
        yield from self._in_tree()
        yield from self._elsewhere()
        yield from self._from_directories()
        for path in (b"/dev/null", b"/dev/fd/{kept}", b"/proc/self/fd/{gone}"):
            for more in CHANGING:
                yield "openat", "", path, os.O_WRONLY | more, 0o600
        for path in (b"@0", b"@1", b"@fault"):
            yield "openat", "", path, os.O_RDONLY, 0
            yield "openat", "", path, os.O_CREAT, 0

    def _in_tree(self) -> Iterator[Operation]:
        for path in IN_TREE:
            for more in HARMLESS + CHANGING:
                for access in ACCESS:
                    yield "openat", "", path, self._safe(path, access | more), 0o4757
            yield "open", "", path, self._safe(path, os.O_RDONLY), 0
            if b"fifo" not in path:
                yield "creat", "", path, 0, 0o640

    def _elsewhere(self) -> Iterator[Operation]:
        for path in ELSEWHERE:
            for more in HARMLESS:
                yield "openat", "", path, self._safe(path, more), 0xFFFFFFFF
            yield "openat", "", path, self._safe(path, os.O_CREAT | os.O_EXCL), 0
            yield "open", "", path, self._safe(path, 0), 0
        for path in WRITTEN:
            yield "openat", "", path, os.O_WRONLY, 0

    def _from_directories(self) -> Iterator[Operation]:
        ways = (0, os.O_NOFOLLOW, os.O_PATH, os.O_CREAT, os.O_DIRECTORY)
        for directory in DIRECTORIES:
            for path in FROM_DIRECTORIES:
                for way in ways:
                    if way != os.O_CREAT or not path.startswith((b"/", b"..")):
                        yield "openat", directory, path, way, 0o666

    def _safe(self, path: bytes, flags: int) -> int:
        """No wait for the other end of a FIFO."""
        waits = b"fifo" in path or b"pipe" in path or b"stdin" in path
        return flags | os.O_NONBLOCK if waits else flags

    def run(self) -> dict[str, Any]:
        """Do everything; what is to be seen of each operation, by its name."""
        os.umask(0o027)
        seen: dict[str, Any] = {}
        for operation in islice(self.operations(), None, None, self._share):
            name, directory, path, flags, mode = operation
            shown = path if len(path) < 60 else path[:20] + b"...%d" % len(path)
            key = f"{name} {directory} {shown!r} {flags:#o} {mode:#o}"
            seen[key] = self._do(*operation)
        return seen

    def _do(self, name: str, directory: str, path: bytes, flags: int, mode: int) -> Any:
        for key, number in self._numbers.items():
            path = path.replace(b"{%s}" % key.encode(), b"%d" % number)
        result = self._call(name, self._numbers[directory], path, flags, mode)
        if result < 0:
            told: Any = errno.errorcode[ctypes.get_errno()]
        else:
            told = self._look(result)
            os.close(result)
        return told, self._mended()

    def _call(
        self, name: str, directory: int, path: bytes, flags: int, mode: int
    ) -> int:
        pointer: Any = ctypes.c_char_p(path)
        if path.startswith(b"@"):
            pointer = ctypes.c_void_p(
                {b"@0": 0, b"@1": 1, b"@fault": 0xFFFF800000000000}[path]
            )
        before = [ctypes.c_long(directory)] if name == "openat" else []
        after = [ctypes.c_long(flags)] if name != "creat" else []
        result: int = _LIBRARY.syscall(
            number_of(name), *before, pointer, *after, ctypes.c_long(mode)
        )
        return result

    def _look(self, number: int) -> dict[str, Any]:
        """All that a program could see of its new open file."""
        status = os.fstat(number)
        seen = {
            "flags": oct(fcntl.fcntl(number, fcntl.F_GETFL)),
            "on exec": fcntl.fcntl(number, fcntl.F_GETFD),
            "mode": oct(status.st_mode),
            "size": status.st_size if stat.S_ISREG(status.st_mode) else 0,
            "owner": (status.st_uid, status.st_gid),
            "device": status.st_rdev,
            "path": self._named(str(Path(f"/proc/self/fd/{number}").readlink())),
        }
        flags = fcntl.fcntl(number, fcntl.F_GETFL)
        is_readable = flags & os.O_ACCMODE in (os.O_RDONLY, os.O_RDWR)
        if stat.S_ISREG(status.st_mode) and is_readable and not flags & os.O_PATH:
            try:
                seen["data"] = self._named(repr(os.read(number, 30)))
            except OSError as error:
                seen["data"] = error.errno
        return seen

    def _named(self, text: str) -> str:
        """The same for every process and every run."""
        # The numbers of nameless files first: the process's own may stand inside one.
        text = re.sub(r"#[0-9]+|\[[0-9]+\]|pts/[0-9]+|^b'[0-9]+\.[0-9].*", "N", text)
        return re.sub(rf"\b{os.getpid()}\b", "PID", text)

    def _mended(self) -> list[tuple[str, str, int]]:
        """What an operation left in the tree; then as if it had not."""
        left = []
        for place, (directory, known) in self._known.items():
            for name in sorted(_names(directory) - known):
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                left.append((f"{place}/{name}", oct(status.st_mode), status.st_size))
                os.unlink(name, dir_fd=directory)
        for name, (file, contents) in self._contents.items():
            size = os.fstat(file).st_size
            if size != len(contents):
                left.append((name, "changed", size))
                os.pwrite(file, contents, 0)
        return left
