"""Writes man(7) pages: every text is escaped here, and nowhere else.

What comes out says the same under groff and mandoc, and holds ASCII alone.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator

__all__ = ["bold", "italic", "literal", "paragraphs", "prose", "quoted", "term"]

_COLUMNS = 78
"""Within this a line of source is told from a mistake; man pages are read in diffs."""

_ESCAPES = {
    "\\": r"\(rs",
    # A bare one may be set as a hyphen, a quote or an accent that no shell reads.
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    '"': r"\(dq",
}


def literal(text: str) -> str:
    """Text as it is: nothing of it is markup, at the start of a line neither."""
    return rf"\&{_inline(text)}" if text.startswith(".") else _inline(text)


def _inline(text: str) -> str:
    return "".join(map(_escape, text))


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    point = ord(character)
    return character if point < 0x80 else rf"\[u{point:04X}]"  # noqa: PLR2004  # ASCII


def quoted(text: str) -> str:
    """Text as one argument of a macro."""
    return f'"{literal(text)}"'


def bold(text: str) -> str:
    """Text to be typed as it stands."""
    return rf"\fB{literal(text)}\fR"


def italic(text: str) -> str:
    """Text that stands for something else."""
    return rf"\fI{literal(text)}\fR"


def prose(text: str) -> str:
    """One paragraph, with what stands between backticks in bold."""
    pieces = re.split(r"`([^`]+)`", " ".join(text.split()))
    marked = "".join(
        _marked(piece) if number % 2 else _inline(piece)
        for number, piece in enumerate(pieces)
    )
    wrapped = textwrap.wrap(
        marked, _COLUMNS, break_long_words=False, break_on_hyphens=False
    )
    # A line that begins with a point would be a request.
    return "\n".join(rf"\&{line}" if line[0] == "." else line for line in wrapped)


def _marked(text: str) -> str:
    """A name in bold; of a page that it refers to, the section is not."""
    page = re.fullmatch(r"([\w-]+)(\(\d\))", text)
    return f"{bold(page[1])}{page[2]}" if page else bold(text)


def term(tag: str, text: str) -> Iterator[str]:
    """A tag, which is markup already, and the paragraph that explains it."""
    yield ".TP"
    yield tag
    yield prose(text) if text.strip() else r"\&"


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs that blank lines part; indented ones keep their lines."""
    for number, block in enumerate(re.split(r"\n\s*\n", text.strip("\n"))):
        lines = block.splitlines()
        if not "".join(lines).strip():
            continue
        if all(line.startswith("  ") for line in lines):
            yield from _example(lines, first=number == 0)
            continue
        if number:
            yield ".PP"
        yield prose(block)


def _example(lines: Iterable[str], *, first: bool) -> Iterator[str]:
    lines = list(lines)
    common = min(len(line) - len(line.lstrip()) for line in lines)
    yield from () if first else (".PP",)
    yield ".RS 4"
    yield ".EX"
    yield from (literal(line[common:].rstrip()) for line in lines)
    yield ".EE"
    yield ".RE"
