"""Reads one shell word: its quotes, and the expansions in it.

The reader is lenient: it takes anything, reads every character once (but for the
bounded look ahead at arithmetic), and never raises but for `TooComplex`.
"""

import re

from redlane.contexts.shell.grammar.expansions import ExpansionReader
from redlane.contexts.shell.grammar.syntax import (
    Brace,
    Parameter,
    Part,
    Substitution,
    Word,
    joined,
    parts_of,
)

__all__ = ["WordReader"]

_RUN = re.compile(r"""[^ \t\n|&;<>()$`\\"'{},]+""")
_QUOTED_RUN = re.compile(r'[^"\\$`]+')
_END = frozenset(" \t\n|&;<>()")
_BLANKS = frozenset(" \t\n|")


class WordReader(ExpansionReader):
    """Reads words of `text` from `pos` on; what reads commands is its subclass."""

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
        return joined(parts)

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
        """Read over the closing quote; `"$@"` alone is no word where it is nothing."""
        start = len(parts)
        self._in_double_quotes(parts)
        if len(parts) != start + 1 or not _is_list(parts[start]):
            parts.insert(start, "")

    def _in_double_quotes(self, parts: list[Part]) -> None:
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

    def regexp(self) -> Word:
        """The operand of `=~`, in which parentheses and bars are no operators."""
        parts: list[Part] = []
        while self.pos < len(self.text):
            mark = self.text[self.pos]
            end = self._matching(self.pos) if mark == "(" else None
            if end is not None:
                inside = self.inner(self.text[self.pos + 1 : end]).here_document()
                parts += ("(", *parts_of(inside), ")")
                self.pos = end + 1
            elif mark == "|":
                parts.append(mark)
                self.pos += 1
            elif mark in _END:
                break
            else:
                self._unquoted(parts)
        return joined(parts)


def _is_list(part: Part) -> bool:
    """Whether a part in quotes comes to as many words as there are."""
    return (
        isinstance(part, Parameter)
        and "@" in (part.name, part.subscript)
        and not (part.operator or part.prefix)
    )
