"""What a server's tools take, as it has listed them: rewritten arguments must fit.

A Modify makes other strings of strings, so only what a schema says of strings is looked
at, and only of those that were changed. What cannot be told is told as a problem.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from redlane.contexts.mcp.frames import MessageFrame, MessageKind
from redlane.errors import RedlaneError
from redlane.patterns import compile_pattern

__all__ = ["PARAMETER", "Schemas"]

PARAMETER = "mcp-param-"
"""How fields of a head begin that repeat arguments, as `x-mcp-header` names them."""

_HEADER = "x-mcp-header"

_MOST_TOOLS = 1_000
_DEEPEST = 32
_UNTOLD = ("not", "if", "$dynamicRef", "patternProperties", "dependentSchemas")
_REFERENCE = "#/"


class Schemas:
    """The schemas of a server's tools, by name."""

    def __init__(self) -> None:
        """Nothing is listed yet."""
        self._known: dict[str, Mapping[str, Any]] = {}
        self._left_out: dict[str, str] = {}

    def learn(self, frame: MessageFrame) -> None:
        """Take up the tools that an answer lists."""
        for message in frame.messages:
            if message.kind is not MessageKind.RESPONSE:
                continue
            for name, schema in _listed(message.body.get("result")):
                if name in self._known or len(self._known) < _MOST_TOOLS:
                    self._known[name] = schema

    def leave_out(self, tool: str, reason: str) -> None:
        """Know that a tool was left out of the list that the client has."""
        if tool in self._left_out or len(self._left_out) < _MOST_TOOLS:
            self._left_out[tool] = reason

    def let_in(self, tool: str) -> None:
        """Know that a tool is in that list again."""
        self._left_out.pop(tool, None)

    def left_out(self, tool: object) -> str:
        """Why a tool was left out; "" for one that was not."""
        return self._left_out.get(tool, "") if isinstance(tool, str) else ""

    def fields(self, tool: object) -> dict[str, str]:
        """The argument that a field of a head repeats, by that in lower case."""
        schema = self._known.get(tool, {}) if isinstance(tool, str) else {}
        properties = schema.get("properties")
        return {
            f"{PARAMETER}{each[_HEADER].lower()}": name
            for name, each in (
                properties.items() if isinstance(properties, dict) else ()
            )
            if isinstance(each, dict) and isinstance(each.get(_HEADER), str)
        }

    def problem(self, tool: object, before: object, after: object) -> str | None:
        """Why the arguments `after` do not fit, of which some strings were changed."""
        schema = self._known.get(tool) if isinstance(tool, str) else None
        if schema is None:
            return None
        return next(_problems(_Place(schema, schema), before, after), None)


def _listed(result: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    tools = result.get("tools") if isinstance(result, dict) else None
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            name, schema = tool.get("name"), tool.get("inputSchema")
            if isinstance(name, str) and isinstance(schema, dict):
                yield name, schema


class _Place:
    """A schema inside of another, which its references are resolved in."""

    __slots__ = ("depth", "root", "schema")

    def __init__(self, root: Mapping[str, Any], schema: object, depth: int = 0) -> None:
        self.root = root
        self.schema = schema if isinstance(schema, dict) else {}
        self.depth = depth

    def at(self, schema: object) -> "_Place":
        return _Place(self.root, schema, self.depth + 1)

    def property(self, name: str) -> "_Place":
        properties = self.schema.get("properties")
        if isinstance(properties, dict) and name in properties:
            return self.at(properties[name])
        return self.at(self.schema.get("additionalProperties"))

    def item(self, index: int) -> "_Place":
        first = self.schema.get("prefixItems")
        if isinstance(first, list) and index < len(first):
            return self.at(first[index])
        return self.at(self.schema.get("items"))

    def referred(self) -> "_Place | None":
        """What `$ref` leads to, if that stands in the same document."""
        found: object = self.root
        path = self.schema["$ref"]
        if path == "#":
            return self.at(found)
        if not isinstance(path, str) or not path.startswith(_REFERENCE):
            return None
        for name in path.removeprefix(_REFERENCE).split("/"):
            key = name.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        return None if found is None else self.at(found)


def _problems(place: _Place, before: object, after: object) -> Iterator[str]:
    """What is wrong with what was changed; the first is enough."""
    if before == after:
        return
    if place.depth > _DEEPEST or any(each in place.schema for each in _UNTOLD):
        yield "its schema cannot be checked"
        return
    yield from _of_others(place, before, after)
    if isinstance(after, str):
        yield from _of_text(place.schema, after)
    elif isinstance(after, dict) and isinstance(before, dict):
        for name, value in after.items():
            yield from _problems(place.property(name), before.get(name), value)
    elif isinstance(after, list) and isinstance(before, list):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _problems(place.item(index), old, new)


def _of_others(place: _Place, before: object, after: object) -> Iterator[str]:
    """What is wrong by the schemas that this one refers to, or is made of."""
    schema = place.schema
    if "$ref" in schema:
        referred = place.referred()
        if referred is None:
            yield "its schema refers to another document"
        else:
            yield from _problems(referred, before, after)
    for each in _listed_in(schema, "allOf"):
        yield from _problems(place.at(each), before, after)
    for key in ("anyOf", "oneOf"):
        choices = _listed_in(schema, key)
        found = [next(_problems(place.at(each), before, after), "") for each in choices]
        if found and all(found):
            yield found[0]


def _listed_in(schema: Mapping[str, Any], key: str) -> list[object]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _of_text(schema: Mapping[str, Any], text: str) -> Iterator[str]:
    """What is wrong with one string."""
    kind = schema.get("type", "string")
    if "string" not in (kind if isinstance(kind, list) else [kind]):
        yield "its schema takes no text there"
    allowed = schema.get("enum")
    if isinstance(allowed, list) and text not in allowed:
        yield f"{text!r} is none of the values that its schema lists"
    if "const" in schema and schema["const"] != text:
        yield f"{text!r} is not the value that its schema fixes"
    most, least = schema.get("maxLength"), schema.get("minLength")
    if isinstance(most, int | float) and len(text) > most:
        yield f"it is longer than the {most} characters of its schema"
    if isinstance(least, int | float) and len(text) < least:
        yield f"it is shorter than the {least} characters of its schema"
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not _matches(pattern, text):
        yield "it does not match the pattern of its schema"


def _matches(pattern: str, text: str) -> bool:
    """Whether it does; a pattern that is none of ours matches nothing."""
    try:
        return compile_pattern(pattern).search(text.encode())
    except RedlaneError:
        return False
