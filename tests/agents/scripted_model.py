"""A model on loopback that says what a script says, to whatever agent asks it."""

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agents.model_apis import JSON, MODEL, Answer, Api, Call, Step, api_at

__all__ = [
    "LAST",
    "MODEL",
    "SIDE_MODEL",
    "Call",
    "ScriptedModel",
    "Step",
    "scripted_model",
]

SIDE_MODEL = "side"
"""A model's name by which an agent without tools asks for what is not its work."""

LAST = "All of it is done."


@dataclass
class ScriptedModel:
    """The script, and what has been asked of it."""

    script: Sequence[Step]
    last: Step = LAST
    url: str = ""
    turns: list[Any] = field(default_factory=list)
    """The bodies of the requests that were answered out of the script."""
    asked: list[tuple[str, bytes]] = field(default_factory=list)
    """The path and body of each request whatsoever."""
    given: list[str] = field(default_factory=list)
    """What the model was told of each step that it had taken."""
    tools: list[str] = field(default_factory=list)
    """The tools that the agent has offered."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def seen(self) -> str:
        """All that the model was ever sent, to search for a secret."""
        return "\n".join(body.decode(errors="replace") for _, body in self.asked)

    @property
    def is_played(self) -> bool:
        """Whether each step was taken, and answered."""
        return len(self.given) >= len(self.script)

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        """The answer to any request, which is noted."""
        with self.lock:
            self.asked.append((f"{method} {path}", body))
            found = api_at(path)
            if method != "POST" or found is None:
                return Answer(JSON, json.dumps(_ABOUT).encode())
            api, streamed = found
            said = json.loads(body)
            if not self._is_turn(api, said):
                return api.answer(said, "{}", 0, streamed=streamed)
            if self.turns:
                self.given.append(api.results(said))
            self.tools = api.tools(said)
            number = len(self.turns)
            self.turns.append(said)
            step = self.script[number] if number < len(self.script) else self.last
            return api.answer(said, step, number, streamed=streamed)

    def _is_turn(self, api: Api, body: Any) -> bool:
        """Whether it is the agent's work, and no title, summary or check of its own."""
        if any(isinstance(each, str) for each in self.script):  # it knows no tools
            return SIDE_MODEL not in str(body.get("model"))
        return bool(api.tools(body))


_LISTED = {"id": MODEL, "object": "model", "created": 1, "owned_by": "test"}
_ABOUT = {
    "object": "list",
    "data": [_LISTED],
    "models": [],
    "input_tokens": 1,
    "totalTokens": 1,
}
"""What does as a list of models and as a count of tokens, for whoever asks."""


@contextlib.contextmanager
def scripted_model(
    *script: Step, last: Step = LAST, host: str = "127.0.0.1"
) -> Iterator[ScriptedModel]:
    """A model that plays a script, at its `url`, while the block lasts."""
    model = ScriptedModel(script, last)

    class Handler(_Handler):
        played = model

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    model.url = f"http://{host}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Reads a request whole, and answers it whole."""

    protocol_version = "HTTP/1.1"
    played: ScriptedModel

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name
        """Say nothing."""

    def _answer(self) -> None:
        with contextlib.suppress(ConnectionError):  # the agent has been ended
            answer = self.played.answer(self.command, self.path, self._body())
            self.send_response(200)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)
