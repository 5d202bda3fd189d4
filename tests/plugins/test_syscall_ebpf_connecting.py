"""The kernel connects to the address that was judged, or not at all."""

import ctypes
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from errno import EPERM

import pytest
from syscall_attachments import (
    ipv4,
    ipv6,
    libc_connect,
    privileged,
    session_cgroup,
)
from syscall_harness import Kit, forked, supervised

from redlane_context_syscall.addresses import address_texts
from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.ebpf import kernel
from redlane_context_syscall.ebpf.cgroup import SessionCgroup
from redlane_context_syscall.ebpf.connecting import Connecting, grant
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.kernel.system import process_vm_readv

pytestmark = privileged

_ALLOWED, _DENIED = 40_001, 40_002
_ATTEMPTS, _MOST_ATTEMPTS = 30_000, 300_000


@pytest.fixture
def cgroup() -> Iterator[SessionCgroup]:
    with session_cgroup() as made:
        yield made


@pytest.fixture
def connecting(cgroup: SessionCgroup) -> Iterator[Connecting]:
    try:
        made = Connecting(cgroup)
    except OSError as error:
        pytest.skip(f"cgroup/connect programs do not load here: {error}")
    try:
        yield made
    finally:
        made.close()


def _attempt(kind: int, address: bytes, family: int = socket.AF_INET) -> int:
    """Connect a new socket; the errno."""
    memory = ctypes.create_string_buffer(address, len(address))
    with socket.socket(family, kind) as each:
        return libc_connect(each.fileno(), memory)


def _in_session(
    cgroup: SessionCgroup, act: Callable[[], object], prepare: Callable[[int], None]
) -> object:
    """Run `act` in a process of the cgroup, after `prepare` was told its thread."""

    def inside() -> object:
        cgroup.admit(os.getpid())
        prepare(os.getpid())
        return act()

    return forked(inside)


@pytest.mark.parametrize(
    ("family", "address", "judged"),
    [
        (socket.AF_INET, ipv4("127.0.0.1", _ALLOWED), b"127.0.0.1:40001"),
        (socket.AF_INET6, ipv6("::1", _ALLOWED), b"[::1]:40001"),
        (socket.AF_INET6, ipv6("::1", _ALLOWED), b"[::1%lo]:40001"),
        (
            socket.AF_INET6,
            ipv6("::ffff:127.0.0.1", _ALLOWED),
            b"[::ffff:127.0.0.1]:40001",
        ),
        (socket.AF_INET6, ipv4("127.0.0.1", _ALLOWED), b"127.0.0.1:40001"),
    ],
    ids=["IPv4", "IPv6", "zone", "IPv4 within IPv6", "IPv4 on a socket of IPv6"],
)
def test_granted_address_is_connected_once(
    cgroup: SessionCgroup,
    connecting: Connecting,
    family: int,
    address: bytes,
    judged: bytes,
) -> None:
    assert address_texts(address)[0] in (judged, judged.replace(b"%lo", b""))

    def twice() -> list[int]:
        return [_attempt(socket.SOCK_DGRAM, address, family) for _ in range(2)]

    result = _in_session(cgroup, twice, lambda me: connecting.allow(me, judged))
    assert result == [0, EPERM]


@pytest.mark.parametrize(
    "granted",
    [
        *(b"127.0.0.1:40002", b"127.0.0.2:40001", b"[::ffff:127.0.0.1]:40001"),
        *(b"[127.0.0.1]:40001", b"127.0.0.1", b"127.0.0.1:", b"127.0.0.1:99999999"),
        *(b"127.0.0.1:-1", b"unix:/run/127.0.0.1:40001", b"family:2", b"\xff:1"),
        *(b"", None),
    ],
)
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_any_other_address_is_refused(
    cgroup: SessionCgroup,
    connecting: Connecting,
    kind: socket.SocketKind,
    granted: bytes | None,
) -> None:
    def prepare(thread: int) -> None:
        connecting.allow(thread, granted)

    wanted = ipv4("127.0.0.1", _ALLOWED)
    assert _in_session(cgroup, lambda: _attempt(kind, wanted), prepare) == EPERM


def test_without_a_ruling_nothing_is_connected(
    cgroup: SessionCgroup, connecting: Connecting
) -> None:
    del connecting  # it holds the cgroup, and grants nothing
    wanted = ipv4("127.0.0.1", _ALLOWED)
    assert _in_session(cgroup, _datagram(wanted), lambda _: None) == EPERM


def test_later_ruling_takes_an_unused_grant_back(
    cgroup: SessionCgroup, connecting: Connecting
) -> None:
    def prepare(thread: int) -> None:
        connecting.allow(thread, b"127.0.0.1:40001")
        connecting.allow(thread, b"unix:/run/socket")

    wanted = ipv4("127.0.0.1", _ALLOWED)
    assert _in_session(cgroup, _datagram(wanted), prepare) == EPERM


def test_grant_is_of_one_thread_alone(
    cgroup: SessionCgroup, connecting: Connecting
) -> None:
    attempt = _datagram(ipv4("127.0.0.1", _ALLOWED))

    def other_thread() -> list[int]:
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(attempt()))
        thread.start()
        thread.join()
        return [*found, attempt()]

    result = _in_session(
        cgroup, other_thread, lambda me: connecting.allow(me, b"127.0.0.1:40001")
    )
    assert result == [EPERM, 0]


