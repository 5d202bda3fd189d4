"""Addresses to listen on: what is taken, and what is refused in one line."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redlane_hub.errors import OperatorError
from redlane_hub.server.sockets import (
    bound_sockets,
    listening_sockets,
    loopback_sockets,
    url_of,
)


@contextmanager
def opened(listen: str) -> Iterator[list[socket.socket]]:
    sockets = bound_sockets(listen)
    try:
        yield sockets
    finally:
        for each in sockets:
            each.close()


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "0.0.0.0:0"])
def test_address_is_listened_on_with_a_port_of_its_own(listen: str) -> None:
    with opened(listen) as [listener]:
        host, port = listener.getsockname()
        assert host == listen.removesuffix(":0")
        assert port > 0
        assert url_of(listener) == f"http://{host}:{port}"
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_ipv6_stands_in_brackets() -> None:
    with opened("[::1]:0") as [listener]:
        assert url_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"


def test_all_addresses_of_a_name_have_one_port() -> None:
    with opened("localhost:0") as listeners:
        assert len({each.getsockname()[1] for each in listeners}) == 1


def test_unix_socket_is_a_file_that_everybody_may_open(tmp_path: Path) -> None:
    path = tmp_path / "hub.sock"
    with opened(f"unix:{path}") as [listener]:
        assert url_of(listener) == f"unix:{path}"
        assert path.stat().st_mode & 0o777 == 0o666


UNUSABLE = {
    "port out of range": "127.0.0.1:65536",
    "a word": "127.0.0.1:http",
    "other digits": "127.0.0.1:\N{ARABIC-INDIC DIGIT EIGHT}",
    "no address of ours": "192.0.2.1:0",
    "no host name": "no such host:80",
    "unknown host": "nowhere.invalid:0",
    "long name": f"{'a' * 70}:0",
    "IPv6 without brackets": "::1:80",
    "nothing": "",
    "no such directory": "unix:/nowhere/hub.sock",
    "long path": f"unix:/tmp/{'a' * 200}",
    "no path": "unix:",
}


@pytest.mark.parametrize("listen", UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_address_is_one_line(listen: str) -> None:
    with pytest.raises(OperatorError, match=r"\Acannot listen on [^\n]+\Z"):
        bound_sockets(listen)


def test_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "hub.sock"
    path.write_text("mine")
    with pytest.raises(OperatorError, match="in use"):
        bound_sockets(f"unix:{path}")
    assert path.read_text() == "mine"


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "unix:/x"])
def test_metrics_are_refused_where_others_could_read_them(listen: str) -> None:
    with pytest.raises(OperatorError, match="cannot listen on"):
        loopback_sockets(listen)


@pytest.mark.parametrize(
    "environ",
    [
        {"LISTEN_FDS": "1"},
        {"LISTEN_FDS": "1", "LISTEN_PID": "1"},
        {"LISTEN_FDS": "x", "LISTEN_PID": "1"},
    ],
    ids=["no process", "another process", "no number"],
)
def test_sockets_for_somebody_else_are_not_taken(environ: dict[str, str]) -> None:
    listeners = listening_sockets("127.0.0.1:0", environ)
    assert url_of(listeners[0]).startswith("http://127.0.0.1:")
    listeners[0].close()
