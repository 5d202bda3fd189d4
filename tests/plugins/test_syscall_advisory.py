"""Calls that the kernel does itself are judged by what they say and what that means."""

import ctypes
import os
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from errno import ENOSYS
from pathlib import Path
from typing import Any

import pytest
from syscall_harness import Decisions, Kit, supervised
from syscall_trees import AT_FDCWD, open_directory, plant, raw

from redlane_context_syscall.advisory import Advisory
from redlane_context_syscall.arguments import ADDRESSES, PATHS
from redlane_context_syscall.calls import Handler
from redlane_context_syscall.numbers import number_of

_NOFOLLOW, _FOLLOW, _EMPTY = 0x100, 0x400, 0x1000
_BUFFER = ctypes.create_string_buffer(4096)
_ROOM = ctypes.addressof(_BUFFER)


@pytest.fixture
def tree() -> Iterator[Path]:
    with open_directory() as path:
        plant(path / "tree")
        yield path / "tree"


Refuses = Callable[[str, tuple[bytes | None, ...]], bool]


def _handlers(
    names: tuple[str, ...],
    refuses: Refuses | None = None,
    refusal: Callable[[str, tuple[int, ...]], int | None] = lambda _name, _args: None,
) -> Callable[[Kit], Mapping[str, Handler]]:
    def make(kit: Kit) -> Mapping[str, Handler]:
        decisions = Decisions(refuses)
        kit.log.append(decisions.asked)
        parts = (kit.listener, kit.world, decisions)
        advisory = Advisory(*parts, blocking=kit.blocking, refusal=refusal)
        return dict.fromkeys(names, advisory)

    return make


def _opened(path: str, flags: int = os.O_PATH) -> Callable[[], int]:
    return lambda: os.open(path, flags)


def _asked(tree: Path, call: str, arguments: tuple[object, ...]) -> list[Any]:
    """What was judged, the tree's own path told as `T`."""

    def act() -> None:
        given = [each() if callable(each) else each for each in arguments]
        with suppress(OSError):
            raw(call, *given)

    # What runs another program must not: the test is still to come to its end.
    handlers = _handlers((call,), refusal=lambda name, _: {"execve": ENOSYS}.get(name))
    outcome = supervised(act, (call,), handlers, before=lambda: os.chdir(tree))
    top = os.fsencode(tree)
    return [
        (name, tuple(each and each.replace(top, b"T") for each in candidates))
        for name, candidates in outcome.log[0]
    ]


