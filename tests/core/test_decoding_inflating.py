"""One coding at a time: where a stream ends or breaks."""

import brotli
import pytest
import zstandard

from redlane.decoding.inflating import INFLATERS, CodingError, Inflated


@pytest.mark.parametrize("name", sorted(INFLATERS))
def test_what_is_not_in_the_coding_raises(name: str) -> None:
    with pytest.raises(CodingError):
        INFLATERS[name](b"\xff plain text \xff", 1_000)


@pytest.mark.parametrize("size", range(1, 40))
def test_brotli_ends_anywhere_in_a_chunk(size: int) -> None:
    text = bytes(range(size))
    body = brotli.compress(text) + b"and more"
    assert INFLATERS["br"](body, 1_000) == Inflated(text + b"and more", complete=True)


def test_a_wide_window_of_zstd_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=29)
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    stream = compressor.compressobj()
    body = stream.compress(b"text") + stream.flush()
    with pytest.raises(CodingError, match=r"memory|window"):
        INFLATERS["zstd"](body, 1_000)
