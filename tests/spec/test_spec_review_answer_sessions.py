"""No process of a session answers by a link, whatever it knows of it."""

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from proxied import Proxied
from spec import answer_desk
from spec.answer_desk import FORM, OURS, Desk, basic, front_desk

POLICIES = answer_desk.POLICIES


@pytest.fixture(scope="module")
def desk(lab: Proxied) -> Iterator[Desk]:
    with front_desk(lab.home) as made:
        yield made


def request(method: str, link: str, host: str) -> str:
    head = f"{method} {link} HTTP/1.1\r\nHost: {host}\r\n"
    head += f"Proxy-Authorization: Basic @AUTH@\r\nAuthorization: {basic(OURS)}\r\n"
    body = f"Content-Type: {FORM}\r\nContent-Length: 9\r\n\r\nact=allow"
    return head + (body if method == "POST" else "\r\n")


FETCH = """
import contextlib, socket, sys
host, port, get, post, *ours = sys.argv[1:]
for asked, each in zip([post, get] * 16, map(int, ours)):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as made:
        with contextlib.suppress(OSError):  # IP_LOCAL_PORT_RANGE, since Linux 6.3
            made.setsockopt(0, 51, (each << 16 | each).to_bytes(4, sys.byteorder))
        made.connect((host, int(port)))
        made.sendall(asked.encode())
        print(made.recv(12).decode())
"""
WAYS: dict[str, tuple[str, ...]] = {
    "itself": (), "child": ("timeout", "60"), "its port": (), "its port by IPv6": (),
    "orphan": ("sh", "-c", 'setsid --fork "$@" | cat', "sh"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_nobody_in_a_session_uses_it(lab: Proxied, desk: Desk, way: str) -> None:
    words, is_shared = WAYS[way], "port" in way
    host, port = desk.listens.split(":")
    with desk.asked() as held, ExitStack() as stack:
        keep, path = stack.enter_context, f"/answer/{held.link[-43:]}"
        servers = [keep(socket.create_server((host, 0))) for _ in range(32)]
        others = [keep(socket.create_connection(e.getsockname())) for e in servers]
        ours = [str(each.getsockname()[1] if is_shared else 0) for each in others]
        to = f"::ffff:{host}" if "IPv6" in way else host
        asks = [request(each, path, desk.listens) for each in ("GET", "POST")]
        ran = lab.run(*words, sys.executable, "-c", FETCH, to, port, *asks, *ours)
        assert ran.out == "HTTP/1.1 403\n" * 32, ran
        assert desk.is_held(held)


NAMES = ("localhost", "LOCALHOST", "localhost.")
HOSTS = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.000.000.001",
    "0", "0.0.0.0", "[::ffff:127.0.0.1]", "[::1]", "[::]", "%31%32%37.0.0.1", *NAMES,
]  # fmt: skip


def test_no_session_reaches_it_through_the_proxy(lab: Proxied, desk: Desk) -> None:
    places = [(e, desk.listens) for e in HOSTS] + [(e, desk.front) for e in HOSTS]
    with desk.asked() as held:
        for name, place in places:
            host = f"{name}:{place.partition(':')[2]}"
            link = f"http://{host}/answer/{held.link[-43:]}"
            for way in (("GET", link), ("POST", link), ("CONNECT", host)):
                said = lab.agent().raw(request(*way, host).encode(), whole=True)["data"]
                assert said[9:10] in (b"4", b"5", b""), (way, said)
        assert desk.is_held(held)
        assert lab.agent().request(f"{lab.http}/text").status == 200
