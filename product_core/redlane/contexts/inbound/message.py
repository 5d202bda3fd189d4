"""A message to an agent as content: several texts, each of which may be rewritten."""

import re
from collections.abc import Callable, Iterator, Sequence

from redlane.contexts.inbound.content import InboundContent
from redlane.decoding.extraction import extracted
from redlane.decoding.sniffing import ContentKind, sniff

__all__ = ["MessageContent", "message_texts"]

_SHORT = 64 * 1024
_LETTER = rb"[!-%'-;=-\[\]-~]"
_PLAIN = re.compile(rb"(?:%b{0,39}+[ \t\n]++|)*+%b{0,39}+" % (_LETTER, _LETTER))
"""What extraction leaves as it is: no markup, no escapes, no words that may be encoded.

Most messages are of this kind, and are read in a fraction of the time.
"""

_OPEN = re.compile(
    rb"<(?:[!?]|/?(?:script|style|text|title|xmp|iframe|no|plain|template)"
    rb"|[^<>]*(?:[\"']|\Z))",
    re.IGNORECASE,
)
"""What may decide how the text behind it is read, until something ends it."""

_MOST_APART = 1_000

_TEXT_HEAD = b"." * 4096
"""Before strings of JSON, so that nothing takes them for a picture: they are text."""


class MessageContent(InboundContent):
    """The texts of a message, a line each; a Modify rewrites one after the other."""

    __slots__ = ("_made", "_values")

    def __init__(self, values: Sequence[bytes], texts: Sequence[bytes]) -> None:
        """Take texts, and what Block and Flag see besides."""
        super().__init__(b"\n".join(values), texts)
        self._values = tuple(values)
        self._made: MessageContent | None = None

    def rewritten(self, change: Callable[[bytes], bytes]) -> "MessageContent":
        """The message with each of its texts changed."""
        values = tuple(map(change, self._values))
        self._made = MessageContent(values, message_texts(values))
        return self._made

    def pieces(self, data: bytes) -> tuple[bytes, ...] | None:
        """The texts of what it was rewritten to last, if that is `data`."""
        made = self._made
        return made._values if made is not None and made.data == data else None  # noqa: SLF001  # its own kind


def message_texts(values: Sequence[bytes]) -> tuple[bytes, ...]:
    """The texts of a message in plain form, those inside JSON documents included."""
    joined = b"\n".join(values)
    if len(joined) <= _SHORT and _PLAIN.fullmatch(joined):
        found = {joined: None} if joined and not joined.isspace() else {}
    else:
        found = dict.fromkeys(_extracted(joined))
        if len(values) > 1:
            found |= dict.fromkeys(_apart(values))
    for value in values:
        if value.lstrip()[:1] in {b"{", b"["}:
            found |= dict.fromkeys(extracted(value, ContentKind.JSON))
    return tuple(found)


def _extracted(text: bytes) -> tuple[bytes, ...]:
    return extracted(text, sniff(_TEXT_HEAD + text))


def _apart(values: Sequence[bytes]) -> Iterator[bytes]:
    """The texts in plain form again, none of them in a comment or tag of another."""
    opening = [each for each in values if _OPEN.search(each)]
    if not opening:
        return
    odd = frozenset(opening)
    rest = [each for each in values if each not in odd]
    many = opening[_MOST_APART:]
    for each in (*opening[:_MOST_APART], b"\n".join(rest), b"\n".join(many)):
        yield from _extracted(each)
