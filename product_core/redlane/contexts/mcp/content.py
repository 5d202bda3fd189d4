"""An MCP `tools/call` as content (policy format: Contexts, McpTool).

Text policies see the call as compact JSON, with escapes decoded, and each string in
its arguments, so that a value cannot hide behind JSON's own spelling. Blocks and Flags
see what is encoded in it as well, and what its message says beside (`_meta`).
"""

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from redlane.decoding.body_texts import BodyTexts, texts_inside
from redlane.errors import ContentError
from redlane.model.content import Content, Reader, ToolCall
from redlane.model.policy import Action, Context
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["MOST_CHECKED", "ToolCallContent"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_OF_CALL = {"server", "tool", "arguments"}

MOST_CHECKED = 100
"""How many texts of one call a checker is asked about: each costs a process."""


class ToolCallContent(Content):
    """A tool call; `data` is what came, or the compact JSON of a call made here."""

    __slots__ = ("_beside", "_call", "_found", "_keys", "_values", "context", "data")

    def __init__(
        self,
        call: ToolCall,
        data: bytes | None = None,
        beside: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Take a call whose arguments are what strict JSON gives.

        `beside` is what its message says besides.
        """
        compact = _compact(call)
        self._beside = beside
        self._found: BodyTexts | None = None
        self.context = Context.MCP
        self.data = compact if data is None else data
        self._call = call
        strings = list(_strings(call.arguments))
        values = (text for text, is_key in strings if not is_key)
        keys = (text for text, is_key in strings if is_key)
        self._values = tuple(dict.fromkeys((compact, *map(str.encode, values))))
        self._keys = tuple(dict.fromkeys(map(str.encode, keys)))

    @classmethod
    def from_json(cls, data: bytes) -> "ToolCallContent":
        """Read `{"server": str, "tool": str, "arguments": object}`.

        Raises ContentError for anything else; `arguments` may be left out.
        """
        try:
            value = parse_json(data)
        except JsonError as error:
            raise ContentError(f"the tool call is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise ContentError("the tool call is not a JSON object")
        arguments = value.get("arguments")
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise ContentError("'arguments' of the tool call is not an object")
        server, tool = _name(value, "server"), _name(value, "tool")
        beside = {key: value[key] for key in value.keys() - _OF_CALL}
        return cls(ToolCall(server, tool, MappingProxyType(arguments)), data, beside)

    @property
    def call(self) -> ToolCall:
        """Server, tool and arguments."""
        return self._call

    def views(self, action: Action, reader: Reader) -> tuple[bytes, ...]:
        """The JSON and each string value; Block and Flag see all that is in it.

        Raises ContentError when there are more texts than checkers can be asked about.
        """
        if reader is Reader.CHECKER:
            if len(self._values) > MOST_CHECKED:
                count = len(self._values)
                raise ContentError(
                    f"the tool call has {count} texts, more than the {MOST_CHECKED} "
                    "that can be checked"
                )
            return self._values
        if action in (Action.BLOCK, Action.FLAG):
            every = (*self._values, *self._keys, *self._inside().texts)
            return tuple(dict.fromkeys(every))
        return self._values

    @property
    def problem(self) -> str | None:
        """Why the texts are not all that is in it, or None."""
        return self._inside().problem or None

    def _inside(self) -> BodyTexts:
        """What is encoded in it, and what stands beside the arguments."""
        if self._found is None:
            arguments = dict(self._call.arguments)
            whole = _encode([dict(self._beside), arguments]).encode()
            found = texts_inside(whole, "application/json")
            texts = tuple(each for each in found.texts if each != whole)
            self._found = BodyTexts(texts, found.problem)
        return self._found

    def rewritten(self, change: Callable[[bytes], bytes]) -> "ToolCallContent":
        """The call with every string value of its arguments changed.

        Raises ContentError when a change leaves something else than UTF-8.
        """
        changed = _changed(self._call.arguments, change)
        if not isinstance(changed, dict):  # pragma: no cover  # arguments are a mapping
            raise ContentError("'arguments' of the tool call is not an object")
        return ToolCallContent(
            ToolCall(self._call.server, self._call.tool, MappingProxyType(changed)),
            beside=self._beside,
        )


def _compact(call: ToolCall) -> bytes:
    """The canonical text of a call: no escapes but JSON's own, no space."""
    document = {
        "server": call.server,
        "tool": call.tool,
        "arguments": dict(call.arguments),
    }
    try:
        return _encode(document).encode()
    except (TypeError, ValueError) as error:
        raise ContentError(f"the tool call is not JSON: {error}") from None


def _name(value: Mapping[str, object], key: str) -> str:
    name = value.get(key)
    if not isinstance(name, str) or not name:
        raise ContentError(f"the tool call has no {key!r}")
    return name


def _strings(value: object) -> Iterator[tuple[str, bool]]:
    """Every string inside, and whether it is a key; depth is bounded by the reader."""
    if isinstance(value, str):
        yield value, False
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield key, True
            yield from _strings(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _strings(child)


def _changed(value: object, change: Callable[[bytes], bytes]) -> object:
    """The same value with every string in it changed; keys stay."""
    if isinstance(value, str):
        try:
            return change(value.encode()).decode()
        except UnicodeDecodeError:
            raise ContentError("a rewritten value is not UTF-8") from None
    if isinstance(value, Mapping):
        return {key: _changed(child, change) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(child, change) for child in value]
    return value
