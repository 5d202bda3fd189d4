"""Git's smart HTTP: `git http-backend` behind an ASGI application."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from origins.serving import Message

__all__ = ["GitHttp"]


class GitHttp:
    """Serves, and takes pushes for, the repositories below a directory at `/git/`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """One request, as CGI has it."""
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        process = await asyncio.create_subprocess_exec(
            *("git", "http-backend"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=self._environment(scope, len(body)),
        )
        out, _ = await process.communicate(body)
        head, _, rest = out.partition(b"\r\n\r\n")
        fields = [line.split(b": ", 1) for line in head.split(b"\r\n") if line]
        headers = {name.lower(): value for name, value in fields}
        status = int(headers.pop(b"status", b"200").split()[0])
        lines = list(headers.items())
        start = {"type": "http.response.start", "status": status, "headers": lines}
        await send(start)
        await send({"type": "http.response.body", "body": rest})

    def _environment(self, scope: Message, length: int) -> dict[str, str]:
        headers = {name.lower(): value.decode() for name, value in scope["headers"]}
        return {
            "PATH": os.defpath,
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "pusher",
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": scope["method"],
            "PATH_INFO": scope["path"].removeprefix("/git"),
            "QUERY_STRING": scope["query_string"].decode(),
            "CONTENT_TYPE": headers.get(b"content-type", ""),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": headers.get(b"content-encoding", ""),
            "GIT_PROTOCOL": headers.get(b"git-protocol", ""),
        }
