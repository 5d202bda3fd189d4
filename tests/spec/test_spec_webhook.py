"""`review.webhook` is told of what is held and of what became of it, signed."""

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any, NamedTuple

import pytest
from spec.cases import simple
from spec.redlane_home import REDLANE_SH, Home, wait_for

SECRET = "a secret of ours"
TOKEN = "ghp_" + "a" * 36


class Message(NamedTuple):
    """What has come."""

    path: str
    signature: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Hook:
    """A real server that takes messages, and answers as it is told to."""

    def __init__(self) -> None:
        messages: SimpleQueue[Message] = SimpleQueue()
        answers = self.answers = [200]

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                signature = self.headers["Redlane-Signature"]
                messages.put(Message(self.path, signature, body))
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


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.close()


@pytest.fixture
def told(home: Home, hook: Hook) -> Home:
    """A daemon that holds what is odd, and tells of it."""
    home.policies({"id": "flag", **simple("Flag", "odd")})
    home.role("agent", "flag")
    webhook = {"url": hook.url, "secret": SECRET}
    home.settings(review={"timeout_seconds": 60, "webhook": webhook})
    home.start("--role", "agent")
    return home


def hold(home: Home, command: str) -> tuple[Any, str]:
    shell = home.spawn("-c", command, program=REDLANE_SH)
    (review,) = wait_for(lambda: home.control.rows("/api/reviews"))
    return shell, str(review["id"])


def test_held_and_decided_are_told_and_signed(told: Home, hook: Hook) -> None:
    shell, review = hold(told, f"cd /; echo odd {TOKEN}")
    first = hook.next()
    assert told.run("review", "block", review, "--note", "not now").code == 0
    second = hook.next()
    shell.communicate(timeout=20)

    assert first.path == "/hook?team=a"
    assert [each.json["event"] for each in (first, second)] == ["held", "decided"]
    assert {each.json["review"]["id"] for each in (first, second)} == {review}
    assert first.json["review"]["matched"] == "echo odd [redacted]"
    assert second.json["review"]["decided_by"] == "person"
    assert second.json["review"]["note"] == "not now"
    for each in (first, second):
        assert review in each.json["text"]
        assert TOKEN.encode() not in each.body
        moment, made = (part[2:] for part in each.signature.split(",v"))
        signed = f"{moment}.".encode() + each.body
        expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        assert made.removeprefix("=") == expected


@pytest.mark.parametrize("status", [302, 500])
def test_hook_that_does_not_take_it_is_asked_twice_and_holds_nothing_up(
    told: Home, hook: Hook, status: int
) -> None:
    hook.answers.append(status)
    shell, review = hold(told, "echo odd")
    assert [hook.next().path, hook.next().path] == ["/hook?team=a"] * 2
    hook.answers.append(200)
    assert told.run("review", "allow", review).code == 0
    assert shell.communicate(timeout=20)[0] == "odd\n"
    assert hook.next().json["event"] == "decided"
    assert hook.is_empty


WRONG: dict[str, object] = {
    "a string": "https://h/",
    "nothing in it": {},
    "no secret": {"url": "https://h/"},
    "an empty secret": {"url": "https://h/", "secret": ""},
    "no url": {"secret": "s"},
    "no address": {"url": "h", "secret": "s"},
    "a login": {"url": "https://u:p@h/", "secret": "s"},
}


@pytest.mark.parametrize("case", WRONG)
def test_webhook_that_cannot_be_one_is_an_error(home: Home, case: str) -> None:
    home.settings(review={"webhook": WRONG[case]})
    assert home.check().code == 1
