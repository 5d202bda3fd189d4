"""An agent that makes the requests it is told to, one JSON line each.

A program of its own, that `redlane run` starts: what it knows of the proxy is what its
environment says.
"""

import asyncio
import base64
import json
import os
import re
import socket
import ssl
import sys
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from typing import Any

__all__: list[str] = []

Told = Mapping[str, Any]
TIMEOUT = 60.0
PATIENCE = 20.0
SILENCE = 1.5
"""Seconds without a byte after which a raw answer is taken for whole."""


def request(told: Told) -> dict[str, Any]:
    """One request of httpx; `keep` names a client whose connections are used again."""
    import httpx  # noqa: PLC0415  # other tasks start faster without

    def client() -> httpx.Client:
        return httpx.Client(
            http2=told.get("http2", False),
            timeout=TIMEOUT,
            follow_redirects=told.get("follow", False),
            verify=_context(told) if told.get("trust") else True,
        )

    with ExitStack() as stack:
        keep = told.get("keep")
        if keep is None:
            using = stack.enter_context(client())
        else:
            using = KEPT.setdefault(keep, None) or client()
            KEPT[keep] = using
        answer = using.request(
            told.get("method", "GET"),
            told["url"],
            headers=told.get("headers") or (),
            content=_content(told),
        )
    raw = answer.headers.raw
    return {
        "status": answer.status_code,
        "version": answer.http_version,
        "headers": [[name.decode().lower(), value.decode()] for name, value in raw],
        "body": _text(answer.content),
    }


KEPT: dict[str, Any] = {}


def _content(told: Told) -> bytes | Iterator[bytes] | None:
    if "pieces" in told:
        return iter([_bytes(each) for each in told["pieces"]])
    return _bytes(told["body"]) if "body" in told else None


def stream(told: Told) -> dict[str, Any]:
    """A request whose answer is told piece by piece."""
    import httpx  # noqa: PLC0415  # as above

    with (
        httpx.Client(timeout=TIMEOUT, http2=told.get("http2", False)) as client,
        client.stream(told.get("method", "GET"), told["url"]) as answer,
    ):
        tell({"status": answer.status_code})
        for piece in answer.iter_bytes():
            tell({"piece": _text(piece)})
    return {"end": True}


def websocket(told: Told) -> dict[str, Any]:
    """Send messages, each answered by as many as `replies` says."""
    return asyncio.run(_websocket(told))


async def _websocket(told: Told) -> dict[str, Any]:
    """In one thread: with two, of which one reads and one writes, TLS may get stuck."""
    from websockets.asyncio.client import connect  # noqa: PLC0415  # as above
    from websockets.exceptions import ConnectionClosed  # noqa: PLC0415  # as above

    replies: list[dict[str, Any]] = []
    async with connect(told["url"], open_timeout=TIMEOUT, max_size=None) as link:
        try:
            for message in told["messages"]:
                is_one = not isinstance(message, list)
                await link.send(_said(message) if is_one else [*map(_said, message)])
                for _ in range(told.get("replies", 1)):
                    got = await asyncio.wait_for(link.recv(), TIMEOUT)
                    kind = "text" if isinstance(got, str) else "bytes"
                    data = got.encode() if isinstance(got, str) else got
                    replies.append({kind: _text(data)})
        except ConnectionClosed as error:
            close = error.rcvd
            reason = close.reason if close else ""
            return {"replies": replies, "closed": close and close.code, "why": reason}
    return {"replies": replies, "closed": None, "why": ""}


def _said(message: Mapping[str, str]) -> str | bytes:
    if "text" in message:
        return _bytes(message["text"]).decode()
    return _bytes(message["bytes"])


def raw(told: Told) -> dict[str, Any]:
    """Bytes to the proxy, and its bytes back, till it closes or falls silent.

    `tunnel` opens a CONNECT first, `tls` shakes hands in it. `@AUTH@` stands for the
    credentials. `then` is sent once `data` was answered, and its answer waited for.
    """
    with closing(_dial(told.get("to"))) as connection:
        stream: socket.socket = connection
        certificate = b""
        if "tunnel" in told:
            head = _open_tunnel(connection, told)
            if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")):
                return {"tunnel": _text(head), "data": "", "closed": True}
            if "tls" not in told and not told.get("data"):
                return {"tunnel": "", "data": "", "closed": False}
        if "tls" in told:
            stream = secured = _shake_hands(connection, told)
            certificate = secured.getpeercert(binary_form=True) or b""
        for piece in told.get("pieces", [told.get("data", "")]):
            stream.sendall(_bytes(piece).replace(b"@AUTH@", _credentials()))
        if told.get("shut"):
            stream.shutdown(socket.SHUT_WR)
        data, closed = _drain(stream, told)
        if data and "then" in told and not closed:
            stream.sendall(_bytes(told["then"]).replace(b"@AUTH@", _credentials()))
            _, closed = _drain(stream, told)
    shown = {"data": _text(data), "certificate": _text(certificate)}
    return {"tunnel": "", "closed": closed, **shown}


