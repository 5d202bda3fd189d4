"""Ways of sockets, tried by who runs this as a program: what came of each, as JSON.

`INSIDE` stay on this machine, `OUTSIDE` would leave it. The second word is an address
of this machine.
"""

import ctypes
import errno
import json
import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack

__all__ = ["OUTSIDE", "own_address"]

ELSEWHERE = ("203.0.113.1", 9)  # for documentation (RFC 5737)
ELSEWHERE_6 = ("2001:db8::1", 9)
OF_LINK = ("fe80::1", 9, 0, 2)
MAPPED = "::ffff:"
OWN = next(iter(sys.argv[2:]), "127.0.0.1")
FAST_OPEN, PACKET_INFO = 0x2000_0000, 8
COOKIE = 71  # of the network that a socket is in
BIND_TO_DEVICE, BIND_TO_INDEX, OPTIONS = 25, 62, 6
TRANSPARENT, FAST_CONNECT, TIPC = 19, 30, 30
PACKET, VSOCK, SCTP, MPTCP, UDP_LITE = 17, 40, 132, 262, 136
RACES = 3000
V4, V6, STREAM, DATAGRAMS = (
    *(socket.AF_INET, socket.AF_INET6),
    *(socket.SOCK_STREAM, socket.SOCK_DGRAM),
)

Way = Callable[[ExitStack], object]


