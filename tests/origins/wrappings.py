"""What a request body can be wrapped in."""

import base64
import gzip
import json
import quopri
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from origins.routes import CODINGS

__all__ = ["FORM", "WRAPPINGS", "Wrapping"]

Wrap = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Wrapping:
    """How a text is wrapped, and the headers that say so."""

    id: str
    wrap: Wrap
    headers: Mapping[str, str] = field(default_factory=dict)


B64 = base64.b64encode
GZIPPED = {"content-encoding": "gzip"}


def _coded(ident: str, codings: str, *names: str) -> Wrapping:
    def wrap(data: bytes) -> bytes:
        for name in names:
            data = CODINGS[name](data)
        return data

    return Wrapping(ident, wrap, {"content-encoding": codings})


def _typed(ident: str, kind: str, wrap: Wrap) -> Wrapping:
    return Wrapping(ident, wrap, {"content-type": kind})


def _json(value: Callable[[str], object], **options: bool) -> Wrap:
    return lambda data: json.dumps(value(data.decode()), **options).encode()  # type: ignore[arg-type]  # JSON's own options


def _escaped(data: bytes) -> bytes:
    text = "".join(f"\\u{each:04x}" for each in data)
    return f'{{"a": "{text}"}}'.encode()


def _percent(data: bytes) -> bytes:
    return "".join(f"%{each:02X}" for each in data).encode()


def _form(data: bytes) -> bytes:
    return b"x=1&note=" + urllib.parse.quote_plus(data).encode()