CALLS: dict[str, tuple[str, tuple[object, ...], tuple[bytes | None, ...]]] = {
    "followed": ("chdir", ("to-full",), (b"to-full", b"T/full")),
    "not followed": ("lstat", ("to-file", _ROOM), (b"to-file", b"T/to-file")),
    "new": ("mkdir", ("full/new", 0o755), (b"full/new", b"T/full/new")),
    "new, with dots": (
        "mkdir",
        ("full/../empty/./new/", 0o755),
        (b"full/../empty/./new/", b"T/empty/new"),
    ),
    "leads nowhere": ("stat", ("no/such", _ROOM), (b"no/such",)),
    "ends nowhere": ("stat", ("to-nothing", _ROOM), (b"to-nothing", b"T/to-nothing")),
    "absolute": ("truncate", ("/dev/../etc/hostname", 0), (b"/dev/../etc/hostname",)),
    "empty": ("stat", ("", _ROOM), (b"",)),
    "null": ("stat", (None, _ROOM), (None,)),
    "wild": ("chmod", (1 << 46, 0), (None,)),
    "too long": ("chmod", ("x/" * 2048, 0), (None,)),
    "descriptor": (
        "mkdirat",
        (_opened("full"), "below/../new", 0o755),
        (b"below/../new", b"T/full/new"),
    ),
    "closed descriptor": ("mkdirat", (987, "new", 0o755), (b"new",)),
    "followed unless": (
        "fchownat",
        (AT_FDCWD, "to-file", -1, -1, 0),
        (b"to-file", b"T/file"),
    ),
    "unless it is": (
        "fchownat",
        (AT_FDCWD, "to-file", -1, -1, _NOFOLLOW),
        (b"to-file", b"T/to-file"),
    ),
    "itself": (
        "fchownat",
        (_opened("full/file"), "", -1, -1, _EMPTY),
        (b"T/full/file",),
    ),
    "itself, without its flag": (
        "fchownat",
        (_opened("full/file"), "", -1, -1, 0),
        (b"",),
    ),
    "itself, a pipe": ("fchownat", (lambda: os.pipe()[0], "", -1, -1, _EMPTY), ()),
    "itself, null": ("utimensat", (_opened("full"), None, None, 0), (b"T/full",)),
    "itself, the directory": (
        "statx",
        (AT_FDCWD, "", _EMPTY, 0xFFF, _ROOM),
        (b"T",),
    ),
    "itself, by name_to_handle": (
        "name_to_handle_at",
        (_opened("file"), "", _ROOM, _ROOM + 512, _EMPTY),
        (b"T/file",),
    ),
    "link": (
        "readlinkat",
        (AT_FDCWD, "to-file", _ROOM, 99),
        (b"to-file", b"T/to-file"),
    ),
    "link itself": (
        "readlinkat",
        (_opened("to-file", os.O_PATH | os.O_NOFOLLOW), "", _ROOM, 99),
        (b"T/to-file",),
    ),
    "text of a link": (
        "symlink",
        ("../file", "full/new"),
        (b"../file", b"T/file", b"full/new", b"T/full/new"),
    ),
    "text that leads nowhere yet": (
        "symlinkat",
        ("up/later", _opened("full"), "new"),
        (b"up/later", b"T/later", b"new", b"T/full/new"),
    ),
    "absolute text": (
        "symlink",
        ("/etc/../dev/null", "new"),
        (b"/etc/../dev/null", b"/dev/null", b"new", b"T/new"),
    ),
    "its own process": (
        "stat",
        ("/proc/self/cwd/file", _ROOM),
        (b"/proc/self/cwd/file", b"T/file"),
    ),
    "no path to be asked about": ("getppid", (), ()),
    "optional": ("acct", (None,), ()),
}


@pytest.mark.parametrize(("call", "arguments", "paths"), CALLS.values(), ids=CALLS)
def test_a_path_is_judged_as_written_and_as_it_is(
    tree: Path,
    call: str,
    arguments: tuple[object, ...],
    paths: tuple[bytes | None, ...],
) -> None:
    if number_of(call) is None:
        pytest.skip("not on this machine")
    ((name, candidates),) = _asked(tree, call, arguments)

    assert name == call
    assert candidates[: len(paths)] == paths
    assert len(candidates) == len(paths) or call == "truncate"


def _inet(address: str, port: int) -> bytes:
    packed = socket.inet_aton(address)
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port, packed)


def _unix(path: bytes) -> bytes:
    return struct.pack("=H", socket.AF_UNIX) + path + b"\0"


_INET = _inet("192.0.2.1", 443)


def _pointer(data: bytes) -> int:
    """Memory that holds the bytes, and stays."""
    _KEPT.append(ctypes.create_string_buffer(data, len(data)))
    return ctypes.addressof(_KEPT[-1])


_KEPT: list[Any] = []


def _header(address: bytes | None) -> bytes:
    """A struct msghdr with nothing in it but a name."""
    if address is None:
        return bytes(56)
    return struct.pack("@PI", _pointer(address), len(address)) + bytes(44)


def _headers(*addresses: bytes | None) -> int:
    return _pointer(b"".join(_header(each) + bytes(8) for each in addresses))


