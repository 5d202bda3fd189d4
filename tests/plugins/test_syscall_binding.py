"""bind in the caller's place is what it is natively, and makes files where it may."""

import errno
import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import pytest
from syscall_harness import NOBODY, Decisions, Kit, forked, supervised
from syscall_trees import open_directory, plant, raw

from redlane_context_syscall.binding import Binding
from redlane_context_syscall.calls import Handler

_UNIX = struct.pack("=H", socket.AF_UNIX)
_NETLINK = struct.pack("=HHII", socket.AF_NETLINK, 0, 0, 0)
_PATHS = (
    *("new", "full/new", "to-full/new", "full/up/new", "./new", "empty/../new"),
    *("file", "file/x", "nothing/x", "to-nothing", "to-file", "loop", "loop/x"),
    *("new/", "full/", ".", "..", "/", "sealed/new", "full/below/../new", "x" * 107),
    *("x" * 108, "x" * 109, "/proc/self/cwd/new", "/proc/self/new", "/dev/null/x"),
)
ADDRESSES: dict[str, tuple[int, bytes]] = {
    **{each: (socket.AF_UNIX, _UNIX + os.fsencode(each)) for each in _PATHS},
    "with a zero": (socket.AF_UNIX, _UNIX + b"new\0and more"),
    "abstract": (socket.AF_UNIX, _UNIX + b"\0redlane-test-of-bind"),
    "of no name": (socket.AF_UNIX, _UNIX),
    "too short": (socket.AF_UNIX, b"\1"),
    "nothing": (socket.AF_UNIX, b""),
    "too long": (socket.AF_UNIX, _UNIX + b"x" * 200),
    "another family's": (socket.AF_UNIX, struct.pack("!HH4s8x", 2, 0, b"\x7f\0\0\1")),
    "path for IPv4": (socket.AF_INET, _UNIX + b"a-path-of-a-socket"),
    "IPv4": (socket.AF_INET, struct.pack("=H2x4s8x", socket.AF_INET, b"\x7f\0\0\1")),
    "IPv4 of nobody": (socket.AF_INET, struct.pack("=H2x4s8x", 2, b"\x08\x08\x08\x08")),
    "low port": (socket.AF_INET, struct.pack("=H", 2) + struct.pack("!H12x", 81)),
}


@pytest.fixture
def directory() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def _handlers(
    refuses: Callable[[str, tuple[bytes | None, ...]], bool] | None = None,
    keeps: Callable[[bytes | None], bool] = lambda _: False,
) -> Callable[[Kit], Mapping[str, Handler]]:
    def make(kit: Kit) -> Mapping[str, Handler]:
        decisions = Decisions(refuses, keeps=keeps)
        kit.log.extend([decisions.asked, decisions.changed, decisions.unfaithful])
        parts = (kit.listener, kit.world, decisions)
        return Binding(*parts, blocking=kit.blocking).handlers()

    return make


def _errno(number: int, address: bytes) -> str:
    try:
        raw("bind", number, address, len(address))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "bound"


def _attempt(root: Path, family: int, address: bytes) -> tuple[object, ...]:
    """What came of it, in a fresh tree: also the files that it has made."""
    plant(root)
    os.chdir(root)
    before = set(root.rglob("*"))
    with socket.socket(family, socket.SOCK_STREAM) as ours:
        result = _errno(ours.fileno(), address)
        again = _errno(ours.fileno(), address) if result == "bound" else ""
        with socket.socket(family, socket.SOCK_STREAM) as other:
            taken = _errno(other.fileno(), address) if result == "bound" else ""
    (root / "sealed").chmod(0o700)
    made = sorted(set(root.rglob("*")) - before)
    told = [(str(each), oct(each.lstat().st_mode), each.owner()) for each in made]
    return result, again, taken, told


def _all(directory: Path) -> dict[str, object]:
    os.umask(0o027)
    found: dict[str, object] = {}
    for number, (name, (family, address)) in enumerate(ADDRESSES.items()):
        root = directory / str(number)
        with suppress(FileExistsError):
            found[name] = _attempt(root, family, address)
        os.chdir("/")
        os.rename(root, directory / f"{number}-{os.getpid()}")  # noqa: PTH104  # plain
    return found


@pytest.mark.parametrize("user", [None, NOBODY], ids=["as it is", "as nobody"])
def test_sockets_are_bound_as_natively(directory: Path, user: int | None) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root can be somebody else")

    native = forked(lambda: _all(directory), user=user)
    emulated = supervised(lambda: _all(directory), ("bind",), _handlers(), user=user)

    assert native.keys() == ADDRESSES.keys()
    assert emulated.result == native
    assert native["new"][:3] == ("bound", "EADDRINUSE", "EADDRINUSE")
    assert emulated.log[2] == []


def _numbers() -> dict[str, str]:
    file = os.open("/", os.O_RDONLY)
    pinned = os.open("/", os.O_PATH)
    numbers = {"closed": 987, "none": -1, "file": file, "pinned": pinned}
    found = {name: _errno(number, _UNIX + b"x") for name, number in numbers.items()}
    with socket.socket(socket.AF_UNIX) as ours:
        for name, arguments in {
            "wild": (1 << 46, 10),
            "null": (None, 10),
            "negative": (_UNIX, -1),
            "huge": (_UNIX, 129),
        }.items():
            with pytest.raises(OSError) as caught:  # noqa: PT011  # the errno is told
                raw("bind", ours.fileno(), *arguments)
            found[name] = errno.errorcode[caught.value.errno or 0]
    return found


