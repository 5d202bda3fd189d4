"""The text of a body that a model could read, in normal form.

Nothing is left out for being invisible: an agent that is fed the source reads comments
and hidden elements like any other text.
"""

import re
from collections.abc import Iterable

from redlane.decoding.binary_text import decoded_runs
from redlane.decoding.entities import without_entities
from redlane.decoding.json_strings import json_strings, without_escapes
from redlane.decoding.markup import read_markup
from redlane.decoding.normal import hidden, plain
from redlane.decoding.sniffing import ContentKind, sniff

__all__ = ["extracted"]

_ESCAPED = re.compile(r"\\(?:u\{?|x)[0-9a-fA-F]{2}")

_TOLD = 2
"""How many of the texts of a page may hide others: the next are code, and the first one
once more."""

_LEAST_ARMOURED = 40
"""The shortest run of base64 that is decoded: shorter ones are words."""


def extracted(data: bytes, kind: ContentKind) -> tuple[bytes, ...]:
    """The texts in `data`, which is UTF-8: what is most read comes first.

    What tag characters and base64 spell are further texts. There is none in BINARY.
    """
    if kind is ContentKind.BINARY:
        return ()
    text = data.decode(errors="replace").removeprefix("\ufeff")
    found = [without_entities(each) for each in _read(text, kind)]
    whole = "\n".join(found[:_TOLD])
    further = (hidden(whole), "\n".join(decoded_runs(whole, _LEAST_ARMOURED)))
    texts = map(plain, (*found, *further))
    return tuple(
        dict.fromkeys(
            each.encode("utf-8", "replace")
            for each in texts
            if each and not each.isspace()
        )
    )


def _read(text: str, kind: ContentKind) -> Iterable[str]:
    if kind is ContentKind.HTML:
        found = read_markup(text)
        aside, code = "\n".join(found.aside), "\n".join(found.code)
        return found.text, aside, code, found.run_on
    if kind is ContentKind.JSON:
        strings = "\n".join(json_strings(text))
        if sniff(strings.encode("utf-8", "replace")) is ContentKind.HTML:
            return strings, *_read(strings, ContentKind.HTML)
        return (strings,)
    # What is no JSON as a whole may be it line by line, as events are.
    return (text, without_escapes(text)) if _ESCAPED.search(text) else (text,)