def _url_safe(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(b"\xff\xfe?" + data).rstrip(b"=")


def _wrapped_lines(data: bytes) -> bytes:
    return base64.encodebytes(data * 10)


def _part(data: bytes, *lines: bytes) -> bytes:
    head = lines or (b'Content-Disposition: form-data; name="a"',)
    return b"\r\n".join((b"--edge", *head, b"", data, b"--edge--", b""))


def _named(field_name: bytes) -> Wrap:
    def wrap(data: bytes) -> bytes:
        line = b'Content-Disposition: form-data; name="a"; filename="b.txt"'
        changed = line.replace(b"b.txt" if field_name == b"filename" else b'"a"', data)
        return _part(b"inside", changed)

    return wrap


def _transferred(coding: bytes, wrap: Wrap) -> Wrap:
    lines = (
        b'Content-Disposition: form-data; name="a"',
        b"Content-Transfer-Encoding: " + coding,
    )
    return lambda data: _part(wrap(data), *lines)


def _deep(*wraps: Wrap) -> Wrap:
    def wrap(data: bytes) -> bytes:
        for each in wraps:
            data = each(data)
        return data

    return wrap


def _hex(data: bytes) -> bytes:
    return data.hex().encode()


def _to(charset: str) -> Wrap:
    return lambda data: data.decode().encode(charset)


def _members(data: bytes) -> bytes:
    middle = len(data) // 2
    return gzip.compress(data[:middle]) + gzip.compress(data[middle:])


def _utf7(data: bytes) -> bytes:
    return data.replace(b"-", b"+AC0-")


def _escaped_key(data: bytes) -> bytes:
    return _escaped(data).replace(b'"a": ', b"").replace(b"}", b": 1}")


def _json_in_json(data: bytes) -> bytes:
    return json.dumps({"a": _escaped(data).decode()}).encode()


def _twice_the_key(data: bytes) -> bytes:
    return _escaped(data)[:-1] + b', "a": "x"}'


def _quoted(data: bytes) -> bytes:
    return b"".join(b"=%02X" % each for each in data)


def _soft_lines(data: bytes) -> bytes:
    return quopri.encodestring(b"x" * 70 + data)


def _base64_in_json(data: bytes) -> bytes:
    return json.dumps({"a": B64(data).decode()}).encode()


def _data_url(data: bytes) -> bytes:
    return b'<img src="data:image/png;base64,' + B64(data) + b'">'


QUOTED = b"quoted-printable"
MULTIPART = "multipart/form-data; boundary=edge"
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
WRAPPINGS = [
    Wrapping("as-it-is", bytes),
    _coded("gzip", "gzip", "gzip"),
    _coded("x-gzip", "x-gzip", "gzip"),
    _coded("gzip-in-capitals", "GZIP", "gzip"),
    _coded("deflate", "deflate", "deflate"),
    _coded("raw-deflate", "deflate", "raw deflate"),
    _coded("br", "br", "br"),
    _coded("zstd", "zstd", "zstd"),
    _coded("gzip-br", "gzip, br", "gzip", "br"),
    _coded("gzip-twice", "gzip, gzip", "gzip", "gzip"),
    _coded("three", "gzip,br ,zstd", "gzip", "br", "zstd"),
    _coded("identity", "identity"),
    _coded("identity-gzip", "identity, gzip", "gzip"),
    _coded("says-gzip-is-not", "gzip"),
    _coded("unknown-coding", "x-own"),
    Wrapping("gzip-members", _members, GZIPPED),
    Wrapping("gzip-and-more", lambda data: gzip.compress(data) + b"rest", GZIPPED),
    _typed("utf-16-announced", "text/plain; charset=utf-16", _to("utf-16")),
    _typed("utf-16-unannounced", "text/plain", _to("utf-16")),
    _typed("utf-16-without-mark", "text/plain", _to("utf-16-le")),
    _typed("utf-16-big", "text/plain", _to("utf-16-be")),
    _typed("utf-32", "application/octet-stream", _to("utf-32")),
    _typed("utf-8-with-mark", "text/plain", _to("utf-8-sig")),
    _typed("utf-7", "text/plain; charset=utf-7", _utf7),
    _typed("json-escapes", JSON, _escaped),
    _typed("json-escapes-as-text", "text/plain", _escaped),
    _typed("json-escapes-untyped", "", _escaped),
    _typed("json-key", JSON, _json(lambda text: {"a": {text: 1}})),
    _typed("json-escaped-key", JSON, _escaped_key),
    _typed("json-deep", JSON, _json(lambda text: [[{"a": [[text]]}]])),
    _typed("json-in-json", JSON, _json_in_json),
    _typed("json-duplicate-key", JSON, _twice_the_key),
    _typed("json-lines", JSON, lambda data: b'{"a": 1}\n' + _escaped(data) + b"\n"),
    _typed("form", FORM, _form),
    _typed("form-percent", FORM, lambda data: b"a=" + _percent(data)),
    _typed("form-key", FORM, lambda data: _percent(data) + b"=1"),
    _typed("form-as-json", JSON, lambda data: b"a=" + _percent(data)),
    _typed("percent-in-text", "text/plain", lambda data: b"see " + _percent(data)),
    _typed("percent-twice", FORM, lambda data: b"a=" + _percent(_percent(data))),
    _typed("multipart", MULTIPART, _part),
    _typed("multipart-name", MULTIPART, _named(b"name")),
    _typed("multipart-filename", MULTIPART, _named(b"filename")),
    _typed("multipart-base64", MULTIPART, _transferred(b"base64", B64)),
    _typed("multipart-quoted", MULTIPART, _transferred(QUOTED, _quoted)),
    _typed("multipart-soft-lines", MULTIPART, _transferred(QUOTED, _soft_lines)),
    _typed("base64", "text/plain", B64),
    _typed("base64-in-json", JSON, _base64_in_json),
    _typed("base64-url", "text/plain", _url_safe),
    _typed("base64-lines", "text/plain", _wrapped_lines),
    _typed("base64-data-url", "text/html", _data_url),
    _typed("hex", "text/plain", _hex),
    _typed("hex-capitals", "text/plain", lambda data: data.hex().upper().encode()),
    _typed("base64-base64", "text/plain", _deep(B64, B64)),
    _typed("three-deep", FORM, _deep(_hex, B64, lambda data: b"a=" + _percent(data))),
    _typed("base64-thrice", "text/plain", _deep(B64, B64, B64)),
    Wrapping("base64-in-gzip", _deep(B64, gzip.compress), GZIPPED),
]  # fmt: skip
