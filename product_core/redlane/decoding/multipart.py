"""Multipart bodies: what each part is called, and what it holds."""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["MOST_PARTS", "Part", "TooManyPartsError", "is_multipart", "parts"]

MOST_PARTS = 1_000
_DEEPEST = 3

_BOUNDARY = re.compile(
    r"""boundary\s*=\s*(?:"([^"]{1,200})"|([^\s;,"]{1,200}))""", re.IGNORECASE
)
_LINE = re.compile(rb"(?:\A|\n)--([^\r\n]{1,200}?)[ \t]*\r?\n(?=[A-Za-z-]{1,80}:)")
_LINE_WITHIN = 65_536
_BLANK = re.compile(rb"\r?\n\r?\n")
_HEADER = rb"(?:\A|\n)%s[ \t]*:[ \t]*([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)"
_TYPE = re.compile(_HEADER % b"content-type", re.IGNORECASE)
_TRANSFER = re.compile(_HEADER % b"content-transfer-encoding", re.IGNORECASE)


class TooManyPartsError(Exception):
    """There are more parts than `MOST_PARTS`."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part; `content` has its transfer encoding taken off."""

    headers: bytes
    content: bytes
    content_type: str


def is_multipart(body: bytes, content_type: str) -> bool:
    """Whether `body` has parts, by what it is called or how it begins."""
    return _boundary(body, content_type) is not None


def parts(body: bytes, content_type: str) -> Iterator[Part]:
    """The parts of `body`, and those inside them; what stands before and after counts.

    Raises TooManyPartsError after `MOST_PARTS`.
    """
    for number, part in enumerate(_parts(body, content_type, _DEEPEST)):
        if number == MOST_PARTS:
            raise TooManyPartsError(f"the body has more than {MOST_PARTS} parts")
        yield part


def _parts(body: bytes, content_type: str, depth: int) -> Iterator[Part]:
    boundary = _boundary(body, content_type)
    if boundary is None:
        return
    for piece in body.split(b"--" + boundary, MOST_PARTS + 1):
        part = _part(piece)
        yield part
        if depth > 1 and is_multipart(part.content, part.content_type):
            yield from _parts(part.content, part.content_type, depth - 1)


def _boundary(body: bytes, content_type: str) -> bytes | None:
    named = _BOUNDARY.search(content_type)
    if named:
        boundary = (named[1] or named[2]).encode("utf-8", "replace")
        if boundary in body:
            return boundary
    found = _LINE.search(body[:_LINE_WITHIN]) if b"--" in body else None
    return found[1] if found else None


def _part(piece: bytes) -> Part:
    """What stands between two boundaries."""
    inner = piece.removesuffix(b"\n").removesuffix(b"\r")
    blank = _BLANK.search(inner)
    if blank is None:
        return Part(b"", inner, "")
    headers, content = inner[: blank.start()].strip(), inner[blank.end() :]
    kind, transfer = _TYPE.search(headers), _TRANSFER.search(headers)
    coding = transfer[1].strip().lower() if transfer else b""
    if coding == b"quoted-printable":
        content = binascii.a2b_qp(content)
    elif coding == b"base64":
        content = _from_base64(content)
    return Part(headers, content, kind[1].decode(errors="replace") if kind else "")


def _from_base64(content: bytes) -> bytes:
    try:
        return binascii.a2b_base64(content)
    except binascii.Error:
        return content
