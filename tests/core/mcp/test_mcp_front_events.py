"""Server-sent events: the same whatever the pieces are, and none without an end."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from redlane.contexts.mcp.frames import MessageError
from redlane.mcp.front.events import Event, Events, spelt

STREAMS = {
    "plain": (b"data: a\n\n", [Event(b"a")]),
    "no-space": (b"data:a\n\n", [Event(b"a")]),
    "two-spaces": (b"data:  a\n\n", [Event(b" a")]),
    "lines": (b"data: a\ndata\ndata: b\n\n", [Event(b"a\n\nb")]),
    "returns": (b"data: a\rdata: b\r\r", [Event(b"a\nb")]),
    "both": (b"data: a\r\ndata: b\r\n\r\n", [Event(b"a\nb")]),
    "mixed": (
        b"id: 1\r\ndata: a\n\r\ndata: b\r\r",
        [Event(b"a", "", "1"), Event(b"b")],
    ),
    "mark": (b"\xef\xbb\xbfdata: a\n\n", [Event(b"a")]),
    "all": (
        b"event: e\nid: i\nretry: 5\ndata: a\n\n",
        [Event(b"a", "e", "i", "5")],
    ),
    "id-alone": (b"id: 7\n\n", [Event(id="7")]),
    "empty-id": (b"id\ndata: a\n\n", [Event(b"a", "", "")]),
    "comment": (b": hello\n\n", [Event()]),
    "bad-retry": (b"retry: soon\ndata: a\n\n", [Event(b"a")]),
    "unknown": (b"note: x\ndata: a\n\n", [Event(b"a")]),
    "case": (b"Data: x\ndata: a\n\n", [Event(b"a")]),
    "half": (b"data: a\n", []),
    "blank": (b"\n\n\r\n", []),
}


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_events_are_read(stream: bytes, events: list[Event]) -> None:
    assert list(Events().feed(stream)) == events


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_pieces_make_no_difference(stream: bytes, events: list[Event]) -> None:
    reader = Events()

    found = [each for byte in stream for each in reader.feed(bytes([byte]))]

    assert found == events


@given(st.lists(st.binary(max_size=40)))
@example([b"data: \xff\r", b"\n\r", b"\n"])
def test_whatever_comes_is_events_or_an_error(pieces: list[bytes]) -> None:
    whole, parted = Events(1_000), Events(1_000)
    try:
        wanted = list(whole.feed(b"".join(pieces)))
    except MessageError:
        return
    assert [each for piece in pieces for each in parted.feed(piece)] == wanted


@given(
    st.builds(
        Event,
        st.text(st.characters(exclude_categories=("Cs",))).map(str.encode),
        st.sampled_from(["", "message"]),
        st.none() | st.from_regex(r"[\x20-\x7e]{0,20}", fullmatch=True),
        st.none() | st.from_regex(r"[0-9]{1,10}", fullmatch=True),
    )
)
def test_what_is_spelt_is_read_again(event: Event) -> None:
    data = event.data.replace(b"\r", b" ")

    (found,) = Events().feed(spelt(event))

    assert (found.data, found.name, found.id) == (data, event.name, event.id)


@pytest.mark.parametrize(
    "stream",
    [b"data: " + b"x" * 200, b"data: x\n" * 60, b"x" * 200, b"id: \x00\n\n"],
)
def test_an_event_without_an_end_is_given_one(stream: bytes) -> None:
    with pytest.raises(MessageError):
        list(Events(100).feed(stream))
