"""Bodies of here-documents: data, but for the expansions in them.

A body must end exactly where the shell ends it, or quotes in it would hide commands
after it. Where that is in doubt, its lines count as commands as well.
"""

import re
from dataclasses import dataclass

from redlane.contexts.shell.grammar.ansi import decode_escapes
from redlane.contexts.shell.grammar.syntax import Redirection
from redlane.contexts.shell.grammar.words import WordReader

__all__ = ["HereDocument", "read_bodies"]

_QUOTING = re.compile(r"[\\'\"]")
_QUOTED = re.compile(
    r"""\\\n|\\(?P<escaped>.)|\$'(?P<ansi>(?:[^'\\]|\\.)*)'|'(?P<single>[^']*)'"""
    r"""|\$?"(?P<double>(?:[^"\\]|\\.)*)\"""",
    re.DOTALL,
)
_ESCAPED = re.compile(r'\\([$`"\\])|\\\n')
_JOINED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_DOUBTFUL = re.compile(r"[$`\n]")


@dataclass(slots=True)
class HereDocument:
    """A here-document whose body is still to be read; `delimiter` is as written."""

    redirection: Redirection
    delimiter: str
    strips_tabs: bool


def read_bodies(reader: WordReader, pending: list[HereDocument]) -> None:
    """Read the bodies that begin at the reader's place, in their order."""
    for each in pending:
        written = each.delimiter.replace("\\\n", "")
        literal = _QUOTING.search(written) is not None
        start = reader.pos
        delimiter = _without_quotes(written)
        if each.strips_tabs:
            delimiter = delimiter.lstrip("\t")
        lines, end = _lines(reader, delimiter, each, literal=literal)
        body = "".join(lines)
        if literal:
            each.redirection.target = body
        else:
            each.redirection.target = reader.inner(body).here_document()
        if _DOUBTFUL.search(each.delimiter):
            _differ(reader)
        is_otherwise = reader.posix and "\n" not in delimiter
        if end is None or (is_otherwise and _DOUBTFUL.search(each.delimiter)):
            reader.look_ahead(len(reader.text) - start)
        else:
            reader.pos = end


def _differ(reader: WordReader) -> None:
    """Note that others read otherwise, on the line before the body."""
    reader.pos -= 1
    reader.differs()
    reader.pos += 1


def _without_quotes(delimiter: str) -> str:
    """What ends the body: the word without its quotes, and with nothing expanded."""
    return _QUOTED.sub(_unquoted, delimiter)


def _unquoted(found: "re.Match[str]") -> str:
    if found["ansi"] is not None:
        return decode_escapes(found["ansi"])
    if found["double"] is not None:
        return _ESCAPED.sub(lambda each: each[1] or "", found["double"])
    return found["escaped"] or found["single"] or ""


def _lines(
    reader: WordReader, delimiter: str, document: HereDocument, *, literal: bool
) -> tuple[list[str], int | None]:
    """The lines before the delimiter, and where the text goes on after it."""
    text, pos = reader.text, reader.pos
    lines: list[str] = []
    while pos < len(text):
        start = pos
        pos = _line_end(text, pos, joins=not literal)
        if reader.posix and "\n" in delimiter and text.startswith(delimiter, start):
            return lines, start + len(delimiter)
        line = text[start:pos]
        joined = line if literal else _JOINED.sub(r"\1", line)
        if document.strips_tabs:
            line, joined = line.lstrip("\t"), joined.lstrip("\t")
        if joined.rstrip("\n") == delimiter:
            return lines, pos
        if reader.is_in_substitution and line.startswith(delimiter) and ")" in line:
            _differ(reader)
            if not reader.posix:  # to bash that ends the body as well
                return lines, pos - len(line) + len(delimiter)
        lines.append(line)
    return lines, None


def _line_end(text: str, pos: int, *, joins: bool) -> int:
    """Where the line at `pos` ends; an unescaped backslash at its end joins lines."""
    while True:
        end = text.find("\n", pos)
        if end < 0:
            return len(text)
        line = text[pos:end]
        backslashes = len(line) - len(line.rstrip("\\"))
        if not joins or backslashes % 2 == 0:
            return end + 1
        pos = end + 1
