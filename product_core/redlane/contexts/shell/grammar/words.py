"""Reads one shell word: quotes, escapes, expansions and substitutions.

The reader is lenient: it takes anything, reads every character once (but for the
bounded look ahead at arithmetic), and never raises but for `TooComplex`.
"""

import re
from abc import abstractmethod
from typing import Self

from redlane.contexts.shell.grammar.ansi import decode_escapes
from redlane.contexts.shell.grammar.syntax import (
    Arithmetic,
    Brace,
    Parameter,
    Part,
    Pipeline,
    Substitution,
    Word,
)

__all__ = ["MOST_NESTED", "TooComplex", "TooManyMeanings", "WordReader"]

MOST_NESTED = 16
"""How deep command strings and substitutions may be nested."""

_RUN = re.compile(r"""[^ \t\n|&;<>()$`\\"'{},]+""")
_QUOTED_RUN = re.compile(r'[^"\\$`]+')
_BODY_RUN = re.compile(r"[^\\$`]+")
_CONTINUATION = re.compile(r"(?:\\\n)*")
_BACKQUOTED = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL)
_ANSI_QUOTED = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|[0-9@*#?!$-]")
_PARAMETER = re.compile(
    r"(?P<prefix>[!#](?=[A-Za-z_0-9@*]))?"
    r"(?P<name>[A-Za-z_][A-Za-z_0-9]*|[0-9]+|[@*#?!$-])"
    r"(?:\[(?P<subscript>[^]$`\"'\\]*)\])?"
    r"(?P<operator>:?[-=?+]|\#\#?|%%?|//?|\^\^?|,,?|@|:)?"
)
_MATCHED = re.compile(
    r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|(?P<open>\()|(?P<close>\))""", re.DOTALL
)
_MATCHED_PLAINLY = re.compile(r"\\.|(?P<open>\()|(?P<close>\))", re.DOTALL)
_END = frozenset(" \t\n|&;<>()")
_BLANKS = frozenset(" \t\n|")
_BLANKS_OR_OPERATORS = frozenset(" \t\n|&;()")


class TooComplex(Exception):  # noqa: N818  # it is a finding about content, no error
    """A bound was passed: the text cannot be judged, and must not be run."""


class TooManyMeanings(TooComplex):
    """Words that are known may be more than can be told apart."""


class WordReader:
    """Reads words of `text` from `pos` on; what reads commands is its subclass."""

    def __init__(self, text: str, depth: int = 0, *, posix: bool = False) -> None:
        if depth > MOST_NESTED:
            raise TooComplex(f"commands are nested more than {MOST_NESTED} deep")
        self.text = text
        self.pos = 0
        self.depth = depth
        self.posix = posix
        self.dialects: list[int] = []
        self.outer: WordReader | None = None
        self._look_ahead = 4 * len(text) + 10_000

    def inner(self, text: str) -> Self:
        """A reader of a text inside this one's, one level deeper."""
        reader = type(self)(text, self.depth + 1, posix=self.posix)
        reader.outer = self
        return reader

    def differs(self) -> None:
        """Note in the outermost text that other shells read otherwise from here."""
        reader: WordReader = self
        while reader.outer is not None:
            reader = reader.outer
        reader.dialects.append(reader.pos)

    @abstractmethod
    def commands(self, closer: str = "") -> list[Pipeline]:
        """Read commands up to and over `closer`."""

    def word(self) -> Word:
        """The word that begins at `pos`."""
        run = _RUN.match(self.text, self.pos)
        if run:
            end = run.end()
            if end == len(self.text) or self.text[end] in _BLANKS:
                self.pos = end
                return run.group()
        parts: list[Part] = []
        while self.pos < len(self.text):
            if self.text[self.pos] not in _END:
                self._unquoted(parts)
            elif not self._process(parts):
                break
        return _joined(parts)

    def here_document(self) -> Word:
        """The whole text as the body of a here-document with expansions."""
        parts: list[Part] = []
        while self.pos < len(self.text):
            run = _BODY_RUN.match(self.text, self.pos)
            if run:
                parts.append(run.group())
                self.pos = run.end()
            else:
                self._active(parts, quoted=True, escapable="$`\\")
        return _joined(parts)

    def _unquoted(self, parts: list[Part]) -> None:
        """Read one stretch outside quotes; a lone metacharacter is taken as text."""
        text, start = self.text, self.pos
        run = _RUN.match(text, start)
        if run:
            parts.append(run.group())
            self.pos = run.end()
            return
        mark = text[start]
        if mark == "'":
            end = text.find("'", start + 1)
            end = len(text) if end < 0 else end
            parts.append(text[start + 1 : end])
            self.pos = end + 1
        elif mark == '"':
            self.pos += 1
            self._double_quoted(parts)
        elif mark in "{},":
            parts.append(Brace(mark))
            self.pos += 1
        elif mark in "<>":
            if not self._process(parts):
                parts.append(mark)
                self.pos += 1
        else:
            self._active(parts, quoted=False, escapable="")

    def _process(self, parts: list[Part]) -> bool:
        """Read a process substitution, if one begins here."""
        start = self.pos
        sign = self.text[start]
        if sign not in "<>" or not self.text.startswith("(", start + 1):
            return False
        self.pos += 2
        body = self._nested(")")
        parts.append(Substitution(sign, body, self.text[start : self.pos]))
        return True

    def _double_quoted(self, parts: list[Part]) -> None:
        parts.append("")
        while self.pos < len(self.text):
            run = _QUOTED_RUN.match(self.text, self.pos)
            if run:
                parts.append(run.group())
                self.pos = run.end()
            elif self.text[self.pos] == '"':
                self.pos += 1
                return
            else:
                self._active(parts, quoted=True, escapable='$`"\\')

    def _active(self, parts: list[Part], *, quoted: bool, escapable: str) -> None:
        """Read what begins with a backslash, a dollar or a backquote."""
        mark = self.text[self.pos]
        if mark == "\\":
            self._escaped(parts, quoted=quoted, escapable=escapable)
        elif mark == "$":
            self._dollar(parts, quoted=quoted)
        elif mark == "`":
            self._backquoted(parts, quoted=quoted)
        else:
            parts.append(mark)
            self.pos += 1

    def _escaped(self, parts: list[Part], *, quoted: bool, escapable: str) -> None:
        following = self.text[self.pos + 1 : self.pos + 2]
        self.pos += 2
        if following == "\n":
            return
        if quoted and following not in escapable:
            parts.append("\\")
        parts.append(following or "\\")

    def _backquoted(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.pos
        found = _BACKQUOTED.match(self.text, start + 1)
        end = found.end() if found else len(self.text)
        self.pos = end + 1
        inside = re.sub(
            r'\\([`\\$"])' if quoted else r"\\([`\\$])",
            r"\1",
            self.text[start + 1 : end],
        )
        body = self.inner(inside).commands()
        source = self.text[start : self.pos]
        parts.append(Substitution("$", body, source, quoted))

    def _dollar(self, parts: list[Part], *, quoted: bool) -> None:
        text, start = self.text, self.pos
        after = _CONTINUATION.match(text, start + 1)
        begin = after.end() if after else start + 1
        mark = text[begin : begin + 1]
        name = _NAME.match(text, begin)
        if name:
            self.pos = name.end()
            parts.append(Parameter(name.group(), "$" + name.group(), quoted))
        elif mark == "(":
            self.pos = begin + 1
            parts.append(self._substitution(start, quoted=quoted))
        elif mark == "{":
            self.pos = begin + 1
            parts.append(self._parameter(start, quoted=quoted))
        elif mark == "[" and not self.posix:
            self.differs()
            self.pos = begin + 1
            inside = _joined(self._until("]", quoted=True))
            parts.append(Arithmetic(inside, text[start : self.pos], quoted))
        elif mark == "'" and not quoted and not self.posix:
            self.differs()
            found = _ANSI_QUOTED.match(text, begin + 1)
            self.pos = (found.end() if found else len(text)) + 1
            parts.append(decode_escapes(found.group() if found else ""))
        else:
            self.pos = begin
            if mark != '"' or quoted:
                parts.append("$")

    def _substitution(self, start: int, *, quoted: bool) -> Part:
        """Read after `$(`: arithmetic if it closes with `))`, else commands."""
        if self.text.startswith("(", self.pos):
            inside = self.arithmetic()
            if inside is not None:
                return Arithmetic(inside, self.text[start : self.pos], quoted)
            end = self._matching(self.pos - 1)
            if end is not None:
                return self._bounded(start, end, quoted=quoted)
        body = self._nested(")")
        return Substitution("$", body, self.text[start : self.pos], quoted)

    def _bounded(self, start: int, end: int, *, quoted: bool) -> Part:
        """A `$((` that is no arithmetic ends where its parenthesis does."""
        inside = self.text[self.pos : end]
        body = self.inner(inside).commands()
        self.pos = end + 1
        return Substitution("$", body, self.text[start : self.pos], quoted)

    def arithmetic(self) -> Word | None:
        """Read from the second `(` of `((` over `))`; None if it is no arithmetic."""
        end = self._matching(self.pos)
        if end is None or not self.text.startswith(")", end + 1):
            return None
        inside = self.text[self.pos + 1 : end]
        self.pos = end + 2
        return self.inner(inside).here_document()

    def _matching(self, start: int) -> int | None:
        """Where the parenthesis at `start` closes, as far as it pays to look."""
        depth = 0
        self.differs()
        pattern = _MATCHED_PLAINLY if self.posix else _MATCHED
        for found in pattern.finditer(self.text, start):
            depth += found.lastgroup == "open"
            depth -= found.lastgroup == "close"
            if depth == 0:
                self.look_ahead(found.end() - start)
                return found.start()
        self.look_ahead(len(self.text) - start)
        return None

    def look_ahead(self, length: int) -> None:
        """Account for text that is read twice, so that reading stays linear."""
        self._look_ahead -= length
        if self._look_ahead < 0:
            raise TooComplex("the text is too entangled to be read")

    def _parameter(self, start: int, *, quoted: bool) -> Part:
        """Read after `${`; a text that names no parameter is read as commands."""
        found = _PARAMETER.match(self.text, self.pos)
        if not found:
            body = self._nested("}")
            return Substitution("$", body, self.text[start : self.pos], quoted)
        self.pos = found.end()
        argument = _joined(self._until("}", quoted=quoted))
        return Parameter(
            found["name"],
            self.text[start : self.pos],
            quoted,
            found["prefix"] or "",
            found["subscript"] or "",
            found["operator"] or "",
            argument,
        )

    def _until(self, closer: str, *, quoted: bool) -> list[Part]:
        """Read parts up to and over `closer`."""
        parts: list[Part] = []
        while self.pos < len(self.text):
            mark = self.text[self.pos]
            if mark == closer:
                self.pos += 1
                return parts
            if mark in '\\$`"' or (not quoted and mark not in _BLANKS_OR_OPERATORS):
                self._unquoted(parts)
            else:
                parts.append(mark)
                self.pos += 1
        return parts

    def _nested(self, closer: str) -> list[Pipeline]:
        """Read commands one level deeper in the same text."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise TooComplex(f"commands are nested more than {MOST_NESTED} deep")
        body = self.commands(closer)
        self.depth -= 1
        return body


def _joined(parts: list[Part]) -> Word:
    """The parts as one word: a string if nothing in it needs to be expanded."""
    braces = Brace.OPEN in parts and Brace.CLOSE in parts
    whole: list[Part] = []
    for part in parts:
        if isinstance(part, str) and (not braces or not isinstance(part, Brace)):
            text = str(part)
            if whole and type(whole[-1]) is str:
                whole[-1] += text
            else:
                whole.append(text)
        else:
            whole.append(part)
    if not whole:
        return ""
    if len(whole) == 1 and type(whole[0]) is str:
        return whole[0]
    return tuple(whole)
