"""A tunnel that nobody looks into lasts no longer than what it was allowed by."""

import socket
from collections.abc import Iterator

import pytest
from proxied import Agent, Proxied
from spec.cases import simple

POLICIES: dict[str, dict[str, object]] = {}
SETTINGS = {"tls": {"passthrough_hosts": ["127.0.0.1"]}}
ROLES: dict[str, list[str]] = {"wide": []}


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(30)
        yield made


def _opened(agent: Agent, server: socket.socket) -> socket.socket:
    """The server's end of a tunnel."""
    host = f"127.0.0.1:{server.getsockname()[1]}"
    head = f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n"
    auth = "Proxy-Authorization: Basic @AUTH@\r\n\r\n"
    agent.send("raw", data=(head + auth).encode(), silence=60)
    connection, _ = server.accept()
    connection.settimeout(30)
    connection.sendall(b"hello, which is no HTTP")
    return connection


def _is_hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_a_freeze_closes_it(lab: Proxied, server: socket.socket) -> None:
    agent = lab.new_agent("wide")
    session = agent.session
    with _opened(agent, server) as connection:
        lab.home.run("session", "freeze", "--session", session)
        assert _is_hung_up(connection)
        lab.home.run("session", "unfreeze", "--session", session)


def test_a_reload_that_blocks_closes_it(lab: Proxied, server: socket.socket) -> None:
    agent = lab.new_agent("wide")
    with _opened(agent, server) as connection:
        policy = simple("Block", "CONNECT 127.0.0.1", context="Network")
        lab.home.policies({"id": "no-tunnels", **policy})
        lab.home.role("wide", "no-tunnels")
        try:
            assert lab.home.run("session", "reload").code == 0
            assert _is_hung_up(connection)
        finally:
            lab.home.role("wide")
            assert lab.home.run("session", "reload").code == 0
    assert lab.events("CONNECT 127.0.0.1")[-1]["policy"] == "no-tunnels"


def test_the_end_of_its_session_closes_it(lab: Proxied, server: socket.socket) -> None:
    agent = lab.new_agent("wide")
    session = agent.session
    with _opened(agent, server) as connection:
        lab.home.run("session", "kill", "--session", session)
        assert _is_hung_up(connection)
