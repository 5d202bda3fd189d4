"""Frames: an object and bytes, read as strictly as all other JSON."""

import pytest

from redlane.wire.frames import (
    HEAD_BYTES,
    Frame,
    FrameError,
    pack,
    read_document,
    unpack,
)


def test_frame_is_read_as_it_was_packed() -> None:
    data = b"".join(pack({"kind": "judge", "text": "é"}, [b"\x00\xff", b""]))
    read = unpack(data[:HEAD_BYTES], data[HEAD_BYTES:])
    document = {"kind": "judge", "text": "é", "blobs": [2, 0]}
    assert read == Frame(document, (b"\x00\xff", b""))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"kind":"judge","kind":"preview"}',
        b'{"kind":NaN}',
        b'{"kind":1e999}',
        b'{"kind":"\\ud800"}',
        b'{"kind":"\xff"}',
        b"[" * 5000,
        b'{"kind":' + b"[" * 65 + b"]" * 65 + b"}",
    ],
    ids=str,
)
def test_what_two_readers_could_read_in_two_ways_is_no_frame(data: bytes) -> None:
    with pytest.raises(FrameError):
        read_document(data)
