"""Compiled regular expressions, cheap to make by the thousand."""

from functools import cached_property

import re2

from redlane.patterns.dialect import Translation, translate, translate_as
from redlane.patterns.refusals import PatternError, explain

__all__ = ["CompiledPattern", "compile_pattern"]

_MEMORY = (2 << 20, 32 << 20)
"""What RE2 may use for one pattern, in bytes: the first that its program fits into."""

_MOST_INSTRUCTIONS = _MEMORY[-1] * 2 // 3 // 4 // 8
"""RE2 gives two thirds of the memory to the program, and a quarter of that to its
instructions of 8 bytes."""

_PER_CHARACTER = 12
_PER_CLASS = 1_600


class CompiledPattern:
    """A regular expression, to be searched for in valid UTF-8.

    It has up to four forms, each of which matches wherever the next one does: `outline`
    (repeats uncounted), `loose` (classes take all that is not ASCII) and the exact one.
    Asked about ASCII text, loose and exact mean the same. RE2 compiles a form when it
    is first needed: the exact one may take a hundred times longer than the loose one.
    Groups are captured only for a replacement that uses them, since that is slow.

    Before the first search it is small: what is compiled here only to see whether it
    fits is not kept.
    """

    def __init__(self, source: str) -> None:
        """Read `source`, or raise PatternError with one line."""
        self.source = source
        loose = translate_as(source, loose=True)
        self.loose: bytes = loose.text.encode()
        self.outline: bytes = loose.outline.encode()
        self.has_classes = loose.classes > 0
        _check_syntax(self.loose)
        if _most_instructions(loose, loose.properties) > _MOST_INSTRUCTIONS:
            _compile(self.loose)
        everything = loose.properties + loose.classes
        if _most_instructions(loose, everything) > _MOST_INSTRUCTIONS:
            _compile(translate(source).encode())

    @cached_property
    def _loose_engine(self) -> "re2._Regexp":
        return _compile(self.loose)

    @cached_property
    def _exact_engine(self) -> "re2._Regexp":
        if not self.has_classes:
            return self._loose_engine
        return _compile(translate(self.source).encode())

    @cached_property
    def _loose_capturing(self) -> "re2._Regexp":
        return _compile(self.loose, captures=True)

    @cached_property
    def _exact_capturing(self) -> "re2._Regexp":
        if not self.has_classes:
            return self._loose_capturing
        return _compile(translate(self.source).encode(), captures=True)

    def engine(self, text: bytes, *, captures: bool = False) -> "re2._Regexp":
        """The RE2 object for `text`; PatternError if memory forbids it."""
        if captures:
            return self._loose_capturing if text.isascii() else self._exact_capturing
        return self._loose_engine if text.isascii() else self._exact_engine

    def search(self, text: bytes) -> bool:
        """Whether the pattern matches anywhere in `text`."""
        if self._loose_engine.search(text) is None:
            return False
        engine = self.engine(text)
        return engine is self._loose_engine or engine.search(text) is not None

    def confirms(self, text: bytes) -> bool:
        """Whether the pattern matches in `text`, where its outline does."""
        if self.outline == self.loose and (not self.has_classes or text.isascii()):
            return True
        return self.search(text)


def compile_pattern(pattern: str) -> CompiledPattern:
    """The pattern, ready to use; PatternError says what is wrong and how to mend it."""
    return CompiledPattern(pattern)


def _most_instructions(pattern: Translation, classes: int) -> int:
    """An upper bound of a program's size, from the text of its pattern."""
    once = _PER_CHARACTER * (len(pattern.pattern) + 1) + _PER_CLASS * classes
    return once * pattern.expansion


def _check_syntax(pattern: bytes) -> None:
    """Parse a pattern without compiling it, which takes a tenth of the time."""
    try:
        re2.Set.SearchSet(_options(_MEMORY[0])).Add(pattern)
    except re2.error:
        _compile(pattern)


def _compile(pattern: bytes, *, captures: bool = False) -> "re2._Regexp":
    said = ""
    for memory in _MEMORY:
        try:
            options = _options(memory)
            options.never_capture = not captures
            return re2.compile(pattern, options=options)
        except re2.error as error:
            said = _said(error)
            if not said.startswith("pattern too large"):
                break
    raise PatternError(explain(said))


def _options(memory: int) -> "re2.Options":
    options = re2.Options()
    options.max_mem = memory
    options.log_errors = False
    return options


def _said(error: Exception) -> str:
    """RE2's message, which arrives as bytes."""
    message = error.args[0] if error.args else ""
    return message.decode(errors="replace") if isinstance(message, bytes) else message
