"""A client of the hub that sends exactly what a test says, over real sockets."""

import http.client
import itertools
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from hub_process import HubProcess

__all__ = [
    "JSON",
    "PASSWORD",
    "TIMESTAMP",
    "UUID",
    "Account",
    "Answer",
    "HubClient",
    "address",
    "client_of",
    "read_answer",
    "unique",
]

JSON = {"Content-Type": "application/json"}
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", re.ASCII)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DEADLINE = 30.0
"""How long any answer may take, in seconds."""
PASSWORD = "correct horse battery"

_numbers = itertools.count()
_run = f"{os.getpid():x}-{secrets.token_hex(3)}"


def unique(stem: str) -> str:
    """A name that nothing else in this run has."""
    return f"{stem}-{_run}-{next(_numbers)}"


def address() -> str:
    """A client address that shares its rate limits with nobody."""
    return "10." + ".".join(str(byte) for byte in secrets.token_bytes(3))


@dataclass(frozen=True)
class Answer:
    """One response."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str | None:
        """A header's value; it must not be there twice."""
        values = [v for k, v in self.headers if k.lower() == name.lower()]
        assert len(values) < 2, self
        return values[0] if values else None

    @property
    def json(self) -> Any:
        """The body, which must say that it is JSON, and be it."""
        kind = self.header("Content-Type") or ""
        assert kind.partition(";")[0] == "application/json", self
        return json.loads(self.body.decode("utf-8"), parse_constant=_refuse)

    @property
    def error(self) -> str:
        """The message of an error that the API raised: {error: string}."""
        body = self.json
        assert isinstance(body, dict), self
        assert list(body) == ["error"], self
        assert isinstance(body["error"], str), self
        assert body["error"], self
        return body["error"]

    @property
    def plain(self) -> str:
        """The body of one of the failures that use plain text."""
        kind = self.header("Content-Type") or ""
        assert kind.partition(";")[0] == "text/plain", self
        assert not self.body.startswith(b"{"), self
        return self.body.decode("utf-8")


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


@dataclass(frozen=True)
class HubClient:
    """Requests to one hub, with a token and from an address, if any are chosen.

    Without a chosen address each request comes from a new one.
    """

    host: str
    port: int
    token: str | None = field(default=None, repr=False)
    source: str | None = None

    def signed_in(self, token: str | None) -> "HubClient":
        """The same with a bearer token, or without one."""
        return replace(self, token=token)

    def coming_from(self, source: str) -> "HubClient":
        """The same, always from one address."""
        return replace(self, source=source)

    def head(self) -> dict[str, str]:
        """The headers that each request carries."""
        head = {"X-Forwarded-For": self.source or address()}
        if self.token is not None:
            head["Authorization"] = f"Bearer {self.token}"
        return head

    @contextmanager
    def connection(self) -> Iterator[http.client.HTTPConnection]:
        """One connection for several requests."""
        connection = http.client.HTTPConnection(self.host, self.port, DEADLINE)
        try:
            yield connection
        finally:
            connection.close()

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request, exactly as given."""
        with self.connection() as connection:
            head = self.head() | dict(headers or {})
            connection.request(method, path, body, head)
            return read_answer(connection)

    def call(self, method: str, path: str, body: object) -> Answer:
        """One request with a JSON body."""
        return self.send(method, path, json.dumps(body).encode(), JSON)

    def get(self, path: str, **query: object) -> Answer:
        """One GET."""
        return self.send("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, body: object) -> Answer:
        """One POST of JSON."""
        return self.call("POST", path, body)

    def patch(self, path: str, body: object) -> Answer:
        """One PATCH of JSON."""
        return self.call("PATCH", path, body)

    def delete(self, path: str) -> Answer:
        """One DELETE."""
        return self.send("DELETE", path)

    def register(self, email: str | None = None, password: str = PASSWORD) -> "Account":
        """A new account, signed in."""
        email = email or f"{unique('user')}@example.com"
        made = self.post("/api/v1/register", {"email": email, "password": password})
        assert made.status == 201, made
        return self.login(email, password, made.json["id"])

    def login(self, email: str, password: str, user_id: str) -> "Account":
        """An account that was registered, signed in."""
        body = {"email": email, "password": password}
        answer = self.post("/api/v1/login", body)
        assert answer.status == 200, answer
        client = self.signed_in(answer.json["token"])
        return Account(email, password, user_id, client)


def read_answer(connection: http.client.HTTPConnection) -> Answer:
    """The answer to the request that a connection has sent."""
    response = connection.getresponse()
    body = response.read()
    return Answer(response.status, body, tuple(response.getheaders()))


def client_of(hub: HubProcess) -> HubClient:
    """A client without a token."""
    return HubClient(hub.host, hub.port)


@dataclass(frozen=True)
class Account:
    """A registered account and its own client."""

    email: str
    password: str
    id: str
    http: HubClient

    @property
    def token(self) -> str:
        """The bearer token of the login."""
        assert self.http.token is not None
        return self.http.token

    def publish(self, name: str | None = None, **fields: object) -> dict[str, Any]:
        """Publish an artifact, which must succeed."""
        answer = self.push(name, **fields)
        assert answer.status == 201, answer
        body = answer.json
        assert isinstance(body, dict)
        return body

    def push(self, name: str | None = None, **fields: object) -> Answer:
        """Try to publish an artifact; version 1 of `{}` unless the fields say else."""
        body = {"name": name or unique("art"), "version": "1", "content": "{}"}
        return self.http.post("/api/v1/artifacts", body | fields)
