"""What the log of a hub tells when everything around it fails: nothing of anybody."""

import http.client
import json
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hub_process import HubProcess

CANARY = "canary"
ADDRESS = f"{CANARY}@example.org"
SIGNED_IN = {"email": ADDRESS, "password": f"{CANARY}-password"}
ANSWERS = (
    b"HTTP/1.1 402 canary\r\nContent-Length: 6\r\n\r\ncanary",
    b"canary\r\n\r\n",
    b'HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n{"url": "javascript:canary"}',
    b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/canary\r\n\r\n",
)
BROKEN = """
    UPDATE contents SET content = 'canary';
    ALTER TABLE signing_keys RENAME TO canary_keys;
    ALTER TABLE reset_tokens RENAME TO canary_tokens;
"""


@pytest.fixture
def hostile() -> Iterator[int]:
    """A port where every connection gets one of the answers and no goodbye."""
    with socket.create_server(("127.0.0.1", 0)) as line:

        def serve() -> None:
            for number in range(1000):
                try:
                    connection, _peer = line.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    connection.settimeout(5)
                    connection.recv(65536)
                    connection.sendall(ANSWERS[number % len(ANSWERS)])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield line.getsockname()[1]
        line.shutdown(socket.SHUT_RDWR)
        thread.join(10)


class Client:
    """Somebody who asks the hub for things, with a token once there is one."""

    def __init__(self, hub: HubProcess) -> None:
        self._hub = hub
        self.token = ""

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        with closing(
            http.client.HTTPConnection(self._hub.host, self._hub.port)
        ) as line:
            headers = {"Content-Type": "application/json", "Stripe-Signature": CANARY}
            if self.token:
                headers["Authorization"] = f"Bearer {self.token}"
            line.request(method, path, json.dumps(body), headers)
            answer = line.getresponse()
            return answer.status, answer.read()


def test_no_failure_writes_a_secret_or_an_address_to_the_log(
    hostile: int, tmp_path: Path
) -> None:
    hub = HubProcess(
        tmp_path,
        log_level="debug",
        secret=CANARY * 8,
        smtp_url=f"smtp://{CANARY}:{CANARY}@127.0.0.1:{hostile}",
        payment_api_url=f"http://127.0.0.1:{hostile}",
        payment_api_key=CANARY,
        payment_price=CANARY,
        payment_webhook_secret=CANARY,
    )
    hub.start()
    try:
        failures = visit(hub)
    finally:
        hub.stop()
    assert set(failures) == {500}
    told = hub.errors
    assert told.count("A request failed.") == len(failures)
    assert "Traceback" in told
    assert "A password reset mail could not be sent" in told
    for line in told.splitlines():
        json.loads(line)
        assert CANARY not in line.replace("canary_", "")
        assert "example.org" not in line


def visit(hub: HubProcess) -> list[int]:
    """Do what fails in every way there is; the answers to what failed."""
    client = Client(hub)
    assert client.ask("POST", "/api/v1/register", SIGNED_IN)[0] == 201
    hub.approve(ADDRESS)
    client.token = json.loads(client.ask("POST", "/api/v1/login", SIGNED_IN)[1])[
        "token"
    ]
    pushed = {"name": CANARY, "version": "1", "content": '"canary"', "tags": [CANARY]}
    assert client.ask("POST", "/api/v1/artifacts", pushed)[0] == 201
    reset = {"email": ADDRESS}
    assert client.ask("POST", "/api/v1/password-reset/request", reset)[0] == 202
    deadline = time.monotonic() + 20
    while "could not be sent" not in hub.errors:
        assert time.monotonic() < deadline
    assert client.ask("POST", "/webhooks/payment", {CANARY: 1})[0] == 400
    failures = [client.ask("POST", "/api/v1/me/checkout-session")[0] for _ in ANSWERS]
    with closing(sqlite3.connect(hub.database)) as connection:
        connection.executescript(BROKEN)
    key = {
        "public_key": "O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik=",
        "label": CANARY,
    }
    failing = (
        ("GET", f"/api/v1/artifacts/{CANARY}/1", None),
        ("GET", f"/artifacts/{CANARY}/1", None),
        ("POST", "/api/v1/me/signing-keys", key),
        (
            "POST",
            "/api/v1/password-reset/confirm",
            {"token": CANARY, "new_password": "canary-other"},
        ),
        ("GET", "/api/v1/me/signing-keys", None),
    )
    return failures + [client.ask(*each)[0] for each in failing]
