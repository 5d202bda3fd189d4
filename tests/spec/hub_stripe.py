"""The payment provider: a small server for checkouts, and signed webhook events."""

import hashlib
import hmac
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

from spec.hub_client import Answer, HubClient, unique

__all__ = ["WEBHOOK", "Call", "Provider", "event", "signature", "tell"]

WEBHOOK = "/webhooks/payment"
PAGE = "https://pay.example.com/c/cs_1"


@dataclass(frozen=True)
class Call:
    """One request that the hub has made."""

    method: str
    path: str
    headers: dict[str, str]
    form: dict[str, list[str]]


@dataclass
class Provider:
    """Answers as it is told to, while it is entered, and remembers who called."""

    status: int = 200
    body: bytes = json.dumps({"id": "cs_1", "url": PAGE}).encode()
    calls: list[Call] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Listen."""
        provider = self

        class Lab(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                form = parse_qs(self.rfile.read(length).decode())
                head = {k.lower(): v for k, v in self.headers.items()}
                provider.calls.append(Call("POST", self.path, head, form))
                self.send_response(provider.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(provider.body)))
                self.end_headers()
                self.wfile.write(provider.body)

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Lab)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The setting that makes the hub ask here."""
        return f"http://127.0.0.1:{self._server.server_port}"


def event(kind: str, about: dict[str, Any], **more: object) -> dict[str, Any]:
    """An event as the provider sends it, now unless `created` says else."""
    made = {"id": unique("evt"), "created": int(time.time())}
    return {"object": "event", "type": kind, "data": {"object": about}} | made | more


def signature(secret: str, body: bytes, at: int | None = None) -> str:
    """The header that signs a webhook request."""
    at = int(time.time()) if at is None else at
    return f"t={at},v1={digest(secret, body, at)}"


def digest(secret: str, body: bytes, at: int) -> str:
    """One `v1` value."""
    signed = str(at).encode() + b"." + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def tell(
    client: HubClient, secret: str, told: object, signed: str | None = None
) -> Answer:
    """Send an event to the webhook, signed as the provider signs."""
    body = told if isinstance(told, bytes) else json.dumps(told).encode()
    head = {
        "Content-Type": "application/json; charset=utf-8",
        "Stripe-Signature": signed or signature(secret, body),
    }
    return client.send("POST", WEBHOOK, body, head)