SOCKETS: dict[str, tuple[str, tuple[object, ...], tuple[bytes | None, ...]]] = {
    "connect": ("connect", (-1, _pointer(_INET), 16), (b"192.0.2.1:443",)),
    "null": ("connect", (-1, None, 16), (None,)),
    "wild": ("connect", (-1, 1 << 46, 16), (None,)),
    "cut": ("connect", (-1, _pointer(_INET), 4), (None,)),
    "none": ("connect", (-1, _pointer(_INET), 0), ()),
    "sendto": ("sendto", (-1, None, 0, 0, _pointer(_INET), 16), (b"192.0.2.1:443",)),
    "sendto nobody": ("sendto", (-1, None, 0, 0, None, 0), ()),
    "sendmsg": ("sendmsg", (-1, _headers(_INET), 0), (b"192.0.2.1:443",)),
    "sendmsg to nobody": ("sendmsg", (-1, _headers(None), 0), ()),
    "sendmsg, wild": ("sendmsg", (-1, 1 << 46, 0), (None,)),
    "sendmmsg": (
        "sendmmsg",
        (-1, _headers(None, _INET, _inet("192.0.2.2", 1)), 3, 0),
        (b"192.0.2.1:443", b"192.0.2.2:1"),
    ),
    "unix": (
        "connect",
        (-1, _pointer(_unix(b"to-file")), 110),
        (b"unix:to-file", b"unix:T/file"),
    ),
    "unix, bound": (
        "bind",
        (-1, _pointer(_unix(b"full/new")), 11),
        (b"unix:full/new", b"unix:T/full/new"),
    ),
    "abstract": ("connect", (-1, _pointer(b"\1\0\0name"), 7), (b"unix:@name",)),
}


@pytest.mark.parametrize(
    ("call", "arguments", "addresses"), SOCKETS.values(), ids=SOCKETS
)
def test_an_address_is_judged_as_text(
    tree: Path,
    call: str,
    arguments: tuple[object, ...],
    addresses: tuple[bytes | None, ...],
) -> None:
    assert _asked(tree, call, arguments) == [(call, addresses)]


def _script(path: Path, first: str) -> None:
    path.write_text(f"{first}\nexit 0\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("first", "programs"),
    [
        pytest.param("#!/bin/sh", [(b"/bin/sh",)], id="shell"),
        pytest.param("#! \t/bin/sh -e x", [(b"/bin/sh",)], id="with arguments"),
        pytest.param("#!second", [(b"second", b"T/second"), (b"/bin/sh",)], id="twice"),
        pytest.param("#!missing", [(b"missing", b"T/missing")], id="missing"),
        pytest.param("exit 0", [], id="no program named"),
        pytest.param("#!", [], id="nothing named"),
        pytest.param("#!script", [(b"script", b"T/script")] * 5, id="by itself"),
    ],
)
def test_what_runs_a_script_is_judged_as_a_program(
    tree: Path, first: str, programs: list[tuple[bytes, ...]]
) -> None:
    _script(tree / "script", first)
    _script(tree / "second", "#!/bin/sh")
    asked = _asked(tree, "execve", ("./script", None, None))

    (_, script), *others = asked
    assert script == (b"./script", b"T/script")
    assert [
        paths[: len(each)] for (_, paths), each in zip(others, programs, strict=True)
    ] == programs


def test_a_refused_program_may_not_run_a_script_either(tree: Path) -> None:
    _script(tree / "script", "#!/bin/sh")

    def act() -> str:
        try:
            os.execv(tree / "script", ["script"])
        except PermissionError:
            return "refused"

    outcome = supervised(
        act,
        ("execve",),
        _handlers(("execve",), lambda _name, paths: b"/bin/sh" in paths),
    )

    assert outcome.result == "refused"


def test_what_is_closed_is_judged_first_and_refused_all_the_same(tree: Path) -> None:
    def act() -> int:
        try:
            raw("mkdir", str(tree / "new"), 0o755)
        except OSError as error:
            return error.errno or 0
        return 0

    handlers = _handlers(
        ("mkdir",), refusal=lambda name, _: {"mkdir": ENOSYS}.get(name)
    )
    outcome = supervised(act, ("mkdir",), handlers)

    assert outcome.result == ENOSYS
    assert [name for name, _ in outcome.log[0]] == ["mkdir"]
    assert not (tree / "new").exists()


def test_every_call_of_the_tables_exists_somewhere() -> None:
    unknown = [
        name
        for name in (*PATHS, *ADDRESSES)
        if number_of(name) is None and name != "uselib"
    ]
    assert not unknown or os.uname().machine != "x86_64"
