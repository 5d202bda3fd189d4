"""What comes over a connection is given out in the pieces that were asked for."""

import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.wire.frames import FrameError
from redlane.wire.incoming import Incoming


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 50))
def test_pieces_are_those_asked_for(messages: list[bytes], cut: int) -> None:
    data = b"".join(messages)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for start in range(0, len(data), cut):
            theirs.send(data[start : start + cut])
        theirs.shutdown(socket.SHUT_WR)
        incoming = Incoming(ours, 20)
        got = b""
        if data:
            first = incoming.head(1)
            assert first is not None
            got = first
        for each in messages:
            wanted = min(len(each), len(data) - len(got))
            got += incoming.take(wanted)
        assert got == data
        assert incoming.head(1) is None


def test_connection_that_is_hung_up_has_no_head(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    pair[1].close()
    assert Incoming(pair[0], 20).head(4) is None


def test_message_that_ends_too_early_is_none(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    pair[1].send(b"ab")
    pair[1].close()
    with pytest.raises(FrameError):
        Incoming(pair[0], 20).head(4)


def test_message_that_stops_takes_no_longer_than_it_may(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    pair[1].send(b"abcd")
    incoming = Incoming(pair[0], 0.1)
    assert incoming.head(4) == b"abcd"
    with pytest.raises(TimeoutError):
        incoming.take(1)


def test_bytes_that_nobody_wants_go_by(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    unwanted = b"x" * 1_000_000
    thread = threading.Thread(target=pair[1].sendall, args=(b"a" + unwanted + b"b",))
    thread.start()
    incoming = Incoming(pair[0], 20)
    assert incoming.head(1) == b"a"
    incoming.skip(len(unwanted))
    assert incoming.take(1) == b"b"
    thread.join()
