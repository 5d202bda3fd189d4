"""Feeds the decoders of bodies what atheris finds new ways through them with.

    pip install atheris
    python tests/fuzz/fuzz_decoding.py -max_total_time=600 -timeout=5 -rss_limit_mb=2048

It ends with an input that raises, takes over 5 s, or too much memory. What libFuzzer's
other options are, `-help=1` tells; a directory given last keeps what was found.
"""

import sys
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["redlane"]):
    from redlane.contexts.inbound.content import InboundContent
    from redlane.contexts.network.content import NetworkContent, RequestLine
    from redlane.decoding.charsets import as_declared, from_utf8, to_utf8
    from redlane.decoding.encodings import decode_body
    from redlane.errors import ContentError
    from redlane.model.content import Reader
    from redlane.model.policy import Action

_LIMIT = 1024 * 1024
_CODINGS = ["", "gzip", "deflate", "br", "zstd", "gzip, br", "zstd, gzip", "x-none"]
_TYPES = [
    *("", "text/html", "application/json", "application/x-www-form-urlencoded"),
    *("multipart/form-data; boundary=b", "multipart/mixed; boundary=b"),
    *("text/plain; charset=utf-16", "text/plain; charset=utf-7", "image/png"),
]


def decode(data: bytes) -> None:
    """Take a body apart as the proxy does with a request and with a response."""
    provider = atheris.FuzzedDataProvider(data)
    codings, kind = provider.PickValueInList(_CODINGS), provider.PickValueInList(_TYPES)
    raw = provider.ConsumeBytes(len(data))
    body = decode_body(raw, codings, _LIMIT)
    assert len(body.data) <= _LIMIT
    text, charset = to_utf8(body.data, kind)
    as_declared(body.data, kind)
    with suppress(ContentError):  # a character that is not in the charset is told so
        from_utf8(text, charset)
    line = RequestLine(b"POST", b"http://host/" + raw[:40].hex().encode(), b"HTTP/1.1")
    request = NetworkContent.of_request(line, (), text, kind, ())
    for content in (InboundContent(text), request):
        for action in Action:
            for reader in Reader:
                assert content.views(action, reader)


if __name__ == "__main__":
    atheris.Setup(sys.argv, decode)
    atheris.Fuzz()