def http2(told: Told) -> dict[str, Any]:
    """One request of HTTP/2 with exactly these headers, in a tunnel."""
    import h2.config  # noqa: PLC0415  # as above
    import h2.connection  # noqa: PLC0415  # as above
    import h2.events  # noqa: PLC0415  # as above

    with closing(_dial(None)) as connection:
        head = _open_tunnel(connection, told)
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            return {"tunnel": _text(head)}
        stream = _shake_hands(connection, {**told, "alpn": ["h2"]})
        config = h2.config.H2Configuration(
            validate_outbound_headers=False, normalize_outbound_headers=False
        )
        protocol = h2.connection.H2Connection(config)
        protocol.initiate_connection()
        protocol.send_headers(1, told["headers"], end_stream="body" not in told)
        if "body" in told:
            protocol.send_data(1, _bytes(told["body"]), end_stream=True)
        stream.sendall(protocol.data_to_send())
        found: dict[str, Any] = {"headers": [], "trailers": [], "reset": False}
        body = b""
        while data := stream.recv(65536):
            for event in protocol.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    found["headers"] = event.headers
                elif isinstance(event, h2.events.TrailersReceived):
                    found["trailers"] = event.headers
                elif isinstance(event, h2.events.DataReceived):
                    body += event.data
                over = (h2.events.StreamEnded, h2.events.StreamReset)
                if isinstance(event, (*over, h2.events.ConnectionTerminated)):
                    found["reset"] = not isinstance(event, h2.events.StreamEnded)
                    return {**found, "body": _text(body)}
            stream.sendall(protocol.data_to_send())
        return {**found, "reset": True, "body": _text(body)}


def _dial(to: str | None) -> socket.socket:
    if to is None:
        proxy = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
        address = proxy.hostname or "", proxy.port or 0
    else:
        host, _, port = to.rpartition(":")
        address = host, int(port)
    return socket.create_connection(address, timeout=TIMEOUT)


def _open_tunnel(connection: socket.socket, told: Told) -> bytes:
    target = told["tunnel"]
    auth = f"Proxy-Authorization: Basic {_credentials().decode()}\r\n"
    head = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{auth}\r\n"
    connection.sendall(head.encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        data = connection.recv(1)  # not a byte of what follows
        if not data:
            break
        answer += data
    if b" 200 " not in answer.split(b"\r\n", 1)[0]:
        answer += _drain(connection, {})[0]
    return answer


def _context(told: Told) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=told.get("trust"))
    if told.get("certificate"):
        context.load_cert_chain(*told["certificate"])
    if told.get("unverified"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _shake_hands(connection: socket.socket, told: Told) -> ssl.SSLSocket:
    context = _context(told)
    if told.get("alpn"):
        context.set_alpn_protocols(told["alpn"])
    name = told["tls"]
    if not name:
        context.check_hostname = False
    return context.wrap_socket(connection, server_hostname=name or None)


def _credentials() -> bytes:
    proxy = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
    words = f"{proxy.username or ''}:{proxy.password or ''}"
    return base64.b64encode(urllib.parse.unquote(words).encode())


def _drain(stream: socket.socket, told: Told) -> tuple[bytes, bool]:
    """What comes, and whether it ended: `patience` for the first, then `silence`.

    With `whole` an answer ends where its head says, and not by silence.
    """
    data = b""
    is_whole = told.get("whole", False)
    patience = told.get("patience", PATIENCE)
    stream.settimeout(patience)
    while True:
        try:
            more = stream.recv(65536)
        except TimeoutError:
            return data, False
        except OSError:
            return data, True
        if not more:
            return data, True
        data += more
        if is_whole and _has_ended(data):
            return data, False
        stream.settimeout(patience if is_whole else told.get("silence", SILENCE))


def _has_ended(answer: bytes) -> bool:
    """Whether an answer is as long as its head says, or its last chunk is there."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
        return body.endswith(b"0\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return length is not None and len(body) >= int(length[1])


def environment(_: Told) -> dict[str, Any]:
    """What this process was given."""
    return {"environment": dict(os.environ)}


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def tell(answer: Mapping[str, Any]) -> None:
    """One line for whoever told us."""
    default = bytes.decode
    sys.stdout.write(json.dumps(answer, default=default) + "\n")
    sys.stdout.flush()


TASKS: dict[str, Callable[[Told], dict[str, Any]]] = {
    "request": request,
    "stream": stream,
    "websocket": websocket,
    "raw": raw,
    "http2": http2,
    "environment": environment,
}


def main() -> None:
    """Do what is told until there is no more."""
    for line in sys.stdin:
        told = json.loads(line)
        try:
            answer = TASKS[told["task"]](told)
        except Exception as error:  # noqa: BLE001  # whatever went wrong is the answer
            answer = {"failed": f"{type(error).__name__}: {error}"}
        tell(answer)


main()
