"""Other strings in the place of some, in JSON text that otherwise stays as it is."""

import json
import re
from collections.abc import Callable, Iterator

__all__ = ["elements", "fields", "respelled"]

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'(?P<string>"(?:[^"\\]++|\\.|)*+")(?P<colon>[ \t\n\r]*+:)?')
_decode = json.JSONDecoder().raw_decode

Span = tuple[int, int]


def fields(text: str, start: int = 0) -> Iterator[tuple[str, Span]]:
    """The fields of the object that begins at `start`, and where each value stands.

    `text` is known to be JSON, here and below.
    """
    place = _after(text, _after(text, start) + 1)
    while text[place] != "}":
        name, place = _decode(text, place)
        begin = _after(text, _after(text, place) + 1)
        _, end = _decode(text, begin)
        yield name, (begin, end)
        place = _next(text, end)


def elements(text: str) -> Iterator[Span]:
    """Where each element of an array stands."""
    place = _after(text, _after(text, 0) + 1)
    while text[place] != "]":
        _, end = _decode(text, place)
        yield place, end
        place = _next(text, end)


def respelled(text: str, change: Callable[[str, str], str]) -> str:
    """`text` with each string value changed that `change` makes another of.

    Strings are met in the order of the text; keys stay. `change` is given the key that
    stands before, which is the string's own unless an object stands between.
    """
    key = ""

    def put(found: re.Match[str]) -> str:
        nonlocal key
        before = json.loads(found["string"])
        if found["colon"] is not None:
            key = before
            return found[0]
        after = change(key, before)
        return found[0] if after == before else json.dumps(after, ensure_ascii=False)

    return _STRING.sub(put, text)


def _after(text: str, place: int) -> int:
    """Behind the white space at `place`."""
    found = _SPACE.match(text, place)
    return place if found is None else found.end()


def _next(text: str, place: int) -> int:
    """The next piece behind a value, past the comma if there is one."""
    place = _after(text, place)
    return _after(text, place + 1) if text[place] == "," else place
