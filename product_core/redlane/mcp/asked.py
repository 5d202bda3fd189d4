"""Which requests of the client are with the server, so that only they are answered."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Protocol

from redlane.contexts.mcp.frames import (
    JsonRpcMessage,
    Key,
    MessageFrame,
    MessageKind,
    key_of,
)
from redlane.mcp.tool_lists import is_listing

__all__ = ["Asked", "Replayed", "Taking"]

_MOST = 10_000
_MOST_CANCELLED = 1_000
_LONGEST_NAME = 200


class Taking(Protocol):
    """Tells what answers are answers to."""

    def take(self, messages: Iterable[JsonRpcMessage]) -> tuple[str, ...] | None:
        """What was asked; None when one was never asked for."""


class Asked:
    """Requests that wait for an answer; those cancelled may get one all the same."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self._waiting: dict[Key, str] = {}
        self._cancelled: OrderedDict[Key, str] = OrderedDict()

    @property
    def is_full(self) -> bool:
        """Whether the server owes too many answers."""
        return len(self._waiting) >= _MOST

    @property
    def ids(self) -> tuple[object, ...]:
        """The ids of what waits."""
        return tuple(value for _, value in self._waiting)

    def waits_for(self, message: JsonRpcMessage) -> bool:
        """Whether there is no answer yet to a request."""
        return (
            message.kind is MessageKind.REQUEST and key_of(message.id) in self._waiting
        )

    def add(self, frame: MessageFrame) -> None:
        """What is in `frame` has gone to the server."""
        for message in frame.messages:
            if message.kind is MessageKind.REQUEST:
                key = key_of(message.id)
                before = self._waiting.get(key) or self._cancelled.pop(key, None)
                # An answer to either may come: tools must not pass for something else.
                lists = before is not None and is_listing(before)
                self._waiting[key] = before if lists and before else _name(message)

    def cancel(self, key: Key) -> None:
        """An answer may come or not."""
        name = self._waiting.pop(key, None)
        if name is not None:
            self._cancelled[key] = name
            if len(self._cancelled) > _MOST_CANCELLED:
                self._cancelled.popitem(last=False)

    def take(self, messages: Iterable[JsonRpcMessage]) -> tuple[str, ...] | None:
        """What these answers are answers to; None when one was never asked for."""
        names = []
        for message in messages:
            key = key_of(message.id)
            name = self._waiting.pop(key, None) or self._cancelled.pop(key, None)
            if name is None and _is_about_nothing(message):
                name = "what it could not read"
            if name is None:
                return None
            names.append(name)
        return tuple(names)


class Replayed:
    """The same, where a client has a stream sent again: it may know what we forgot."""

    def __init__(self, asked: Asked) -> None:
        """Answers to what is in `asked`, and to what was before."""
        self._asked = asked

    def take(self, messages: Iterable[JsonRpcMessage]) -> tuple[str, ...]:
        """What was asked."""
        names: list[str] = []
        for each in messages:
            names += self._asked.take([each]) or (_guess(each),)
        return tuple(names)


def _is_about_nothing(answer: JsonRpcMessage) -> bool:
    """Whether it is an error about what the server could not read, and no more."""
    body = answer.body
    return answer.id is None and "error" in body and "result" not in body


def _guess(answer: JsonRpcMessage) -> str:
    """What an answer looks like; one that lists tools is not to pass as another."""
    result = answer.body.get("result")
    names = result if isinstance(result, dict) else ()
    listing = any(each.casefold() == "tools" for each in names)
    return "tools/list" if listing else "what was asked before"


def _name(message: JsonRpcMessage) -> str:
    """What a person calls a request: its method, and what it is about."""
    about = message.params.get("name", message.params.get("uri"))
    text = f"{message.method} {about}" if isinstance(about, str) else message.method
    return str(text)[:_LONGEST_NAME]
