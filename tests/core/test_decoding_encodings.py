"""Content-Encoding comes off, within a limit, and nothing that follows is lost."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.encodings import Decoded, decode_body

LIMIT = 1 << 20
TEXT = b"the quick brown fox " * 500


def bare_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


CODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "bare-deflate": ("deflate", bare_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstandard.ZstdCompressor().compress),
}


@pytest.fixture(params=CODINGS)
def coding(request: pytest.FixtureRequest) -> tuple[str, Callable[[bytes], bytes]]:
    return CODINGS[request.param]


Coding = tuple[str, Callable[[bytes], bytes]]


def test_a_body_is_decoded(coding: Coding) -> None:
    name, encode = coding
    assert decode_body(encode(TEXT), name, LIMIT) == Decoded(TEXT, complete=True)


def test_an_empty_text_is_decoded(coding: Coding) -> None:
    name, encode = coding
    assert decode_body(encode(b""), name, LIMIT) == Decoded(b"", complete=True)


def test_an_empty_body_is_in_any_coding(coding: Coding) -> None:
    assert decode_body(b"", coding[0], LIMIT) == Decoded(b"", complete=True)


def test_a_body_over_the_limit_is_cut(coding: Coding) -> None:
    name, encode = coding
    assert decode_body(encode(TEXT), name, 100) == Decoded(TEXT[:100], complete=False)
    exact = decode_body(encode(TEXT), name, len(TEXT))
    assert exact == Decoded(TEXT, complete=True)


def test_what_follows_a_stream_is_kept(coding: Coding) -> None:
    name, encode = coding
    decoded = decode_body(encode(TEXT) + b"A SECRET", name, LIMIT)
    assert decoded == Decoded(TEXT + b"A SECRET", complete=True)


def test_a_body_that_ends_early_is_read_as_far_as_it_goes(coding: Coding) -> None:
    name, encode = coding
    text = bytes(range(256)) * 400
    coded = encode(text)
    decoded = decode_body(coded[: len(coded) - 9], name, LIMIT)
    assert text.startswith(decoded.data) or decoded.problem
    assert decoded.data


def test_a_body_that_is_not_in_its_coding_is_told_and_left(coding: Coding) -> None:
    decoded = decode_body(b"plain text, no coding", coding[0], LIMIT)
    assert decoded.data == b"plain text, no coding"
    assert decoded.complete
    assert coding[0] in decoded.problem


def test_codings_come_off_in_the_order_they_were_put_on() -> None:
    body = brotli.compress(gzip.compress(zlib.compress(TEXT)))
    decoded = decode_body(body, " Deflate,GZIP ,identity,, br", LIMIT)
    assert decoded == Decoded(TEXT, complete=True)


def test_members_and_frames_are_read_one_after_the_other() -> None:
    members = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0" * 512
    assert decode_body(members, "gzip", LIMIT).data == b"one two"
    compress = zstandard.ZstdCompressor().compress
    frames = compress(b"one ") + compress(b"two")
    assert decode_body(frames, "zstd", LIMIT).data == b"one two"


@pytest.mark.parametrize("name", ["compress", "dcb", "aws-chunked", "x" * 500])
def test_a_coding_that_is_not_known_is_told(name: str) -> None:
    decoded = decode_body(TEXT, name, LIMIT)
    assert decoded.data == TEXT
    assert "is not known" in decoded.problem
    assert len(decoded.problem) < 100


@pytest.mark.parametrize("names", ["gzip, foo", "foo, gzip", "aws-chunked,gzip"])
def test_a_coding_that_is_not_known_is_left_out(names: str) -> None:
    decoded = decode_body(gzip.compress(TEXT), names, LIMIT)
    assert decoded.data == TEXT
    assert "is not known" in decoded.problem


def test_too_many_codings_are_told() -> None:
    assert "too many" in decode_body(TEXT, "gzip," * 9, LIMIT).problem


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "gzip": ("gzip", lambda: gzip.compress(bytes(200 << 20), 1)),
    "deflate": ("deflate", lambda: zlib.compress(bytes(200 << 20), 1)),
    "br": ("br", lambda: brotli.compress(bytes(200 << 20), quality=4)),
    "zstd": ("zstd", lambda: zstandard.ZstdCompressor().compress(bytes(200 << 20))),
    "gzip-in-gzip": (
        "gzip, gzip",
        lambda: gzip.compress(gzip.compress(bytes(200 << 20), 1)),
    ),
    "empty-members": ("gzip", lambda: gzip.compress(b"") * 400_000),
    "empty-frames": (
        "zstd",
        lambda: zstandard.ZstdCompressor().compress(b"") * 400_000,
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_takes_no_more_memory_than_the_limit_allows(bomb: str) -> None:
    name, make = BOMBS[bomb]
    body = make()
    tracemalloc.start()
    try:
        decoded = decode_body(body, name, LIMIT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(decoded.data) <= max(LIMIT, len(body))
    assert peak < 8 * LIMIT + 4 * len(body) + (40 << 20)


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "zstd"]))
def test_no_body_is_too_strange(body: bytes, name: str) -> None:
    decoded = decode_body(body, name, 1_000)
    assert len(decoded.data) <= 1_000


@given(
    st.binary(max_size=300),
    st.sampled_from(sorted(CODINGS)),
    st.integers(0, 400),
    st.integers(1, 255),
)
def test_a_broken_body_is_no_error(
    text: bytes, coding: str, place: int, change: int
) -> None:
    name, encode = CODINGS[coding]
    body = bytearray(encode(text))
    body[place % len(body)] ^= change
    assert isinstance(decode_body(bytes(body), name, 1_000), Decoded)
