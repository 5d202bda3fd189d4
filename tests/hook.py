"""A real server that takes the messages of a webhook."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any, NamedTuple

__all__ = ["Hook", "Message"]


class Message(NamedTuple):
    """What has come."""

    path: str
    signature: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Hook:
    """Takes messages, and answers as it is told to, once `opens` is set."""

    def __init__(self) -> None:
        messages: SimpleQueue[Message] = SimpleQueue()
        answers = self.answers = [200]
        opens = self.opens = threading.Event()
        opens.set()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                signature = self.headers["Redlane-Signature"]
                messages.put(Message(self.path, signature, body))
                opens.wait(60)
                self.send_response(answers[-1])
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._messages = messages
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook?team=a"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def next(self) -> Message:
        return self._messages.get(timeout=20)

    @property
    def is_empty(self) -> bool:
        return self._messages.empty()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
