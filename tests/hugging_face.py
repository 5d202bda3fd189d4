"""A server that speaks as Hugging Face's hub does, on loopback."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["HuggingFace", "serving"]

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class HuggingFace:
    """One repository, `org/Guard`; `cut` ends the next file after so many bytes."""

    files: dict[str, bytes]
    cut: int | None = None
    lies: bool = False
    asked: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    endpoint: str = ""

    @classmethod
    def of(cls, folder: Path, config: dict[str, Any]) -> "HuggingFace":
        """The repository of a model that was made in a folder."""
        return cls(
            {
                "onnx/model.onnx": (folder / "model.onnx").read_bytes(),
                "tokenizer.json": (folder / "tokenizer.json").read_bytes(),
                "config.json": json.dumps(config).encode(),
                "pytorch_model.bin": b"a pickle",
            }
        )

    def told(self) -> dict[str, Any]:
        """What the API says of it: large files by SHA-256, others as git does."""
        return {
            "sha": REVISION,
            "cardData": {"license": "apache-2.0"},
            "siblings": [self._sibling(*each) for each in self.files.items()],
        }

    def _sibling(self, name: str, data: bytes) -> dict[str, Any]:
        if self.lies:
            data = data[::-1]
        found: dict[str, Any] = {"rfilename": name, "size": len(data)}
        if name.endswith(".onnx"):
            return found | {"lfs": {"sha256": hashlib.sha256(data).hexdigest()}}
        blob = hashlib.sha1(b"blob %d\0%b" % (len(data), data))
        return found | {"blobId": blob.hexdigest()}


@contextmanager
def serving(repository: HuggingFace) -> Iterator[HuggingFace]:
    """Serve it for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            repository.asked.append(self.path)
            if self.path.startswith("/api/models/org/Guard/revision/"):
                self._send(200, json.dumps(repository.told()).encode())
                return
            _, found, name = self.path.partition(f"/org/Guard/resolve/{REVISION}/")
            data = repository.files.get(name) if found else None
            if data is None:
                self._send(404, b"{}")
                return
            start = self._start()
            self._send(206 if start else 200, data[start:], start, len(data))

        def _start(self) -> int:
            wanted = self.headers.get("Range")
            if wanted:
                repository.ranges.append(wanted)
            return int(wanted[6:-1]) if wanted else 0

        def _send(
            self, status: int, data: bytes, start: int = 0, whole: int = 0
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if status == 206:
                end = whole - 1
                self.send_header("Content-Range", f"bytes {start}-{end}/{whole}")
            self.end_headers()
            cut = None
            if whole:
                cut, repository.cut = repository.cut, None
            self.wfile.write(data[:cut])
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        repository.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        yield repository
        server.shutdown()
        thread.join()
