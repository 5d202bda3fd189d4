"""Order: what is held keeps its place, and what waits for it goes out behind it."""

import os
from collections.abc import Iterator

import pytest

from redlane.contexts.mcp.frames import read_frame
from redlane.mcp.loop import Loop, Outlet
from redlane.mcp.ordered_writer import OrderedWriter

NOTIFICATION = read_frame(b'{"method":"notifications/message"}')
ANSWER = read_frame(b'{"id":1,"result":{}}')


class Pipe:
    """A stream into a pipe."""

    def __init__(self) -> None:
        self.end, inlet = os.pipe()
        self.stream = OrderedWriter(Outlet(Loop(), inlet, lambda: None))
        self.ends = (self.end, inlet)
        os.set_blocking(self.end, False)

    def read(self) -> bytes:
        try:
            return os.read(self.end, 1000)
        except BlockingIOError:
            return b""


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    for each in made.ends:
        os.close(each)


def test_messages_go_out_at_once(pipe: Pipe) -> None:
    pipe.stream.send(b"one")

    assert pipe.read() == b"one"
    assert pipe.stream.is_empty


def test_nothing_overtakes_a_place(pipe: Pipe) -> None:
    first, second = pipe.stream.hold(NOTIFICATION), None
    pipe.stream.send(b"behind;")
    second = pipe.stream.hold(NOTIFICATION)
    pipe.stream.send(b"last;")
    assert pipe.read() == b""
    assert pipe.stream.pending == len(b"behind;last;")

    pipe.stream.fill(second, b"second;")
    assert pipe.read() == b""
    pipe.stream.fill(first, b"first;")

    assert pipe.read() == b"first;behind;second;last;"
    assert pipe.stream.is_empty


def test_a_place_may_be_filled_with_nothing(pipe: Pipe) -> None:
    place = pipe.stream.hold(NOTIFICATION)
    pipe.stream.send(b"behind")
    assert not pipe.stream.is_empty

    pipe.stream.fill(place, b"")

    assert pipe.read() == b"behind"


def test_an_answer_that_is_held_is_overtaken(pipe: Pipe) -> None:
    place = pipe.stream.hold(ANSWER)
    pipe.stream.send(b"behind;")
    assert pipe.read() == b"behind;"

    pipe.stream.fill(place, b"answer;")

    assert pipe.read() == b"answer;"
