"""Tunnels that a session's supervisor asks for, in the place of a program.

A program that takes no notice of the proxy is led to it: its connection is made here
(`redlane-run`), and what comes of it is told as the program's own call would have it.
"""

import re
from dataclasses import dataclass

from mitmproxy import http
from mitmproxy.connection import Client
from mitmproxy.proxy.commands import StartHook

from redlane.engine.boundary import one_line
from redlane.proxy.answers import refusal_document
from redlane.wire.answer import Answer

__all__ = [
    "PADDING",
    "ReadingHook",
    "allow_leading",
    "is_led",
    "may_not_wait",
    "take_leading",
    "tell_error",
    "tell_refusal",
]

PADDING = 256 * 1024
"""How many bytes a socket is filled with for a program that does not wait: more than
is taken of them before they are read here (the wrapper has this number too)."""

_LED, _WAITS, _NO = "redlane-led", "redlane-waits", "no"
_ERRNO = re.compile(r"\[Errno ([0-9]+)\]")
_LONGEST = 800


@dataclass
class ReadingHook(StartHook):
    """Nothing is to be read of a client for now, or it is again."""

    client: Client
    is_on: bool


def may_not_wait(request: http.Request) -> bool:
    """Whether it is for a program that does not wait (O_NONBLOCK)."""
    return request.method == "CONNECT" and request.headers.get(_WAITS) == _NO


def take_leading(flow: http.HTTPFlow) -> None:
    """Take out what is said to us alone, and note whether a program is led here."""
    headers = flow.request.headers
    headers.pop(_WAITS, None)
    flow.metadata[_LED] = headers.pop(_LED, None) is not None


def allow_leading(flow: http.HTTPFlow, answer: Answer) -> None:
    """Note whether the programs of its session are led here at all.

    Where they are, whoever says so of itself gets what its own connection would.
    """
    flow.metadata[_LED] = bool(flow.metadata.get(_LED)) and answer.leads


def is_led(flow: http.HTTPFlow) -> bool:
    """Whether a tunnel is asked for in the place of a program."""
    return bool(flow.metadata.get(_LED))


def tell_refusal(response: http.Response, answer: Answer) -> None:
    """Say by which policy a tunnel is refused, and why, for who reads heads only."""
    reason = str(refusal_document(answer)["error"])
    response.headers["redlane-policy"] = _in_a_line(answer.policy or "builtin:proxy")
    response.headers["redlane-reason"] = _in_a_line(reason)


def tell_error(response: http.Response, reason: str) -> None:
    """Say with which error number a server was not reached, if there is one."""
    number = _ERRNO.search(reason)
    if number is not None:
        response.headers["redlane-errno"] = number[1]


def _in_a_line(text: str) -> str:
    return one_line(text).encode("ascii", "backslashreplace").decode()[:_LONGEST]
