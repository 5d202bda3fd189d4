"""A payment provider in this process: Stripe's API on a real socket, and its events."""

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

__all__ = ["Provider", "checkout", "event", "signed", "subscription"]

PAGE = "https://checkout.example/c/pay/cs_test_1"

Answer = Callable[[socket.socket, threading.Event], None]


@dataclass
class Provider:
    """What it answers with, and the calls that it got."""

    answer: Answer
    port: int = 0
    calls: list[tuple[str, dict[str, str], dict[str, list[str]]]] = field(
        default_factory=list
    )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @classmethod
    @contextmanager
    def answering(cls, answer: Answer | bytes) -> Iterator["Provider"]:
        """A provider that answers every call so, while the block runs."""
        if isinstance(answer, bytes):
            answer = plainly(answer)
        provider, over = cls(answer), threading.Event()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            provider.port = listener.getsockname()[1]
            lab = threading.Thread(target=provider._serve, args=(listener, over))
            lab.start()
            try:
                yield provider
            finally:
                over.set()
                listener.shutdown(socket.SHUT_RDWR)
                lab.join()

    def _serve(self, listener: socket.socket, over: threading.Event) -> None:
        clerks = []
        with suppress(OSError):
            while not over.is_set():
                caller, _address = listener.accept()
                clerk = threading.Thread(target=self._talk, args=(caller, over))
                clerk.start()
                clerks.append(clerk)
        for clerk in clerks:
            clerk.join()

    def _talk(self, caller: socket.socket, over: threading.Event) -> None:
        with caller, suppress(OSError):
            with caller.makefile("rb") as sent:
                line = sent.readline().decode("latin-1")
                headers = {}
                while (header := sent.readline().decode("latin-1").strip()) != "":
                    name, _colon, value = header.partition(":")
                    headers[name.lower()] = value.strip()
                form = sent.read(int(headers.get("content-length", "0"))).decode(
                    "latin-1"
                )
            if not line:
                return
            self.calls.append((line.strip(), headers, parse_qs(form)))
            self.answer(caller, over)


def plainly(body: bytes, status: str = "200 OK", more: str = "") -> Answer:
    """An ordinary answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n"

    def answer(caller: socket.socket, _over: threading.Event) -> None:
        caller.sendall(head.encode() + body)

    return answer


def session(url: str = PAGE) -> bytes:
    """A checkout session, as the API gives it."""
    return json.dumps({"id": "cs_1", "object": "checkout.session", "url": url}).encode()


def event(event_id: str, kind: str, created: int, found: dict[str, Any]) -> bytes:
    """An event as the provider sends it."""
    return json.dumps(
        {
            "id": event_id,
            "object": "event",
            "api_version": "2025-01-27.acacia",
            "created": created,
            "type": kind,
            "livemode": False,
            "data": {"object": found},
        }
    ).encode()


def checkout(
    event_id: str,
    created: int,
    user_id: str | None,
    *,
    subscription: object = "sub_1",
    customer: object = "cus_1",
    paid: bool = False,
) -> bytes:
    """A checkout that was completed."""
    found = {
        "id": "cs_1",
        "object": "checkout.session",
        "client_reference_id": user_id,
        "subscription": subscription,
        "customer": customer,
        "mode": "subscription",
        "payment_status": "paid" if paid else "unpaid",
    }
    return event(event_id, "checkout.session.completed", created, found)


def subscription(
    event_id: str,
    what: str,
    created: int,
    status: str,
    *,
    name: str = "sub_1",
    customer: object = "cus_1",
) -> bytes:
    """What became of a subscription; `what` is created, updated or deleted."""
    found = {
        "id": name,
        "object": "subscription",
        "customer": customer,
        "status": status,
        "items": {"object": "list", "data": [{"id": "si_1", "quantity": 1}]},
    }
    return event(event_id, f"customer.subscription.{what}", created, found)


def signed(secret: str, body: bytes, moment: float) -> str:
    """The header `Stripe-Signature` for a body."""
    seconds = int(moment)
    digest = hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256)
    return f"t={seconds},v1={digest.hexdigest()}"
