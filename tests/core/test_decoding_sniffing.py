"""What a body is, is told by its bytes."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.sniffing import Kind, sniff

KINDS = {
    "doctype": (b"<!DOCTYPE html><p>x", Kind.HTML),
    "fragment": (b"  \n<div>x</div>", Kind.HTML),
    "mark": (b"\xef\xbb\xbf<html>", Kind.HTML),
    "comment-in-a-text": (b"hello " * 2_000 + b"<!-- x -->", Kind.HTML),
    "svg": (b"<svg xmlns='x'><text>a</text></svg>", Kind.HTML),
    "xml": (b"<?xml version='1.0'?><rss/>", Kind.HTML),
    "object": (b' {"a": 1}', Kind.JSON),
    "array": (b"[1, 2]", Kind.JSON),
    "objects": (b"[{}]", Kind.JSON),
    "empty-object": (b"{}", Kind.JSON),
    "string": (b'"text <b>x</b>"', Kind.JSON),
    "lines": (b'{"a": 1}\n{"a": 2}\n', Kind.JSON),
    "guarded": (b')]}\',\n{"a": 1}', Kind.JSON),
    "json-with-html": (b'{"a": "<p>x</p>"}', Kind.JSON),
    "markdown-link": (b"[text](https://x)", Kind.TEXT),
    "generics": (b"List<String> a = new Map<K, V>();", Kind.TEXT),
    "css": (b"p { color: red }", Kind.TEXT),
    "quote": (b'"Hello," he said.', Kind.TEXT),
    "latin": ("naïve café".encode("latin-1"), Kind.TEXT),
    "escapes-of-a-terminal": (b"\x1b[31mred\x1b[0m", Kind.TEXT),
    "empty": (b"", Kind.TEXT),
    "png": (b"\x89PNG\r\n\x1a\n<html>", Kind.BINARY),
    "pdf": (b"%PDF-1.7 text", Kind.BINARY),
    "gzip": (gzip.compress(b"<html>"), Kind.BINARY),
    "zeros": (bytes(5_000), Kind.BINARY),
    "text-behind-a-picture": (b"GIF89a\x00\xff" + b"a sentence, " * 50, Kind.TEXT),
    "text-behind-a-pdf": (b"%PDF-1.7\n" + b"a sentence, " * 50, Kind.TEXT),
    "page-behind-a-zip": (b"PK\x03\x04" + b"<p>a line</p>\n" * 50, Kind.HTML),
    "elf": (b"\x7fELF\x02\x01", Kind.BINARY),
}


@pytest.mark.parametrize("name", KINDS)
def test_kind(name: str) -> None:
    body, kind = KINDS[name]
    assert sniff(body) is kind


@given(st.binary(max_size=200))
def test_anything_is_something(body: bytes) -> None:
    assert sniff(body) in Kind
