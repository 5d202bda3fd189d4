"""What a client gets in the place of what it asked for."""

import json
import re

from mitmproxy import http
from mitmproxy.net.http import http1

from redlane.wire.answer import Answer, WhyUnjudged

__all__ = [
    "error_answer",
    "error_page",
    "error_response",
    "refusal_document",
    "refusal_response",
]

_QUOTE = re.compile(r"""\s?(?:bytearray\()?b?["'].*""", re.DOTALL)
_OTHERS_WORDS = (
    ("mitmproxy received an HTTP CONNECT request", "there is no tunnel in a tunnel"),
    (" Disable the ", ""),
    (" and mitmproxy cannot agree", " and the proxy agree on no version of TLS"),
)
"""Where mitmproxy begins to speak of itself, and what is said in its place."""

_FORBIDDEN, _CREDENTIALS_WANTED, _BAD_GATEWAY, _UNAVAILABLE = 403, 407, 502, 503


def refusal_response(answer: Answer) -> http.Response:
    """403 for a Block, 407 for credentials, 503 where nobody could judge.

    SDKs of model providers take `x-should-retry` at its word; without it some ask again
    and again.
    """
    if answer.refused is WhyUnjudged.CREDENTIAL:
        wanted = {"proxy-authenticate": 'Basic realm="Redlane"'}
        return _response(_CREDENTIALS_WANTED, answer, wanted)
    if answer.refused:
        return _response(_UNAVAILABLE, answer, {"retry-after": "5"})
    return _response(_FORBIDDEN, answer, {"x-should-retry": "false"})


def refusal_document(answer: Answer) -> dict[str, object]:
    """The refusal as JSON: who decided it, and why."""
    if answer.refused is WhyUnjudged.CREDENTIAL:
        message = (
            "Redlane's proxy serves the sessions of `redlane run`, each with its own "
            "credentials"
        )
    elif answer.refused:
        message = f"Redlane cannot judge this, so it is blocked: {answer.reason}"
    else:
        message = f"blocked by Redlane: {answer.reason}"
    document: dict[str, object] = {
        "error": message,
        "policy": answer.policy,
        "reason": answer.reason,
    }
    if answer.suggestion:
        document["suggestion"] = answer.suggestion
    if answer.event:
        document["event"] = answer.event
    return document


def _response(status: int, answer: Answer, headers: dict[str, str]) -> http.Response:
    text = json.dumps(refusal_document(answer), ensure_ascii=False) + "\n"
    fields = {
        "content-type": "application/json",
        "cache-control": "no-store",
        **headers,
    }
    return http.Response.make(status, text.encode(), fields)


def error_page(status: int, message: str) -> bytes:
    """What a client is told that the proxy cannot serve, as JSON.

    What a message quotes may be a server's, which nobody has judged: it is left out.
    """
    if not message.startswith("[Errno "):
        message = _QUOTE.sub("…", message)
    for begins, instead in _OTHERS_WORDS:
        before, found, _ = message.partition(begins)
        message = before + instead if found else message
    text = f"Redlane's proxy: {message}"
    document = {"error": text, "status": status}
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def error_answer(status: int, page: bytes) -> http.Response:
    """The same as a response."""
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return http.Response.make(status, page, headers)


def error_response(status: int, message: str = "") -> bytes:
    """The same as the bytes of HTTP/1, which end the connection.

    That of a server that has not answered breaks off (see `JudgedStream`).
    """
    headers = {"connection": "close", "content-type": "application/json"}
    body = error_page(status, message)
    response = http.Response.make(status, body, headers)
    if status == _BAD_GATEWAY:
        response.headers["content-length"] = str(len(body) + 1)
    return bytes(http1.assemble_response(response))
