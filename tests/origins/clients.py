"""What Python programs do with the network: `clients.py NAME HTTP HTTPS`.

Each prints what it got; nothing depends on time or ports.
"""
# ruff: noqa: T201  # what it prints is what it is for

import asyncio
import hashlib
import sys
import urllib.request
from collections.abc import Callable

__all__: list[str] = []

HTTP, HTTPS = sys.argv[2:4]
WSS = HTTPS.replace("https", "wss", 1)
WS = HTTP.replace("http", "ws", 1)
PATHS = ("/text", "/chunked", "/encoded?coding=gzip", "/range")
BODY = b"what is sent " * 1000


def show(status: int, body: bytes) -> None:
    """One line for one answer."""
    print(status, len(body), hashlib.sha256(body).hexdigest())


def use_urllib() -> None:
    for base in (HTTP, HTTPS):
        for path in PATHS:
            with urllib.request.urlopen(base + path) as answer:
                show(answer.status, answer.read())
        with urllib.request.urlopen(base + "/mirror", BODY) as answer:
            show(answer.status, answer.read())


def use_requests() -> None:
    import requests  # noqa: PLC0415  # only what is asked for

    with requests.Session() as session:
        for base in (HTTP, HTTPS):
            for path in PATHS:
                answer = session.get(base + path, timeout=60)
                show(answer.status_code, answer.content)
            answer = session.post(base + "/mirror", data=BODY, timeout=60)
            show(answer.status_code, answer.content)
            answer = session.post(base + "/mirror", data=iter([b"a", b"b"]), timeout=60)
            show(answer.status_code, answer.content)
            answer = session.post(base + "/mirror", json={"a": ["ü", 1]}, timeout=60)
            print(answer.json())


def use_httpx(*, http2: bool = False) -> None:
    import httpx  # noqa: PLC0415  # as above

    with httpx.Client(http2=http2, timeout=60) as client:
        for base in (HTTP, HTTPS):
            for path in (*PATHS, "/encoded?coding=br", "/encoded?coding=zstd"):
                answer = client.get(base + path)
                print(answer.http_version if base == HTTPS else "")
                show(answer.status_code, answer.content)
            answer = client.post(base + "/mirror", content=iter([BODY, b"more"]))
            show(answer.status_code, answer.content)


def use_aiohttp() -> None:
    import aiohttp  # noqa: PLC0415  # as above

    async def main() -> None:
        async with aiohttp.ClientSession(trust_env=True) as session:
            for base in (HTTP, HTTPS):
                for path in PATHS:
                    async with session.get(base + path) as answer:
                        show(answer.status, await answer.read())
                async with session.post(base + "/mirror", data=BODY) as answer:
                    show(answer.status, await answer.read())

    asyncio.run(main())


MESSAGES = ("first", "ü" * 1000, b"\0\xff" * 500, "x" * 300_000, "")


def use_websockets() -> None:
    from websockets.sync.client import connect  # noqa: PLC0415  # as above

    for base in (WS, WSS):
        with connect(base + "/ws", max_size=None) as link:
            for message in MESSAGES:
                link.send(message)
                print(link.recv(timeout=60) == message)
            link.send("many:5")
            print([link.recv(timeout=60) for _ in range(5)])


def use_websocket_client() -> None:
    import websocket  # noqa: PLC0415  # as above

    for base in (WS, WSS):
        link = websocket.create_connection(base + "/ws", timeout=60)
        for message in MESSAGES:
            if isinstance(message, str):
                link.send(message)
            else:
                link.send_binary(message)
            print(link.recv() == message)
        link.close()


CLIENTS: dict[str, Callable[[], None]] = {
    "urllib": use_urllib,
    "requests": use_requests,
    "httpx": use_httpx,
    "httpx-h2": lambda: use_httpx(http2=True),
    "aiohttp": use_aiohttp,
    "websockets": use_websockets,
    "websocket-client": use_websocket_client,
}
CLIENTS[sys.argv[1]]()
