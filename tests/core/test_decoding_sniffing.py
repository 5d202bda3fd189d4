"""What a body is, is told by its bytes."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.sniffing import ContentKind, sniff

KINDS = {
    "doctype": (b"<!DOCTYPE html><p>x", ContentKind.HTML),
    "fragment": (b"  \n<div>x</div>", ContentKind.HTML),
    "mark": (b"\xef\xbb\xbf<html>", ContentKind.HTML),
    "comment-in-a-text": (b"hello " * 2_000 + b"<!-- x -->", ContentKind.HTML),
    "svg": (b"<svg xmlns='x'><text>a</text></svg>", ContentKind.HTML),
    "xml": (b"<?xml version='1.0'?><rss/>", ContentKind.HTML),
    "object": (b' {"a": 1}', ContentKind.JSON),
    "array": (b"[1, 2]", ContentKind.JSON),
    "objects": (b"[{}]", ContentKind.JSON),
    "empty-object": (b"{}", ContentKind.JSON),
    "string": (b'"text <b>x</b>"', ContentKind.JSON),
    "lines": (b'{"a": 1}\n{"a": 2}\n', ContentKind.JSON),
    "guarded": (b')]}\',\n{"a": 1}', ContentKind.JSON),
    "json-with-html": (b'{"a": "<p>x</p>"}', ContentKind.JSON),
    "markdown-link": (b"[text](https://x)", ContentKind.TEXT),
    "generics": (b"List<String> a = new Map<K, V>();", ContentKind.TEXT),
    "css": (b"p { color: red }", ContentKind.TEXT),
    "quote": (b'"Hello," he said.', ContentKind.TEXT),
    "latin": ("naïve café".encode("latin-1"), ContentKind.TEXT),
    "escapes-of-a-terminal": (b"\x1b[31mred\x1b[0m", ContentKind.TEXT),
    "empty": (b"", ContentKind.TEXT),
    "png": (b"\x89PNG\r\n\x1a\n<html>", ContentKind.BINARY),
    "pdf": (b"%PDF-1.7 text", ContentKind.BINARY),
    "gzip": (gzip.compress(b"<html>"), ContentKind.BINARY),
    "zeros": (bytes(5_000), ContentKind.BINARY),
    "text-behind-a-picture": (
        b"GIF89a\x00\xff" + b"a sentence, " * 50,
        ContentKind.TEXT,
    ),
    "text-behind-a-pdf": (b"%PDF-1.7\n" + b"a sentence, " * 50, ContentKind.TEXT),
    "page-behind-a-zip": (b"PK\x03\x04" + b"<p>a line</p>\n" * 50, ContentKind.HTML),
    "elf": (b"\x7fELF\x02\x01", ContentKind.BINARY),
}


@pytest.mark.parametrize("name", KINDS)
def test_kind(name: str) -> None:
    body, kind = KINDS[name]
    assert sniff(body) is kind


@given(st.binary(max_size=200))
def test_anything_is_something(body: bytes) -> None:
    assert sniff(body) in ContentKind
