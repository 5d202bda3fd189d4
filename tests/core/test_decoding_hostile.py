"""What is made to be slow or to grow is neither: linear time, bounded memory.

A time is the processor's, and allows for a machine that is busy; what takes the square
of a length takes minutes here.
"""

import base64
import codecs
import gzip
import os
import time
import tracemalloc
from collections.abc import Callable

import pytest

from redlane.contexts.inbound.content import InboundContent
from redlane.contexts.network.content import NetworkContent
from redlane.decoding.charsets import to_utf8
from redlane.decoding.encodings import decode_body

SIZE = 1 << 20
MOST_SECONDS = 10
MOST_TIMES = 160


def numbered(form: bytes, size: int = SIZE) -> bytes:
    return b"".join(form % number for number in range(size // (len(form) + 4)))


def filled(unit: bytes | str, before: bytes = b"", after: bytes = b"") -> bytes:
    piece = unit.encode() if isinstance(unit, str) else unit
    return before + piece * (SIZE // len(piece)) + after


def request(url: bytes) -> bytes:
    return b"GET " + url + b" HTTP/1.1\n\n"


SHAPES: dict[str, Callable[[], bytes]] = {
    # HTML
    "nested-elements": lambda: filled(b"<div>"),
    "stray-ends": lambda: filled(b"</p>", b"<div>" * 100_000),
    "open-formats": lambda: filled(b"<p>x", numbered(b"<b id=%d>", 1 << 15)),
    "nested-tables": lambda: filled(b"<table>"),
    "many-attributes": lambda: b"<a " + numbered(b"a%d=1 "),
    "bare-attributes": lambda: filled(b"b ", b"<a "),
    "tags-in-a-tag": lambda: filled(b"<a "),
    "open-quotes": lambda: filled(b'<a b="'),
    "mixed-quotes": lambda: filled(b"<a b='\""),
    "open-comments": lambda: filled(b"<!--"),
    "dashes": lambda: filled(b"-", b"<!--"),
    "open-cdata": lambda: filled(b"<![CDATA["),
    "brackets": lambda: filled(b"]", b"<![CDATA["),
    "open-scripts": lambda: filled(b"<script>"),
    "less-thans-in-a-script": lambda: filled(b"<", b"<script>"),
    "half-closed-scripts": lambda: filled(b"<script></script "),
    "less-thans": lambda: filled(b"<", b"<p>"),
    "equals": lambda: filled(b"= ", b"<a "),
    "spaces-before-equals": lambda: filled(b" ", b"<a x", b"="),
    # Entities and Unicode
    "ampersands": lambda: filled(b"&"),
    "long-names": lambda: filled(b"&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    "distinct-entities": lambda: numbered(b"&#%d;"),
    "endless-number": lambda: filled(b"0", b"&#", b";"),
    "marks": lambda: filled("\u0301\u0316", b"e"),
    "other-marks": lambda: filled("\u05b0\u05af"),
    "phrases": lambda: filled("\ufdfa"),
    "squared-words": lambda: filled("\u3316"),
    "tags": lambda: filled("\U000e0041x"),
    "selectors": lambda: filled("\ufe01"),
    "short-lines": lambda: filled("\u00e9\n"),
    # JSON
    "deep-arrays": lambda: filled(b"["),
    "deep-objects": lambda: filled(b'{"a":'),
    "quotes": lambda: filled(b'["'),
    "backslashes": lambda: filled(b"\\", b'["'),
    "escapes": lambda: filled(b"\\u0041", b'["', b'"]'),
    "half-pairs": lambda: filled(b"\\ud83d", b'["', b'"]'),
    "wrong-escapes": lambda: filled(b"\\q", b'["', b'"]'),
    "many-strings": lambda: b"[" + numbered(b'"%x",'),
    "many-wrong-strings": lambda: b"[" + numbered(b'"\\t%x\\q",'),
    "html-in-json": lambda: filled(b"<p> ", b'["', b'"]'),
    # Forms, parts and encodings
    "fields": lambda: numbered(b"%x=1&"),
    "percents": lambda: filled(b"%25", b"a="),
    "folded-percents": lambda: filled(b"25", b"a=%"),
    "parts": lambda: filled(b"--a\r\nA: b\r\n\r\nx\r\n"),
    "bare-boundaries": lambda: filled(b"--a", b"--a\r\nA: b\r\n\r\n"),
    "boundary-lines": lambda: filled(b"\n--"),
    "folded-headers": lambda: filled(b"\r\n ", b"--a\r\nA: b"),
    "letters": lambda: filled(b"A"),
    "paths": lambda: filled(b"abcdefghijkl/"),
    "slashes": lambda: filled(b"/"),
    "lines-of-letters": lambda: filled(b"A" * 40 + b"\n"),
    "short-lines-of-letters": lambda: filled(b"\nA", b"A" * 40),
    "runs": lambda: b" ".join(
        base64.b64encode(b"%09d" % number) for number in range(SIZE // 13)
    ),
    "bytes-apart": lambda: filled(b"68 "),
    "almost-bytes-apart": lambda: filled(b"68 " * 7 + b"zz "),
    "bombs-in-base64": lambda: b" ".join(
        base64.b64encode(gzip.compress(b"A" * 50_000 + b"%d" % number))
        for number in range(SIZE // 150)
    ),
    "utf-7": lambda: filled(b"+AAA-"),
    "noise": lambda: os.urandom(SIZE),
    "high-noise": lambda: bytes(byte | 0x80 for byte in os.urandom(SIZE)),
    "zeros": lambda: bytes(SIZE),
    "wide-zeros": lambda: codecs.BOM_UTF16_LE + bytes(SIZE),
    # Request lines
    "dot-segments": lambda: request(filled(b"../", b"/")),
    "escaped-url": lambda: request(filled(b"%25", b"/")),
    "many-labels": lambda: request(b"http://" + b"\xc3\xbc." * 20_000 + b"/"),
    "many-users": lambda: request(b"http://" + b"@" * 60_000 + b"/"),
    "many-parameters": lambda: request(filled(b"a=b&", b"/?")),
    "many-headers": lambda: b"GET / HTTP/1.1\n" + filled(b"a: b\n"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_nasty_body_is_read_in_time_and_memory(shape: str) -> None:
    body = SHAPES[shape]()
    start = time.process_time()
    texts = (*NetworkContent(body).texts, *InboundContent(body).texts)
    assert time.process_time() - start < MOST_SECONDS
    assert sum(map(len, texts)) < 40 * len(body) + SIZE


@pytest.mark.parametrize("shape", ["nested-elements", "escapes", "folded-percents"])
def test_a_nasty_body_takes_bounded_memory(shape: str) -> None:
    body = SHAPES[shape]()
    tracemalloc.start()
    try:
        texts = (*NetworkContent(body).texts, *InboundContent(body).texts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST_TIMES * len(body)
    assert texts is not None


CHARSETS = ("utf-16", "utf-32be", "gb18030", "big5", "iso-2022-jp", "shift_jis")


@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize("shape", ["noise", "high-noise", "zeros", "letters"])
def test_any_charset_is_read_in_time(charset: str, shape: str) -> None:
    body = SHAPES[shape]()
    start = time.process_time()
    to_utf8(body, f"text/plain; charset={charset}")
    assert time.process_time() - start < MOST_SECONDS


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("shape", ["noise", "zeros", "letters"])
def test_any_coding_is_read_in_time(coding: str, shape: str) -> None:
    body = SHAPES[shape]()
    start = time.process_time()
    decode_body(body, coding, SIZE)
    assert time.process_time() - start < MOST_SECONDS
