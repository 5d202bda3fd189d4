"""What the origin of the tests answers, and what it remembers of who asked.

Only what reached it is in `Origin.requests`: a request that was refused is not.
"""

import asyncio
import base64
import gzip
import hashlib
import json
import threading
import urllib.parse
import zlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import brotli
import zstandard
from origins.git_http import GitHttp
from origins.serving import Message

__all__ = ["CODINGS", "Headers", "Origin", "Page", "Seen", "noise"]

Headers = Sequence[tuple[str, str]]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_KEPT = 65536
_SHOWN = {"content-type", "content-encoding", "range", "authorization", "referer"}


def _deflated_raw(data: bytes) -> bytes:
    maker = zlib.compressobj(wbits=-15)
    return maker.compress(data) + maker.flush()


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": _gzipped,
    "x-gzip": _gzipped,
    "deflate": zlib.compress,
    "raw deflate": _deflated_raw,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
"""Content codings by name; `raw deflate` is called `deflate` on the wire."""


def noise(length: int) -> bytes:
    """Bytes that no coding makes shorter, always the same."""
    block = b"".join(hashlib.sha256(b"%d" % each).digest() for each in range(512))
    return (block * (length // len(block) + 1))[:length]


@dataclass(frozen=True)
class Seen:
    """One request that arrived."""

    method: str
    target: str
    version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    length: int
    digest: str

    def header(self, name: str) -> list[str]:
        """The values of the headers of a name."""
        return [value for each, value in self.headers if each == name]


@dataclass
class Page:
    """What a path answers; a gate among the pieces is waited for, None flushes."""

    pieces: Sequence[bytes | threading.Event]
    headers: Headers = ()
    status: int = 200


@dataclass
class Origin:
    """An application, what it has seen and what it shall answer."""

    pages: dict[str, Page] = field(default_factory=dict)
    requests: list[Seen] = field(default_factory=list)
    messages: list[str | bytes] = field(default_factory=list)
    git: GitHttp | None = None

    def serve(
        self,
        path: str,
        body: bytes | Iterable[bytes | threading.Event],
        content_type: str | None = "text/plain",
        *,
        status: int = 200,
        **headers: str,
    ) -> str:
        """Have a path answer this; `content_encoding=` is a header."""
        pieces = (body,) if isinstance(body, bytes) else tuple(body)
        lines = [(name.replace("_", "-"), value) for name, value in headers.items()]
        if content_type is not None:
            lines.append(("content-type", content_type))
        if isinstance(body, bytes) and status != 204:
            lines.append(("content-length", str(len(body))))
        self.pages[path] = Page(pieces, lines, status)
        return path

    def reached(self, marker: str) -> list[Seen]:
        """The requests whose target or body holds a marker."""
        data = marker.encode()
        return [
            each
            for each in tuple(self.requests)
            if marker in each.target or data in each.body
        ]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One connection of Hypercorn's."""
        if scope["type"] == "websocket":
            await self._websocket(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        path = scope["path"]
        query = dict(urllib.parse.parse_qsl(scope["query_string"].decode()))
        if self.git is not None and path.startswith("/git/"):
            await self.git(scope, receive, send)
            return
        seen = await _read(scope, receive)
        self.requests.append(seen)
        page = self.pages.get(path) or _answer(path, query, seen)
        await _send(page, send)

    async def _websocket(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            text, data = message.get("text"), message.get("bytes")
            got: str | bytes = text if text is not None else data or b""
            self.messages.append(got)
            for reply in _replies(got):
                kind = "text" if isinstance(reply, str) else "bytes"
                await send({"type": "websocket.send", kind: reply})


def _replies(got: str | bytes) -> Sequence[str | bytes]:
    """The message back, or what `say:BASE64` and `many:N` ask for."""
    if isinstance(got, bytes):
        return [got]
    if got.startswith("say:"):
        return [base64.b64decode(got[4:]).decode()]
    if got.startswith("many:"):
        return [f"message {each}" for each in range(int(got[5:]))]
    return [got]


async def _read(scope: Message, receive: Receive) -> Seen:
    digest, length, kept = hashlib.sha256(), 0, b""
    more = True
    while more:
        message = await receive()
        data = message.get("body", b"")
        digest.update(data)
        length += len(data)
        kept += data[: _KEPT - len(kept)]
        more = message.get("more_body", False)
    query = scope["query_string"].decode("latin-1")
    target = scope["raw_path"].decode("latin-1").partition("?")[0]
    headers = tuple(
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, value in scope["headers"]
    )
    target += f"?{query}" if query else ""
    return Seen(
        scope["method"],
        target,
        scope["http_version"],
        headers,
        kept,
        length,
        digest.hexdigest(),
    )


async def _send(page: Page, send: Send) -> None:
    start = {
        "type": "http.response.start",
        "status": page.status,
        "headers": [(name.encode(), value.encode()) for name, value in page.headers],
    }
    await send(start)
    for piece in page.pieces:
        if isinstance(piece, bytes):
            body = {"type": "http.response.body", "body": piece, "more_body": True}
            await send(body)
        elif not await asyncio.to_thread(piece.wait, 60):
            return
    await send({"type": "http.response.body", "body": b""})


def _answer(path: str, query: dict[str, str], seen: Seen) -> Page:
    makers: dict[str, Callable[[], Page]] = {
        "/text": lambda: _text(b"hello from the origin\n"),
        "/echo": lambda: _echo(seen),
        "/mirror": lambda: Page(
            (seen.body,),
            [("content-type", (seen.header("content-type") or ["text/plain"])[0])],
        ),
        "/redirect": lambda: Page((b"",), [("location", query["to"])], 302),
        "/chunked": lambda: Page([b"piece %d\n" % each for each in range(20)]),
        "/range": lambda: _ranged(seen),
        "/encoded": lambda: _encoded(query["coding"], b"some text\n" * 100),
        "/big": lambda: _big(int(query["bytes"])),
        "/auth": lambda: _guarded(seen),
        "/json": lambda: Page((b'{"a": 1}\n',), [("content-type", "application/json")]),
    }
    if path.startswith("/status/"):
        return _text(b"status\n", int(path.removeprefix("/status/")))
    maker = makers.get(path)
    return maker() if maker else _text(b"no such page\n", 404)


def _text(body: bytes, status: int = 200, headers: Headers = ()) -> Page:
    length = ("content-length", str(len(body)))
    return Page((body,), [("content-type", "text/plain"), length, *headers], status)


def _echo(seen: Seen) -> Page:
    shown = [each for each in seen.headers if each[0] in _SHOWN or each[0][:2] == "x-"]
    body = {
        "method": seen.method,
        "target": seen.target,
        "headers": sorted(shown),
        "length": seen.length,
        "sha256": seen.digest,
    }
    text = json.dumps(body, indent=1).encode() + b"\n"
    return Page((text,), [("content-type", "application/json")])


def _ranged(seen: Seen) -> Page:
    whole = noise(100_000)
    wanted = seen.header("range")
    accepts = ("accept-ranges", "bytes")
    if not wanted:
        length = ("content-length", str(len(whole)))
        return Page((whole,), [accepts, length])
    first, _, last = wanted[0].removeprefix("bytes=").partition("-")
    start, end = int(first), min(int(last or len(whole) - 1), len(whole) - 1)
    part = whole[start : end + 1]
    place = ("content-range", f"bytes {start}-{end}/{len(whole)}")
    return Page((part,), [accepts, place, ("content-length", str(len(part)))], 206)


def _encoded(codings: str, body: bytes) -> Page:
    names = []
    for coding in codings.split(","):
        body = CODINGS[coding](body)
        names.append(coding.removeprefix("raw "))
    lines = [("content-encoding", ", ".join(names)), ("content-type", "text/plain")]
    return Page((body,), [*lines, ("content-length", str(len(body)))])


def _big(length: int) -> Page:
    block = noise(65536)
    pieces = [block] * (length // len(block)) + [block[: length % len(block)]]
    kind = ("content-type", "application/octet-stream")
    return Page(pieces, [kind, ("content-length", str(length))])


def _guarded(seen: Seen) -> Page:
    expected = "Basic " + base64.b64encode(b"me:secret").decode()
    if seen.header("authorization") == [expected]:
        return _text(b"welcome\n")
    return _text(b"who?\n", 401, [("www-authenticate", 'Basic realm="tests"')])
