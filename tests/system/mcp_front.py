"""A front of `redlane mcp --url` for tests, its client, and the server behind it."""

import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from spec.redlane_home import REDLANE, Home

__all__ = ["Answer", "Front", "Server", "Serving", "event", "serving"]

_SECONDS = 20.0


class Serving(BaseHTTPRequestHandler):
    """One request to the server; what is done with it is the test's."""

    protocol_version = "HTTP/1.1"
    body = b""
    server: "Server"

    def do_POST(self) -> None:
        """Have the test answer."""
        self.body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.requests.append(self)
        self.server.answer(self)

    do_GET = do_DELETE = do_POST  # noqa: N815  # the library names them so

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name
        """Say nothing."""

    @property
    def message(self) -> Any:
        """What the body says."""
        return json.loads(self.body)

    def say(self, status: int, body: bytes = b"", **fields: str) -> None:
        """Answer at once."""
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def json(self, message: object, **fields: str) -> None:
        """Answer with a message."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.say(200, body, **{"Content_Type": "application/json"} | fields)

    def begin(self, **fields: str) -> None:
        """Begin a stream of events."""
        self.send_response(200)
        for name, value in ({"Content_Type": "text/event-stream"} | fields).items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def write(self, data: bytes) -> None:
        """Send a piece of it."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def end(self) -> None:
        """End it."""
        self.wfile.write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Hang up."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def event(message: object, **fields: str) -> bytes:
    """An event with a message in it."""
    lines = [f"{name}: {value}" for name, value in fields.items()]
    data = message if isinstance(message, str) else json.dumps(message)
    return "\n".join((*lines, f"data: {data}", "", "")).encode()


def echo(serving: Serving) -> None:
    """Answer a call with its arguments, and whatever else with {}; or take it."""
    message = serving.message
    found = [
        _answer(each) for each in (message if isinstance(message, list) else [message])
    ]
    answers = [each for each in found if each is not None]
    if not answers:
        serving.say(202)
    else:
        serving.json(answers if isinstance(message, list) else answers[0])


def _answer(message: Any) -> Any:
    if "id" not in message or "method" not in message:
        return None
    arguments = message.get("params", {}).get("arguments")
    result: dict[str, Any] = {}
    if arguments is not None:
        text = json.dumps(arguments, ensure_ascii=False)
        result = {
            "content": [{"type": "text", "text": text}],
            "structuredContent": arguments,
        }
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Server(ThreadingHTTPServer):
    """An MCP server by HTTP, whose `answer` the test gives."""

    daemon_threads = True
    requests: list[Serving]
    answer: Callable[[Serving], None]

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}/mcp"

    @property
    def bodies(self) -> list[bytes]:
        """What it was sent."""
        return [each.body for each in self.requests]

    def handle_error(self, request: object, client_address: object) -> None:
        """A front that hangs up is no error."""


@contextmanager
def serving(answer: Callable[[Serving], None] = echo) -> Iterator[Server]:
    """A server that runs."""
    with Server(("127.0.0.1", 0), Serving) as made:
        made.requests, made.answer = [], answer
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@dataclass(frozen=True)
class Answer:
    """What a client gets."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The message."""
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, str]]:
        """The events, without comments."""
        made = []
        for block in self.body.decode().split("\n\n"):
            rows = [each.partition(": ") for each in block.split("\n") if each]
            found = {name: value for name, _, value in rows if name and name != ":"}
            if found:
                made.append(found)
        return made

    @property
    def messages(self) -> list[Any]:
        """The messages in the events."""
        return [json.loads(each["data"]) for each in self.events if each.get("data")]


@dataclass
class Front:
    """Runs `redlane mcp --url`, and asks it."""

    home: Home
    url: str
    name: str = "notes"
    inside: str | None = None
    options: tuple[str, ...] = ()
    env: Mapping[str, str | None] | None = None
    port: int = field(init=False)

    def __enter__(self) -> Self:
        """Start it."""
        session = (
            () if self.inside is None else ("run", "--role", self.inside, "--", REDLANE)
        )
        options = ("--name", self.name, "--url", self.url, "--listen", "127.0.0.1:0")
        self.process = subprocess.Popen(
            [REDLANE, *session, "mcp", *options, *self.options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.home.environment(self.env),
            cwd=self.home.user,
        )
        assert self.process.stdout is not None
        self.told = self.process.stdout.readline().decode()
        place = self.told.partition("127.0.0.1:")[2]
        self.port = int(place.partition("/")[0])
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it."""
        self.process.kill()
        self.process.communicate()

    def end(self) -> tuple[int, str]:
        """End it; its status, and what stands on standard error."""
        self.process.terminate()
        _, error = self.process.communicate(timeout=_SECONDS)
        return self.process.returncode, error.decode()

    def connect(self) -> HTTPConnection:
        """A connection of a client."""
        return HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)

    @contextmanager
    def open(
        self,
        message: object = None,
        method: str = "POST",
        path: str = "/mcp",
        **fields: str,
    ) -> Iterator[HTTPResponse]:
        """Ask, and leave the answer's body to the caller; hang up in the end."""
        body = message
        if not isinstance(message, bytes | None):
            body = json.dumps(message).encode()
        known = {"Accept": "application/json, text/event-stream"}
        if body is not None:
            known["Content-Type"] = "application/json"
        known |= {name.replace("_", "-"): value for name, value in fields.items()}
        connection = self.connect()
        try:
            connection.request(method, path, body, known)
            with connection.getresponse() as response:
                yield response
        finally:
            connection.close()

    def ask(
        self,
        message: object = None,
        method: str = "POST",
        path: str = "/mcp",
        **fields: str,
    ) -> Answer:
        """Ask, and read all of the answer."""
        with self.open(message, method, path, **fields) as response:
            return Answer(response.status, dict(response.getheaders()), response.read())

    def raw(self, data: bytes) -> bytes:
        """Send bytes, and read until the front hangs up or has said all."""
        with socket.create_connection(("127.0.0.1", self.port), _SECONDS) as connection:
            connection.sendall(data)
            got = b""
            while piece := connection.recv(65536):
                got += piece
        return got