def own_address() -> str:
    """One of this machine that is not the loopback interface's, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ELSEWHERE)
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def _made(held: ExitStack, *kind: int) -> socket.socket:
    return held.enter_context(socket.socket(*kind))


def _served(held: ExitStack, family: int, address: str) -> tuple[str, int]:
    server = _made(held, family, socket.SOCK_STREAM)
    server.bind((address, 0))
    server.listen()
    return str(server.getsockname()[0]), int(server.getsockname()[1])


def _connects(family: int, host: str, to: str | None = None) -> Way:
    """To a server at `host`, by the address `to`."""

    def way(held: ExitStack) -> object:
        number = socket.AF_INET6 if ":" in host else socket.AF_INET
        found, port = _served(held, number, host)
        client = _made(held, family, socket.SOCK_STREAM)
        client.connect((to or found, port))
        return client.getpeername()[0]

    return way


def _reaches(family: int, kind: int, address: tuple[str | int, ...]) -> Way:
    def way(held: ExitStack) -> object:
        client = _made(held, family, kind)
        client.settimeout(0)
        return client.connect(address)

    return way


def _exchanges(family: int, host: str) -> Way:
    def way(held: ExitStack) -> object:
        server, client = (_made(held, family, socket.SOCK_DGRAM) for _ in range(2))
        server.bind((host, 0))
        client.sendto(b"one", server.getsockname())
        client.sendmsg([b"two"], [], 0, server.getsockname())
        client.connect(server.getsockname())
        client.send(b"three")
        return [server.recv(9).decode() for _ in range(3)]

    return way


def _makes(*kind: int) -> Way:
    return lambda held: _made(held, *kind).fileno() >= 0


def _keeps_its_flags(held: ExitStack) -> object:
    plain = _made(held, socket.AF_INET, socket.SOCK_DGRAM)
    plain.settimeout(0)
    given = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    held.enter_context(given)
    return os.get_inheritable(given.fileno()), os.get_blocking(given.fileno())


def _sends(address: tuple[str, int]) -> Way:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    return lambda held: _lost(
        _made(held, family, DATAGRAMS), lambda sender: sender.sendto(b"x", address)
    )


def _lost(sender: socket.socket, send: Callable[[socket.socket], object]) -> object:
    """What is sent comes back: nobody takes it, and the sender is told."""
    is_six = sender.family == socket.AF_INET6
    level, option = (socket.IPPROTO_IPV6, 25) if is_six else (socket.IPPROTO_IP, 11)
    sender.setsockopt(level, option, 1)  # IP_RECVERR
    send(sender)
    ready = select.poll()
    ready.register(sender, 0)
    ready.poll()
    return send(sender)


def _is_apart(held: ExitStack) -> object:
    """Whether datagrams are in a network that no connection is in."""
    sockets = (_made(held, V4, kind) for kind in (STREAM, DATAGRAMS))
    cookies = {each.getsockopt(socket.SOL_SOCKET, COOKIE, 8) for each in sockets}
    return len(cookies) > 1


def _sends_at_once(held: ExitStack) -> object:
    return _made(held, V4, STREAM).sendto(b"x", FAST_OPEN, ELSEWHERE)


def _sends_a_message(held: ExitStack) -> object:
    first = _made(held, socket.AF_INET, socket.SOCK_STREAM)
    return first.sendmsg([b"x"], [], FAST_OPEN, ELSEWHERE)


def _sends_without_family(held: ExitStack) -> object:
    """The kernel takes such an address for one of version 4."""
    address = (ctypes.c_ubyte * 16)(*[0, 0, 0, 9, 203, 0, 113, 1])
    sender = _made(held, socket.AF_INET, socket.SOCK_DGRAM)
    libc = ctypes.CDLL(None, use_errno=True)

    def send(sender: socket.socket) -> None:
        if libc.sendto(sender.fileno(), b"x", 1, 0, address, 16) < 0:
            raise OSError(ctypes.get_errno(), "sendto")

    return _lost(sender, send)


def _sends_from(address: tuple[str, int]) -> Way:
    """The first one that is not the loopback interface: of what a machine has."""
    chosen = struct.pack("i4s4s", 2, bytes(4), bytes(4))
    control = [(socket.IPPROTO_IP, PACKET_INFO, chosen)]
    return lambda held: _made(held, V4, DATAGRAMS).sendmsg([b"x"], control, 0, address)


def _sends_once_free(held: ExitStack) -> object:
    """To connect to no family takes from a socket what it was bound to."""
    sender = _made(held, socket.AF_INET, socket.SOCK_DGRAM)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(sender.fileno(), bytes(16), 16) < 0:
        raise OSError(ctypes.get_errno(), "connect")
    return _lost(sender, lambda sender: sender.sendmsg([b"x"], [], 0, ELSEWHERE))


def _binds(address: tuple[str, int, int, int]) -> Way:
    """Which binds it to the interface, whatever it connects to then."""
    return lambda held: _made(held, socket.AF_INET6, socket.SOCK_STREAM).bind(address)


def _sets(level: int, option: int) -> Way:
    family = socket.AF_INET6 if level == socket.IPPROTO_IPV6 else socket.AF_INET
    return lambda held: _made(held, family, socket.SOCK_STREAM).setsockopt(
        level, option, bytes(4)
    )


def _races(held: ExitStack) -> object:
    """Connect again and again to an address that another thread exchanges meanwhile."""
    server = _made(held, socket.AF_INET, socket.SOCK_STREAM)
    server.bind(("127.0.0.1", 0))
    server.listen()
    host, port = server.getsockname()
    here, there = (
        bytes([2, 0, *port.to_bytes(2), *socket.inet_aton(each)]) + bytes(8)
        for each in (host, ELSEWHERE[0])
    )
    address = ctypes.create_string_buffer(here, 16)
    ended = threading.Event()

    def exchange() -> None:
        while not ended.is_set():
            ctypes.memmove(address, there, 16)
            ctypes.memmove(address, here, 16)

    held.callback(ended.set)
    threading.Thread(target=exchange, daemon=True).start()
    return sorted({_raced(address, server) for _ in range(RACES)})


def _raced(address: "ctypes.Array[ctypes.c_char]", server: socket.socket) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    patience = struct.pack("ll", 2, 0)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
        if libc.connect(client.fileno(), address, 16) == 0:
            server.accept()[0].close()
            return str(client.getpeername()[0])
        return errno.errorcode[ctypes.get_errno()]


INSIDE: dict[str, Way] = {
    "loopback": _connects(V4, "127.0.0.1"),
    "another one of loopback": _connects(V4, "127.8.9.10"),
    "no address": _connects(V4, "127.0.0.1", "0.0.0.0"),
    "own address": _connects(V4, OWN),
    "loopback of version 6": _connects(V6, "::1"),
    "version 4 in version 6": _connects(V6, "127.0.0.1", f"{MAPPED}127.0.0.1"),
    "nobody listens": _reaches(V4, STREAM, ("127.0.0.1", 1)),
    "datagrams": _exchanges(V4, "127.0.0.1"),
    "datagrams of version 6": _exchanges(V6, "::1"),
    "flags": _keeps_its_flags,
    "netlink": _makes(socket.AF_NETLINK, socket.SOCK_RAW, 0),
    "names": lambda _: socket.getaddrinfo("localhost", 80, V4, STREAM)[0][4],
}
OUTSIDE: dict[str, tuple[int, Way]] = {
    "connect": (errno.EACCES, _reaches(V4, STREAM, ELSEWHERE)),
    "version 6": (errno.EACCES, _reaches(V6, STREAM, ELSEWHERE_6)),
    "version 4 in version 6": (
        errno.EACCES,
        _reaches(V6, STREAM, (MAPPED + ELSEWHERE[0], 9)),
    ),
    "address of a link": (errno.EACCES, _reaches(V6, STREAM, OF_LINK)),
    "from an address of a link": (errno.EACCES, _binds(OF_LINK)),
    "to all": (errno.EACCES, _reaches(V4, STREAM, ("255.255.255.255", 9))),
    "resolver": (errno.EACCES, _reaches(V4, STREAM, ("127.0.0.1", 53))),
    "resolver at an own address": (errno.EACCES, _reaches(V4, STREAM, (OWN, 53))),
    "resolver by version 6": (errno.EACCES, _reaches(V6, STREAM, ("::1", 53))),
    "sendto": (errno.ECONNREFUSED, _sends(ELSEWHERE)),
    "sendto of version 6": (errno.ECONNREFUSED, _sends(ELSEWHERE_6)),
    "sendto without a family": (errno.ECONNREFUSED, _sends_without_family),
    "sendto from another interface": (errno.ENODEV, _sends_from(ELSEWHERE)),
    "sendto once free again": (errno.ECONNREFUSED, _sends_once_free),
    "fast open": (errno.EOPNOTSUPP, _sends_at_once),
    "fast open by sendmsg": (errno.EOPNOTSUPP, _sends_a_message),
    "another interface": (errno.EPERM, _sets(socket.SOL_SOCKET, BIND_TO_DEVICE)),
    "another interface by number": (
        errno.EPERM,
        _sets(socket.SOL_SOCKET, BIND_TO_INDEX),
    ),
    "source route": (errno.EPERM, _sets(socket.IPPROTO_IP, socket.IP_OPTIONS)),
    "routing header": (errno.EPERM, _sets(socket.IPPROTO_IPV6, socket.IPV6_RTHDR)),
    "routing header among others": (errno.EPERM, _sets(socket.IPPROTO_IPV6, OPTIONS)),
    "address of another": (errno.EPERM, _sets(socket.IPPROTO_IP, TRANSPARENT)),
    "fast open at connect": (errno.EPERM, _sets(socket.IPPROTO_TCP, FAST_CONNECT)),
    "pair": (errno.EOPNOTSUPP, lambda _: socket.socketpair(TIPC, STREAM)),
    "several paths": (errno.EPROTONOSUPPORT, _makes(V4, STREAM, MPTCP)),
    "raw": (errno.EPERM, _makes(V4, socket.SOCK_RAW, socket.IPPROTO_ICMP)),
    "ping": (errno.EPROTONOSUPPORT, _makes(V4, DATAGRAMS, socket.IPPROTO_ICMP)),
    "UDP-Lite": (errno.EPROTONOSUPPORT, _makes(V4, DATAGRAMS, UDP_LITE)),
    "SCTP": (errno.EPROTONOSUPPORT, _makes(V4, STREAM, SCTP)),
    "packets": (errno.EAFNOSUPPORT, _makes(PACKET, socket.SOCK_RAW, 0)),
    "virtual machines": (errno.EAFNOSUPPORT, _makes(VSOCK, STREAM, 0)),
}


def _came_of(way: Way) -> object:
    with ExitStack() as held:
        try:
            return way(held)
        except OSError as error:
            return errno.errorcode.get(error.errno or 0, str(error))


def main() -> None:
    """Try the ways of a kind."""
    ways: dict[str, Way] = {
        "inside": INSIDE,
        "apart": {"apart": _is_apart},
        "outside": {name: way for name, (_, way) in OUTSIDE.items()},
        "race": {"race": _races},
    }[sys.argv[1]]
    found = {name: _came_of(way) for name, way in ways.items()}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
