"""The loop: what it reads and writes, and what it lets wait."""

import os
import socket
from collections.abc import Iterator

import pytest

from redlane.mcp.loop import Inlet, Loop, Outlet

BIG = bytes(range(256)) * 4096


@pytest.fixture(params=["pipe", "socket"])
def ends(request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """Where to read, and where to write."""
    if request.param == "pipe":
        made = list(os.pipe())
    else:
        made = [each.detach() for each in socket.socketpair()]
    yield made
    for each in made:
        if each >= 0:
            os.close(each)


def test_more_than_fits_is_kept_and_goes_out_in_order(ends: list[int]) -> None:
    loop, found = Loop(), bytearray()
    outlet = Outlet(loop, ends[1], lambda: None)

    outlet.write(BIG)
    outlet.write(b"end")
    assert 0 < outlet.pending <= len(BIG) + 3

    Inlet(loop, ends[0], found.extend, lambda: None)
    while outlet.pending or len(found) < len(BIG) + 3:
        loop.turn(10)
    assert bytes(found) == BIG + b"end"
    outlet.close()


def test_descriptors_block_as_they_did(ends: list[int]) -> None:
    outlet = Outlet(Loop(), ends[1], lambda: None)
    outlet.write(BIG)

    assert os.get_blocking(ends[1])
    outlet.close()


def test_what_is_neither_pipe_nor_socket_is_written_to_as_well() -> None:
    other = os.memfd_create("other")
    outlet = Outlet(Loop(), other, lambda: None)
    outlet.write(BIG)

    assert outlet.pending == 0
    assert os.pread(other, len(BIG) + 1, 0) == BIG
    os.close(other)


def test_closing_twice_lets_go_of_nobody_elses_descriptor() -> None:
    loop, first, second = Loop(), os.pipe(), os.pipe()
    outlet = Outlet(loop, first[1], lambda: None)
    outlet.close()
    os.dup2(second[0], first[1])
    found: list[bytes] = []
    Inlet(loop, first[1], found.append, lambda: None)

    outlet.close()
    os.write(second[1], b"x")
    loop.turn(10)
    assert found == [b"x"]
    for each in (*first, *second):
        os.close(each)


def test_closing_leaves_no_writer(ends: list[int]) -> None:
    outlet = Outlet(Loop(), ends[1], lambda: None)
    outlet.close()
    os.close(ends[1])
    ends[1] = -1

    assert os.read(ends[0], 1) == b""


@pytest.mark.parametrize("data", [b"", BIG])
def test_it_is_told_once_that_nobody_reads(ends: list[int], data: bytes) -> None:
    loop, told = Loop(), []
    outlet = Outlet(loop, ends[1], lambda: told.append(1))
    outlet.write(data)
    os.close(ends[0])
    ends[0] = -1

    while not told:
        loop.turn(10)
    outlet.write(b"more")
    loop.turn(0)

    assert told == [1]
    assert not outlet.is_open
    assert not outlet.pending


def test_the_end_is_told_behind_all_that_came(ends: list[int]) -> None:
    loop, found = Loop(), []
    Inlet(loop, ends[0], found.append, lambda: found.append(b"the end"))
    os.write(ends[1], b"text")
    os.close(ends[1])
    ends[1] = -1

    while b"the end" not in found:
        loop.turn(10)

    assert found == [b"text", b"the end"]


def test_what_is_not_wanted_stays_where_it_is(ends: list[int]) -> None:
    loop, found = Loop(), []
    inlet = Inlet(loop, ends[0], found.append, lambda: None)
    inlet.want(wanted=False)
    os.write(ends[1], b"text")

    loop.turn(0)
    assert found == []
    inlet.want(wanted=True)
    loop.turn(10)
    assert found == [b"text"]


def test_a_call_may_unwatch_another(ends: list[int]) -> None:
    loop, told = Loop(), []
    other = os.dup(ends[0])

    def first() -> None:
        told.append("one")
        loop.unwatch(other)
        loop.unwatch(ends[0])

    os.write(ends[1], b"x")
    loop.watch(ends[0], 1, first)
    loop.watch(other, 1, first)
    loop.turn(10)
    os.close(other)

    assert told == ["one"]
