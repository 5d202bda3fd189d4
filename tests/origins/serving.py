"""An ASGI application on ports of its own: HTTP, and HTTPS with HTTP/2."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework

__all__ = ["Application", "Ports", "serving"]

Message = dict[str, Any]
Application = Callable[
    [
        Message,
        Callable[[], Awaitable[Message]],
        Callable[[Message], Awaitable[None]],
    ],
    Awaitable[None],
]


class Ports:
    """Where a served application is reached, on loopback."""

    def __init__(self, plain: int, secure: int) -> None:
        self.plain = plain
        self.secure = secure

    @property
    def http(self) -> str:
        """The beginning of its addresses without TLS."""
        return f"http://127.0.0.1:{self.plain}"

    @property
    def https(self) -> str:
        """The beginning of its addresses with TLS."""
        return f"https://localhost:{self.secure}"


class _Loop(asyncio.SelectorEventLoop):
    """One that does not wait for clients that never say goodbye."""

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
        if options.get("ssl"):
            options["ssl_shutdown_timeout"] = 0.1
        return await super().create_server(*args, **options)


@contextmanager
def serving(
    application: Application,
    certificate: tuple[Path, Path],
) -> Iterator[Ports]:
    """Serve for as long as the block lasts."""
    plain, secure = _listener(), _listener()
    ports = Ports(plain.getsockname()[1], secure.getsockname()[1])
    config = Config()
    config.bind = [f"fd://{secure.detach()}"]
    config.insecure_bind = [f"fd://{plain.detach()}"]
    config.certfile, config.keyfile = map(str, certificate)
    config.loglevel = "CRITICAL"
    config.keep_alive_timeout = 60
    config.graceful_timeout = 0.1
    config.h11_max_incomplete_size = 1024 * 1024
    ready = threading.Event()
    stop: list[Callable[[], object]] = []

    async def main() -> None:
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)  # clients that hang up
        stop.append(lambda: loop.call_soon_threadsafe(over.set))
        ready.set()
        framework = cast("ASGIFramework", application)
        await serve(framework, config, shutdown_trigger=cast("Any", over.wait))

    def run() -> None:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(main())

    thread = threading.Thread(target=run, name="origin")
    thread.start()
    try:
        ready.wait()  # the sockets listen already
        yield ports
    finally:
        stop[0]()
        thread.join(30)


def _listener() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)
    return listener