def test_grant_is_laid_out_as_the_program_reads_it() -> None:
    packed = grant(b"192.0.2.1:443", 5)
    assert packed is not None
    assert struct.unpack("=QI2s2x4s12x", packed) == (5, 2, b"\1\xbb", b"\xc0\0\2\1")


def test_grant_that_is_too_old_is_none(
    cgroup: SessionCgroup, connecting: Connecting
) -> None:
    def prepare(thread: int) -> None:
        old = grant(b"127.0.0.1:40001", time.monotonic_ns() - 1)
        assert old is not None
        kernel.update(connecting._grants, struct.pack("=I", thread), old)

    wanted = ipv4("127.0.0.1", _ALLOWED)
    assert _in_session(cgroup, _datagram(wanted), prepare) == EPERM


def test_other_transports_are_held_as_well(
    cgroup: SessionCgroup, connecting: Connecting
) -> None:
    multipath = 262
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, multipath).close()
    except OSError as error:
        pytest.skip(f"no MPTCP here: {error}")

    def attempt() -> int:
        memory = ctypes.create_string_buffer(ipv4("127.0.0.1", _DENIED), 16)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, multipath) as each:
            return libc_connect(each.fileno(), memory)

    del connecting  # it holds the cgroup, and grants nothing
    assert _in_session(cgroup, attempt, lambda _: None) == EPERM


def test_connection_within_sendto_is_refused(
    cgroup: SessionCgroup, connecting: Connecting
) -> None:
    def fast_open() -> int:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as each:
            try:
                each.sendto(b"x", socket.MSG_FASTOPEN, server.getsockname())
            except OSError as error:
                return error.errno or 0
        return 0

    del connecting  # it holds the cgroup, and grants nothing
    assert _in_session(cgroup, fast_open, lambda _: None) == EPERM


def test_other_processes_connect_as_ever(
    cgroup: SessionCgroup, connecting: Connecting
) -> None:
    assert _datagram(ipv4("127.0.0.1", _DENIED))() == 0
    assert not cgroup.holds(os.getpid())
    connecting.close()


def test_closing_takes_the_programs_away(cgroup: SessionCgroup) -> None:
    Connecting(cgroup).close()
    attempt = _datagram(ipv4("127.0.0.1", _DENIED))
    assert _in_session(cgroup, attempt, lambda _: None) == 0


def _datagram(address: bytes) -> Callable[[], int]:
    return lambda: _attempt(socket.SOCK_DGRAM, address)


def _judging(
    connecting: Connecting | None,
) -> Callable[[Kit], Mapping[str, Handler]]:
    """Connects to the allowed port go on, others are refused."""

    def connect(notification: Notification) -> Answer:
        length = notification.args[2]
        address = process_vm_readv(notification.pid, notification.args[1], length)
        if struct.unpack_from("!H", address, 2) != (_ALLOWED,):
            raise PermissionError(EPERM, "denied")
        if connecting is not None:
            connecting.allow(notification.pid, address_texts(address)[0])
        return GO_ON

    return lambda _: {"connect": connect}


def _flipping(least: int, *, until_denied: bool) -> tuple[int, int]:
    """Connect while another thread changes the port; how often to which.

    Each is on a core of its own, where there are two, and both ports are seen: a busy
    machine may keep the one that flips from its work for long.
    """
    cores = sorted(os.sched_getaffinity(0))
    memory = ctypes.create_string_buffer(ipv4("127.0.0.1", _ALLOWED), 16)
    ports = [struct.pack("!H", each) for each in (_ALLOWED, _DENIED)]
    over = threading.Event()

    def flip() -> None:
        os.sched_setaffinity(0, cores[-1:])
        while not over.is_set():
            for each in ports:
                ctypes.memmove(ctypes.addressof(memory) + 2, each, 2)

    flipper = threading.Thread(target=flip)
    flipper.start()
    os.sched_setaffinity(0, cores[:1])
    reached = {_ALLOWED: 0, _DENIED: 0}
    refused = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as each:
        for attempt in range(_MOST_ATTEMPTS):
            is_seen = reached[_DENIED] or (refused and not until_denied)
            if attempt >= least and reached[_ALLOWED] and is_seen:
                break
            if libc_connect(each.fileno(), memory) == 0:
                reached[each.getpeername()[1]] += 1
            else:
                refused += 1
    over.set()
    flipper.join()
    return reached[_ALLOWED], reached[_DENIED]


def test_flipping_the_address_gets_nowhere(
    cgroup: SessionCgroup, connecting: Connecting
) -> None:
    outcome = supervised(
        lambda: _flipping(_ATTEMPTS, until_denied=False),
        ["connect"],
        _judging(connecting),
        before=lambda: cgroup.admit(os.getpid()),
    )
    allowed, denied = outcome.result
    assert allowed
    assert denied == 0


def test_flipping_the_address_works_without_the_attachment() -> None:
    outcome = supervised(
        lambda: _flipping(1, until_denied=True), ["connect"], _judging(None)
    )
    assert outcome.result[1], "the attack proves nothing: it never got through"
