"""Which socket has an address, where one port serves several connections."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from redlane.membership.tcp_sockets import holds, socket_at

HERE = "127.0.0.1"


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two connections from one port, to two servers."""
    with ExitStack() as stack:
        made, port = [], 0
        for _ in range(2):
            server = stack.enter_context(socket.create_server((HERE, 0)))
            end = stack.enter_context(socket.socket())
            end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            end.bind((HERE, port))
            end.connect(server.getsockname())
            port = end.getsockname()[1]
            made.append(end)
        yield made[0], made[1]


def test_a_port_of_several_connections_names_none_by_itself(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    for end in ends:
        found = socket_at(end.getsockname(), end.getpeername())
        assert found is not None
        assert found.link == str(Path(f"/proc/self/fd/{end.fileno()}").readlink())
        assert found.user == os.getuid()
        assert holds(os.getpid(), found.link)


def test_a_client_may_use_ipv6_for_an_address_of_ipv4() -> None:
    with (
        socket.create_server((HERE, 0)) as server,
        socket.socket(socket.AF_INET6) as end,
    ):
        end.connect((f"::ffff:{HERE}", server.getsockname()[1]))
        client = HERE, end.getsockname()[1]
        found = socket_at(client, server.getsockname())
        assert found is not None
        assert found.link == str(Path(f"/proc/self/fd/{end.fileno()}").readlink())


def test_what_is_no_connection_is_none() -> None:
    with socket.create_server((HERE, 0)) as server:
        place = server.getsockname()
        for client in ((HERE, 1), ("nowhere", 1), ("::1", 1)):
            assert socket_at(client, place) is None
