"""Reads what a shell expands: parameters, substitutions, arithmetic, escapes.

What stands between these is read by the subclass, which knows words and quotes.
"""

import re
from abc import abstractmethod
from typing import Self

from redlane.contexts.shell.grammar.ansi import decode_escapes
from redlane.contexts.shell.grammar.syntax import (
    Arithmetic,
    Parameter,
    Part,
    Pipeline,
    Substitution,
    Word,
    joined,
    parts_of,
)

__all__ = ["MOST_NESTED", "ExpansionReader", "TooComplex", "TooManyMeanings"]

MOST_NESTED = 16
"""How deep command strings and substitutions may be nested."""

_BODY_RUN = re.compile(r"[^\\$`]+")
_CONTINUATION = re.compile(r"(?:\\\n)*")
_BACKQUOTED = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL)
_ANSI_QUOTED = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|[0-9@*#?!$-]")
_PARAMETER = re.compile(
    r"(?P<prefix>[!#](?=[A-Za-z_0-9@*]))?"
    r"(?P<name>[A-Za-z_][A-Za-z_0-9]*|[0-9]+|[@*#?!$-])"
    r"(?:\[(?P<subscript>[^]}$`\"'\\]*)\])?"
    r"(?P<operator>:?[-=?+]|\#\#?|%%?|//?|\^\^?|,,?|@|:)?"
)
_MATCHED = re.compile(
    r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|(?P<open>\()|(?P<close>\))""", re.DOTALL
)
_BRACKETS = re.compile(
    r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|(?P<open>\[)|(?P<close>\])""", re.DOTALL
)
_MATCHED_PLAINLY = re.compile(r"\\.|(?P<open>\()|(?P<close>\))", re.DOTALL)
_OF_PATTERNS = ("#", "%", "/", "^", ",")
_BLANKS_OR_OPERATORS = frozenset(" \t\n|&;()")


class TooComplex(Exception):  # noqa: N818  # it is a finding about content, no error
    """A bound was passed: the text cannot be judged, and must not be run."""


class TooManyMeanings(TooComplex):
    """Words that are known may be more than can be told apart."""


class ExpansionReader:
    """Reads expansions in `text` from `pos` on."""

    def __init__(self, text: str, depth: int = 0, *, posix: bool = False) -> None:
        if depth > MOST_NESTED:
            raise TooComplex(f"commands are nested more than {MOST_NESTED} deep")
        self.text = text
        self.pos = 0
        self.depth = depth
        self.posix = posix
        self.dialects: list[int] = []
        self.outer: ExpansionReader | None = None
        self._operand_of = ""
        self._parentheses = 0
        self._look_ahead = 4 * len(text) + 10_000

    @property
    def is_in_substitution(self) -> bool:
        """Whether a parenthesis ends what is being read."""
        return self._parentheses > 0

    def inner(self, text: str) -> Self:
        """A reader of a text inside this one's, one level deeper."""
        reader = type(self)(text, self.depth + 1, posix=self.posix)
        reader.outer = self
        return reader

    def differs(self) -> None:
        """Note in the outermost text that other shells read otherwise from here."""
        reader: ExpansionReader = self
        while reader.outer is not None:
            reader = reader.outer
        reader.dialects.append(reader.pos)

    @abstractmethod
    def _unquoted(self, parts: list[Part]) -> None:
        """Read one stretch outside quotes."""

    @abstractmethod
    def commands(self, closer: str = "") -> list[Pipeline]:
        """Read commands up to and over `closer`."""

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
        return joined(parts)

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
            end = self._matching(begin, _BRACKETS)
            end = len(text) if end is None else end
            self.pos = end + 1
            inside = self.inner(text[begin + 1 : end]).here_document()
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

    def _matching(
        self, start: int, pattern: "re.Pattern[str] | None" = None
    ) -> int | None:
        """Where the parenthesis at `start` closes, as far as it pays to look."""
        depth = 0
        self.differs()
        if pattern is None:
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
            begin = self.pos
            self._until("}", quoted=quoted)
            self.look_ahead(self.pos - begin)
            inside = self.text[begin : self.pos].removesuffix("}")
            body = self.inner(inside).commands()
            return Substitution("$", body, self.text[start : self.pos], quoted)
        self.pos = found.end()
        around, self._operand_of = self._operand_of, found["operator"] or ""
        argument = joined(self._until("}", quoted=quoted))
        self._operand_of = around
        if found["operator"] == ":" or (not found["operator"] and argument):
            argument = self._evaluated(argument)
        return Parameter(
            found["name"],
            self.text[start : self.pos],
            quoted,
            found["prefix"] or "",
            found["subscript"] or "",
            found["operator"] or "",
            argument,
        )

    def _evaluated(self, word: Word) -> Word:
        """A subscript or an offset: what is quoted in it is expanded once more."""
        parts: list[Part] = []
        for part in parts_of(word):
            if isinstance(part, str) and ("$(" in part or "`" in part):
                parts += parts_of(self.inner(str(part)).here_document())
            else:
                parts.append(part)
        return joined(parts)

    def _until(self, closer: str, *, quoted: bool) -> list[Part]:
        """Read parts up to and over `closer`."""
        parts: list[Part] = []
        while self.pos < len(self.text):
            mark = self.text[self.pos]
            if mark == closer:
                self.pos += 1
                return parts
            if mark == "'" and quoted and closer == "}":
                self._quoted_in_quotes(parts)
            elif mark in '\\$`"' or (not quoted and mark not in _BLANKS_OR_OPERATORS):
                self._unquoted(parts)
            else:
                parts.append(mark)
                self.pos += 1
        return parts

    def _quoted_in_quotes(self, parts: list[Part]) -> None:
        """Read a `'` in `"${name…}"`: to bash it always hides what ends the word.

        Only in a pattern it is a quote to all shells; elsewhere it is text, like what
        is in it. A plain POSIX shell hides nothing there.
        """
        is_pattern = self._operand_of[:1] in _OF_PATTERNS
        start = self.pos + 1
        end = self.text.find("'", start)
        if not is_pattern:
            self.differs()
        if end < 0 or (self.posix and not is_pattern):
            parts.append("'")
            self.pos = start
            return
        self.pos = end + 1
        inside = self.text[start:end]
        if is_pattern:
            parts.append(inside)
        else:
            parts += ("'", *parts_of(self.inner(inside).here_document()), "'")

    def _nested(self, closer: str) -> list[Pipeline]:
        """Read commands one level deeper in the same text."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise TooComplex(f"commands are nested more than {MOST_NESTED} deep")
        self._parentheses += closer == ")"
        body = self.commands(closer)
        self._parentheses -= closer == ")"
        self.depth -= 1
        return body
