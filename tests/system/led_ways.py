"""Ways to another machine by sockets that know of no proxy, tried by who runs this as a
program: what came of each, as JSON. The words behind the way are its own.
"""

import asyncio
import errno
import json
import os
import select
import signal
import socket
import ssl
import struct
import sys
import threading
from contextlib import suppress

__all__: list[str] = []

_REQUEST = b"GET / HTTP/1.0\r\nHost: %b\r\n\r\n"
_DNS = ("192.0.2.53", 53)  # whatever is asked, answers
_ADDRESS = 1
_GARBAGE = (
    *(b"", b"\0", bytes(11), bytes(12), bytes(200), b"\xff" * 512, bytes(1500)),
    *(
        b"\0\1\1\0\0\1" + bytes(6) + tail
        for tail in (b"", b"\x3f", b"\xc0\x0c\0\1\0\1")
    ),
)


def _page(host: str, port: str) -> str:
    with socket.create_connection((host, int(port))) as client:
        client.sendall(_REQUEST % host.encode())
        return _rest(client)


def _called(host: str, port: str, name: str) -> str:
    """By its address, and by a name that is in the request alone."""
    with socket.create_connection((host, int(port))) as client:
        client.sendall(_REQUEST % name.encode())
        return _rest(client)


def _called_in_tls(host: str, port: str, name: str) -> str:
    """The same, where it is in TLS; the server takes the blank line for a request."""
    unread = ssl.MemoryBIO()
    greeting = ssl.create_default_context().wrap_bio(
        ssl.MemoryBIO(), unread, server_hostname=name
    )
    with suppress(ssl.SSLWantReadError):
        greeting.do_handshake()
    with socket.create_connection((host, int(port))) as client:
        client.sendall(unread.read())
        client.sendall(b"\r\n\r\n")
        return _rest(client)


def _mapped(host: str, port: str) -> str:
    """By a socket of version 6."""
    with socket.socket(socket.AF_INET6) as client:
        client.connect((f"::ffff:{host}", int(port)))
        client.sendall(_REQUEST % host.encode())
        return _rest(client)


def _many(host: str, port: str) -> list[str]:
    """By sockets that do not wait, all at once."""

    async def one() -> str:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(_REQUEST % host.encode())
        text = (await reader.read()).decode()
        writer.close()
        return text.rpartition("\r\n")[2]

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(one() for _ in range(20)))

    return sorted(set(asyncio.run(all_of_them())))


def _greeting(host: str, port: str) -> str:
    """Of a server that speaks first: none of it is lost."""
    with socket.create_connection((host, int(port))) as client:
        first = client.recv(7, socket.MSG_WAITALL).decode()
        client.sendall(b"me")
        return first + _rest(client)


def _twice(host: str, port: str) -> list[str]:
    """One socket by several calls at once, and one more: the server hears nothing."""
    with socket.socket() as client:
        client.settimeout(0)
        codes: list[int] = []
        calls = [
            threading.Thread(
                target=lambda: codes.append(client.connect_ex((host, int(port))))
            )
            for _ in range(9)
        ]
        for each in calls:
            each.start()
        for each in calls:
            each.join()
        codes.append(client.connect_ex((host, int(port))))
        client.settimeout(None)
        client.recv(7, socket.MSG_WAITALL)
        client.sendall(b"me")
        wrong = set(codes) - {0, errno.EALREADY, errno.EISCONN}
        names = sorted(errno.errorcode[each] for each in wrong)
        return [*names, errno.errorcode.get(codes[-1], "connected"), _rest(client)]


def _greeting_by_parts(host: str, port: str) -> str:
    """What a socket that does not wait hears, once it is connected."""
    with socket.socket() as client:
        client.settimeout(0)
        number = client.connect_ex((host, int(port)))
        sys.stdout.write(json.dumps(errno.errorcode.get(number, "connected")) + "\n")
        sys.stdout.flush()
        ready = select.poll()
        ready.register(client, select.POLLOUT)
        ready.poll()
        sys.stdout.write('"ready"\n')
        sys.stdout.flush()
        client.settimeout(None)
        with suppress(ConnectionResetError):
            first = client.recv(7, socket.MSG_WAITALL).decode()
            client.sendall(b"me")
            return first + _rest(client)
        return ""


def _among_signals(host: str, port: str, restarts: str) -> str:
    """What a socket hears that is connected while signals come, which are handled."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, restarts == "no")
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    with socket.socket() as client:
        client.connect((host, int(port)))
        signal.setitimer(signal.ITIMER_REAL, 0)
        client.sendall(b"me")
        return _rest(client)


def _does_not_wait(host: str, port: str) -> str:
    with socket.socket() as client:
        client.settimeout(0)
        return errno.errorcode.get(client.connect_ex((host, int(port))), "connected")


def _again(host: str, port: str, nobody: str) -> list[str]:
    """One socket: where nobody listens, and then where somebody does."""
    with socket.socket() as client:
        first = errno.errorcode[client.connect_ex((host, int(nobody)))]
        with suppress(OSError):
            client.getpeername()
            return ["connected"]
        client.connect((host, int(port)))
        client.sendall(_REQUEST % host.encode())
        return [first, _rest(client)]


def _look_up(name: str) -> list[str]:
    found = socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)
    return sorted({str(each[4][0]) for each in found})


def _questions(name: str) -> list[object]:
    """A plain one behind others that are none: what is answered to each."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(20)
        for each in _GARBAGE:
            client.sendto(each, _DNS)
        labels = b"".join(
            bytes([len(each)]) + each for each in name.encode().split(b".")
        )
        question = labels + struct.pack(">BHH", 0, _ADDRESS, 1)
        client.sendto(struct.pack(">6H", 0x5EED, 0x100, 1, 0, 0, 0) + question, _DNS)
        while True:
            answer, whence = client.recvfrom(512)
            if answer[:2] == b"\x5e\xed":
                rest = answer[12 + len(question) :]
                return [whence[0], answer[3] & 15, socket.inet_ntoa(rest[-4:])]


def _rest(client: socket.socket) -> str:
    text = b""
    while more := client.recv(9000):
        text += more
    return text.decode().rpartition("\r\n")[2]


def main() -> None:
    """Try the way that the first word names."""
    ways = {
        "page": _page,
        "called": _called,
        "called in TLS": _called_in_tls,
        "mapped": _mapped,
        "many": _many,
        "greeting": _greeting,
        "greeting by parts": _greeting_by_parts,
        "among signals": _among_signals,
        "twice": _twice,
        "does not wait": _does_not_wait,
        "again": _again,
        "look up": _look_up,
        "questions": _questions,
    }
    try:
        found: object = ways[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]
    except socket.gaierror as error:
        found = error.strerror
    except OSError as error:
        found = errno.errorcode.get(error.errno or 0, str(error))
    sys.stdout.write(json.dumps(found) + os.linesep)


if __name__ == "__main__":
    main()
