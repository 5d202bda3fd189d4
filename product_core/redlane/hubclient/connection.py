"""One hub, asked over one connection for as long as it stays open."""

import json
import re
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

from redlane.errors import UsageError
from redlane.hubclient.deadline import Deadline
from redlane.hubclient.errors import HubError, HubRefusedError, HubUnavailableError
from redlane.hubclient.proxies import manager_for
from redlane.messages import visible
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["Connection"]

_PIECE = 65536
_LONGEST_MESSAGE = 500
_AGENT = "redlane"
_TOKEN = re.compile(r"[!-~]{1,8192}")


class Connection:
    """Sends requests to one address, one at a time, from any thread.

    What is asked comes back whole, within `seconds` and `most_bytes`, or not at all. A
    redirect is not followed: it would take the token elsewhere.
    """

    def __init__(self, address: str, seconds: float, most_bytes: int) -> None:
        """Connect with the first request."""
        self._address = address
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._deadline = Deadline(seconds)
        self._manager = manager_for(address)
        self._manager.pool_classes_by_scheme = {
            scheme: self._watched(kind)
            for scheme, kind in (
                ("http", urllib3.HTTPConnectionPool),
                ("https", urllib3.HTTPSConnectionPool),
            )
        }
        self._turn = threading.Lock()

    def close(self) -> None:
        """End the connection; the next request makes another one."""
        self._manager.clear()
        self._deadline.close()

    def send(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        token: str | None = None,
    ) -> Any:  # noqa: ANN401  # JSON
        """The JSON that is answered, None for an empty answer.

        `path` is taken in pieces, of which none can become more than one. Raises
        HubRefusedError for 400 to 499, HubUnavailableError for all else, and UsageError
        for what cannot be sent.
        """
        try:
            url = self._address + "".join(f"/{_piece(each)}" for each in path)
            if query:
                url = f"{url}?{urlencode(query)}"
            data = (
                None if body is None else json.dumps(body, ensure_ascii=False).encode()
            )
        except UnicodeEncodeError as error:
            raise UsageError("what was to be asked is no text") from error
        headers = _headers(token, has_body=data is not None)
        with self._turn, self._deadline:
            try:
                return self._read(self._ask(method, url, data, headers))
            except (OSError, urllib3.exceptions.HTTPError) as error:
                reason = _reason(error)
                if self._deadline.is_over:
                    reason = f"it did not answer within {self._seconds:g} seconds"
                raise self._unavailable(f"cannot be reached: {reason}") from error

    def _watched(
        self, kind: type[urllib3.HTTPConnectionPool]
    ) -> type[urllib3.HTTPConnectionPool]:
        """That kind of pool, whose sockets are known here."""
        of = self._deadline.watched(kind.ConnectionCls)  # type: ignore[arg-type]  # a protocol there
        return type(kind.__name__, (kind,), {"ConnectionCls": of})

    def _ask(
        self, method: str, url: str, data: bytes | None, headers: dict[str, str]
    ) -> urllib3.BaseHTTPResponse:
        return self._manager.urlopen(
            method,
            url,
            redirect=False,
            body=data,
            headers=headers,
            retries=False,
            # The deadline ends what has connected; these are in case that it cannot.
            timeout=urllib3.Timeout(connect=self._seconds, read=2 * self._seconds),
            preload_content=False,
            decode_content=False,
        )

    def _read(self, response: urllib3.BaseHTTPResponse) -> Any:  # noqa: ANN401  # JSON
        data = bytearray()
        for piece in response.stream(_PIECE):
            data += piece
            if len(data) > self._most_bytes:
                response.close()
                self._deadline.forget()
                raise self._unavailable(
                    f"answers with more than {self._most_bytes} bytes"
                )
        response.release_conn()
        if response.headers.get("Connection", "").lower() == "close":
            self._deadline.forget()
        if self._deadline.is_over:
            raise OSError
        if not _has_an_end(response):
            raise self._unavailable("does not say how long its answer is")
        if response.status not in range(HTTPStatus.OK, HTTPStatus.MULTIPLE_CHOICES):
            raise self._refusal(response, bytes(data))
        try:
            return parse_json(bytes(data)) if data else None
        except JsonError as error:
            raise self._unavailable(f"answers with no JSON: {error}") from error

    def _refusal(self, response: urllib3.BaseHTTPResponse, data: bytes) -> HubError:
        status = response.status
        message = _message(data) or _named(status)
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            place = response.headers.get("Location", "elsewhere")
            return self._unavailable(
                f"redirects to {_short(place)}, which is not followed: if that is the "
                "hub, name it as the address"
            )
        if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return HubRefusedError(f"the hub says: {message}", status)
        return self._unavailable(f"answers {status}: {message}")

    def _unavailable(self, what: str) -> HubUnavailableError:
        return HubUnavailableError(f"the hub {self._address} {what}")


def _has_an_end(response: urllib3.BaseHTTPResponse) -> bool:
    """Whether one can tell a whole answer from one that was cut off."""
    if response.status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
        return True
    return bool(
        {"content-length", "transfer-encoding"} & {*map(str.lower, response.headers)}
    )


def _headers(token: str | None, *, has_body: bool) -> dict[str, str]:
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": _AGENT,
    }
    if has_body:
        headers["Content-Type"] = "application/json"
    if token is not None:
        if not _TOKEN.fullmatch(token):
            raise HubUnavailableError("the token is none that a hub gives out")
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _piece(text: str) -> str:
    """A part of a path; `.` and `..`, which have a meaning there, are no parts."""
    if text in ("", ".", ".."):
        raise HubRefusedError(f"there is nothing of the name {text!r}", 404)
    return quote(text, safe="")


def _message(data: bytes) -> str:
    """What an error says: JSON's `error`, else the text (hub API: Errors)."""
    try:
        document = parse_json(data)
    except JsonError:
        return _short(data.decode(errors="replace").strip())
    found = document.get("error") if isinstance(document, dict) else None
    return _short(found) if isinstance(found, str) else ""


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _short(text: str) -> str:
    """One line of a text of somebody else's, not too long, and without controls."""
    line = visible(" ".join(text.split()).encode()).decode()
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]}…"


def _reason(error: BaseException) -> str:
    """Why, without the names of classes that the library puts around it."""
    inner = error.__cause__ or error.__context__ or getattr(error, "reason", None)
    while inner is not None and not isinstance(error, OSError):
        error, inner = inner, inner.__cause__ or inner.__context__
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return _short(str(error)) or type(error).__name__