def test_what_is_no_socket_or_address_fails_as_natively() -> None:
    native = forked(_numbers)
    assert supervised(_numbers, ("bind",), _handlers()).result == native
    assert native["closed"] == "EBADF"
    assert native["file"] == "ENOTSOCK"


def test_netlink_socket_has_the_number_of_its_process() -> None:
    def act() -> tuple[int, list[int]]:
        ports = []
        for _ in range(2):
            ours = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
            raw("bind", ours.fileno(), _NETLINK, len(_NETLINK))
            ports.append(ours.getsockname()[0])
            ports.append(ours.detach())
        return os.getpid(), ports[::2]

    own, ports = supervised(act, ("bind",), _handlers()).result

    assert ports[0] == own
    assert ports[1] not in (0, own)


@pytest.mark.parametrize(
    ("path", "forms", "changed"),
    [
        ("new", ("new", "{}/new"), "{}/new"),
        ("to-full/new", ("to-full/new", "{}/full/new"), "{}/full/new"),
        ("{}/new", ("{}/new",), "{}/new"),
        ("file", ("file", "{}/file"), "{}/file"),
        ("nothing/x", ("nothing/x",), None),
        ("\0abstract", ("@abstract",), None),
    ],
)
def test_policies_see_the_address_and_the_judge_the_file(
    directory: Path, path: str, forms: tuple[str, ...], changed: str | None
) -> None:
    tree = directory / "t"
    plant(tree)

    def act() -> str:
        os.chdir(tree)
        with socket.socket(socket.AF_UNIX) as ours:
            return _errno(ours.fileno(), _UNIX + path.format(tree).encode())

    outcome = supervised(act, ("bind",), _handlers())

    told = tuple(f"unix:{each.format(tree)}".encode() for each in forms)
    assert outcome.log[0] == [("bind", told)]
    changes = () if changed is None else (changed.format(tree).encode(),)
    assert outcome.log[1] == [("bind", changes)]


def test_nothing_is_bound_where_nothing_may_be_changed(directory: Path) -> None:
    (directory / "kept").mkdir()
    (directory / "kept" / "file").touch()
    (directory / "way").symlink_to("kept")

    def act() -> list[str]:
        os.chdir(directory)
        found = []
        for path in (b"kept/new", b"way/new", b"kept/file", b"new", b"\0abstract-one"):
            with socket.socket(socket.AF_UNIX) as ours:
                found.append(_errno(ours.fileno(), _UNIX + path))
        return found

    keeps = _handlers(keeps=lambda path: path is None or b"/kept" in path)
    outcome = supervised(act, ("bind",), keeps)

    assert outcome.result == ["EPERM", "EPERM", "EADDRINUSE", "bound", "bound"]
    assert [each.name for each in (directory / "kept").iterdir()] == ["file"]


@pytest.mark.parametrize("path", ["{}/new", "d/new", "way/new"])
def test_others_find_a_socket_by_the_name_that_it_tells(
    directory: Path, path: str
) -> None:
    (directory / "d").mkdir()
    (directory / "way").symlink_to("d")

    def act() -> tuple[str, bytes]:
        os.chdir(directory)
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other,
        ):
            ours.bind(path.format(directory))
            os.chdir("/")
            other.sendto(b"heard", ours.getsockname())
            return ours.getsockname(), ours.recv(9)

    name, heard = supervised(act, ("bind",), _handlers()).result

    assert heard == b"heard"
    assert Path(name).resolve() == (directory / path.format(directory)).resolve()


def test_address_that_changes_while_it_is_judged_makes_no_file_elsewhere(
    directory: Path,
) -> None:
    """The directory, the memory and the socket are exchanged all the time."""
    for each in ("free", "kept"):
        (directory / each).mkdir()
    (directory / "link").symlink_to("free")

    def flip(over: threading.Event, memory: bytearray) -> None:
        at = memory.index(b"link")
        for each in cycle(("kept", "free")):
            memory[at : at + 4] = each.encode()
            (directory / "new").symlink_to(each)
            (directory / "new").replace(directory / "link")
            memory[at : at + 4] = b"link"
            if over.is_set():
                return

    def act() -> int:
        os.chdir(directory)
        over, bound = threading.Event(), 0
        memory = bytearray(_UNIX + b"%s/link/000\0" % os.fsencode(directory))
        thread = threading.Thread(target=flip, args=(over, memory))
        thread.start()
        view = memoryview(memory)
        for number in range(300):
            view[-4:-1] = b"%03d" % number
            with socket.socket(socket.AF_UNIX) as ours, suppress(OSError):
                raw("bind", ours.fileno(), _address_of(memory), len(memory))
                bound += 1
        over.set()
        thread.join()
        return bound

    keeps = _handlers(keeps=lambda path: path is None or b"/kept" in path)
    outcome = supervised(act, ("bind",), keeps)

    assert outcome.result
    assert list((directory / "kept").iterdir()) == []
    assert all(stat.S_ISSOCK(p.stat().st_mode) for p in (directory / "free").iterdir())


def _address_of(memory: bytearray) -> int:
    import ctypes  # noqa: PLC0415  # here alone

    return ctypes.addressof((ctypes.c_char * len(memory)).from_buffer(memory))
