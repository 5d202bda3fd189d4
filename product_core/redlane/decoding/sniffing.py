"""What a body is, by its bytes alone (policy format: Inbound scanning settings)."""

import re
from enum import StrEnum

__all__ = ["ContentKind", "sniff"]

_HEAD = 4_096
_MOST_CONTROL = 0.1
"""The part of control characters above which a head is no text."""

_MOST_OF_FORMAT = 0.02
_SHORT = 64
"""A head so short that has the beginning of a format is of that format."""

_BEGINNINGS = (
    "1f8b 28b52ffd 504b0304 504b0506 504b0708 25504446 89504e47 ffd8ff 47494638 "
    "7f454c46 424d5a 425a68 fd377a585a00 377abcaf271c 52617221 4f676753 664c6143 "
    "494433 1a45dfa3 774f4646 774f4632 00010000 0061736d cafebabe d0cf11e0"
)
"""How gzip, zstd, zip, PDF, PNG, JPEG, GIF, ELF, bzip2, xz, 7z, rar, Ogg, FLAC, MP3,
Matroska, WOFF, TrueType, WebAssembly, Java classes and OLE documents begin."""

_BINARY = tuple(map(bytes.fromhex, _BEGINNINGS.split()))

_CONTROL = bytes(set(range(0x20)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"
_SPACE = b" \t\r\n\x0b\x0c"

_JSON = re.compile(
    rb"""(?:\)\]\}'[^\n]{0,32}\n)?\s*
    (?: \{\s*["}] | \[\s*(?:["\[{\]]|-?[0-9][0-9.eE+-]*\s*[,\]]|(?:true|false|null)\b)
      | "(?:[^"\\\n]|\\.){0,4096}"\s*$ )""",
    re.VERBOSE,
)
_TAGS = (
    "a abbr address article aside audio b base blockquote body br button canvas code "
    "center dd details div dl dt em embed fieldset figure font footer form frame h1 h2 "
    "h3 h4 h5 h6 head header hr html i iframe img input ins label li link main meta "
    "nav noscript object ol option p pre script section select small span strong style "
    "sub sup svg table tbody td template text textarea tfoot th thead title tr tt u ul "
    "video xmp"
)
_MARKUP = re.compile(
    rb"<(?:!--|!\[CDATA\[|!doctype|\?xml|/?(?:%s)[\s/>])"
    % _TAGS.replace(" ", "|").encode(),
    re.IGNORECASE,
)


class ContentKind(StrEnum):
    """How text is taken out of a body."""

    HTML = "html"
    JSON = "json"
    TEXT = "text"
    BINARY = "binary"


def sniff(data: bytes) -> ContentKind:
    """The kind of `data`, which is in UTF-8 if it is text in a known charset.

    Markup may stand anywhere in a text, so that nobody can hide it behind a sentence.
    """
    start = data.removeprefix(b"\xef\xbb\xbf")[:_HEAD]
    if _is_binary(start):
        return ContentKind.BINARY
    if _JSON.match(start):
        return ContentKind.JSON
    return ContentKind.HTML if _MARKUP.search(data) else ContentKind.TEXT


def _is_binary(head: bytes) -> bool:
    """Whether a head is no text; one that begins as a format does is soon none.

    Of a text behind such a beginning hardly any byte is not one of a text.
    """
    controls = len(head) - len(head.translate(None, _CONTROL))
    if not head.startswith(_BINARY):
        return controls > len(head) * _MOST_CONTROL
    if len(head) < _SHORT:
        return True
    replaced = head.decode(errors="replace").count("\ufffd")
    return controls + replaced > len(head) * _MOST_OF_FORMAT
