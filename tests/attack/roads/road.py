"""What roads are made of: a name, a group, and a function that takes it."""

import ctypes
import os
import shutil
from collections.abc import Callable
from pathlib import Path

SECRET = b"what nobody may read"
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
AT_FDCWD, O_PATH, O_DIRECTORY = -100, os.O_PATH, os.O_DIRECTORY

Road = Callable[[], object]
ROADS: dict[str, dict[str, Road]] = {}


def road(group: str) -> Callable[[Road], Road]:
    """Remember a function as a road of a group; its result must not be the secret."""

    def remember(function: Road) -> Road:
        name = function.__name__.strip("_").replace("_", "-")
        ROADS.setdefault(group, {})[name] = function
        return function

    return remember


def lay(place: Path) -> None:
    """`deep/vault/secret`, and links that lead there."""
    for each in place.iterdir():
        shutil.rmtree(
            each
        ) if each.is_dir() and not each.is_symlink() else each.unlink()
    (place / "deep" / "vault").mkdir(parents=True)
    (place / "open").mkdir()
    (place / "deep" / "vault" / "secret").write_bytes(SECRET)
    (place / "open" / "public").write_text("for everybody")
    (place / "open" / "secret").write_text("another")
    link = place / "links"
    link.mkdir()
    (link / "file").symlink_to(place / "deep" / "vault" / "secret")
    (link / "directory").symlink_to("../deep/vault")
    (link / "chain").symlink_to("directory/../vault/secret")
    (link / "process").symlink_to(f"/proc/self/root{place}/deep/vault/secret")
    (link / "working").symlink_to("/proc/self/cwd/deep/vault/secret")
    os.symlink("file", bytes(link) + b"/not \xff utf-8\n")
    last = "file"
    for number in range(35):
        (link / f"long{number}").symlink_to(last)
        last = f"long{number}"


def call(number: int, *args: object) -> int:
    """A system call as it is."""
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in args]
    result = LIBC.syscall(ctypes.c_long(number), *given)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)


def content(path: str | bytes | int, *, flags: int = os.O_RDONLY) -> bytes:
    """What is read from a path."""
    number = path if isinstance(path, int) else os.open(path, flags)
    return os.read(number, 100)


def opened_at(directory: int, name: str) -> bytes:
    return content(os.open(name, os.O_RDONLY, dir_fd=directory))
