"""Reads compound commands: frames that opening words push and closing words pop."""

import re
from dataclasses import dataclass, field

from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.grammar.here_documents import HereDocument
from redlane.contexts.shell.grammar.syntax import (
    Group,
    Parameter,
    Pipeline,
    Simple,
    Word,
    joined,
    parts_of,
)
from redlane.contexts.shell.grammar.words import WordReader

__all__ = ["CLOSERS", "CompoundReader", "OpenCompound"]

CLOSERS = {
    "fi": ("if",),
    "done": ("while", "until", "for", "select"),
    "}": ("{",),
    "esac": ("case",),
}
"""The words that end a compound command, and those that begin it."""

_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_SPACE = re.compile(r"(?:[ \t\n]|\\\n|#[^\n]*)+")
_NO_GLOB = re.compile(r"\([ \t]*\)")
_ENDS = frozenset(" \t\n|&;<>()")
_OPERATOR = re.compile(r"[;&|()]|[<>](?!\()")
_END_OF_VALUES = frozenset(["", "\n", ";", "&", "|", ")", "#"])
_IN = re.compile(r"i(?:\\\n)*n(?=[ \t\n;\\(#]|$)")
_ALL_PARAMETERS = (Parameter("@", '"$@"', quoted=True),)
_MOST_FRAMES = 200


@dataclass(slots=True)
class OpenCompound:
    """A compound command that is being read."""

    group: Group
    pipeline: Pipeline = field(default_factory=Pipeline)
    in_pattern: bool = False


class CompoundReader(WordReader):
    """Keeps the frames, and the simple command that is being read."""

    def __init__(self, text: str, depth: int = 0, *, posix: bool = False) -> None:
        super().__init__(text, depth, posix=posix)
        self._frames: list[OpenCompound] = []
        self._simple: Simple | None = None
        self._last: Group | None = None
        self._function = ""
        self._in_test = False
        self._here: list[HereDocument] = []

    def _some_word(self) -> Word:
        """A word, or where none can begin, one character: there is always progress."""
        start = self.pos
        word = self.word()
        if self.pos == start:
            self.pos += 1
            return self.text[start]
        return word

    def _globbed_word(self) -> Word:
        """A word, and the extended globs in it: `@(a|b)`; `! (a)` and `f@()` are none.

        Where a shell has none, that is an error.
        """
        start = self.pos
        word = self._some_word()
        while (
            self.text.startswith("(", self.pos)
            and self.text[self.pos - 1] in "@?+*!"
            and self.text[start : self.pos] != "!"
            and not (self.posix or self._in_test or _NO_GLOB.match(self.text, self.pos))
        ):
            self.differs()
            end = self._matching(self.pos)
            if end is None:
                break
            inside = self.inner(self.text[self.pos + 1 : end]).here_document()
            self.pos = end + 1
            more: Word = ""
            if self.pos < len(self.text) and self.text[self.pos] not in _ENDS:
                more = self._some_word()
            word = joined(
                (*parts_of(word), "(", *parts_of(inside), ")", *parts_of(more))
            )
        return word

    def _words_until(self, closer: str) -> list[Word]:
        """The words up to and over `closer`, over line ends and comments.

        At an operator bash leaves the line, and goes on with the next one.
        """
        words: list[Word] = []
        while self.pos < len(self.text):
            space = _SPACE.match(self.text, self.pos)
            if space:
                self.pos = space.end()
            elif self.text[self.pos] == closer:
                self.pos += 1
                break
            elif _OPERATOR.match(self.text, self.pos) and (
                not self.posix or self.text[self.pos - 1] in "@?+*!"
            ):
                self.differs()
                end = self.text.find("\n", self.pos)
                self.pos = len(self.text) if end < 0 else end
                break
            else:
                words.append(self._globbed_word())
        return words

    def _close_word(self, raw: str, closer: str) -> bool:
        for place in range(len(self._frames) - 1, 0, -1):
            if self._frames[place].group.opener in CLOSERS[raw]:
                while len(self._frames) > place:
                    self._close()
                return False
        if raw == closer:
            return True
        self._command().words.append(raw)
        return False

    def _open_for(self, opener: str) -> None:
        group = Group(opener)
        self._skip_blank()
        if self.text.startswith("((", self.pos):
            self.pos += 1
            inside = self.arithmetic()
            group.values = [inside] if inside is not None else []
        elif self.pos < len(self.text):
            start = self.pos
            self._some_word()
            group.variable = self.text[start : self.pos]
            group.values = self._for_values()
        self._open(group)

    def _for_values(self) -> list[Word]:
        """The words after `in`; without `in`, the positional parameters."""
        self._skip_space()
        if not self._skip_in():
            return [_ALL_PARAMETERS]
        words: list[Word] = []
        while self.pos < len(self.text):
            self._skip_blank()
            if self.text[self.pos : self.pos + 1] in _END_OF_VALUES:
                break
            words.append(self._some_word())
        return words

    def _open_case(self) -> None:
        group = Group("case")
        self._skip_blank()
        if self.pos < len(self.text):
            group.values.append(self._some_word())
        self._skip_space()
        self._open(group)
        if self._skip_in():
            self._frames[-1].in_pattern = True

    def _pattern(self) -> None:
        """Read the next word of a case's patterns, or `esac`."""
        frame = self._frames[-1]
        if self.text[self.pos] in "\n|(;&<>":
            self.pos += 1
        elif self.text[self.pos] == ")":
            self.pos += 1
            frame.in_pattern = False
        else:
            start = self.pos
            word = self._some_word()
            if self.text[start : self.pos].replace("\\\n", "") == "esac":
                self._close()
            else:
                frame.group.values.append(word)

    def _skip_in(self) -> bool:
        """Read over the word `in`, if it is the next one."""
        found = _IN.match(self.text, self.pos)
        self.pos = found.end() if found else self.pos
        return found is not None

    def _skip_blank(self) -> None:
        blank = _BLANK.match(self.text, self.pos)
        self.pos = blank.end() if blank else self.pos

    def _skip_space(self) -> None:
        space = _SPACE.match(self.text, self.pos)
        self.pos = space.end() if space else self.pos

    def _command(self) -> Simple:
        """The simple command that is being read, begun if there is none."""
        if self._simple is None:
            self._simple, self._last = Simple(), None
        return self._simple

    def _open(self, group: Group) -> None:
        if len(self._frames) > _MOST_FRAMES:
            raise TooComplex("compound commands are nested too deep")
        self._last = None
        group.function, self._function = self._function, ""
        self._frames.append(OpenCompound(group))

    def _close(self) -> None:
        """Make the innermost frame a stage of the pipeline around it."""
        self._end_pipeline(conditional=False)
        group = self._frames.pop().group
        self._frames[-1].pipeline.stages.append(group)
        self._last = group

    def _awaits_command(self) -> bool:
        """Whether the next command still belongs to what stands before it."""
        pipeline = self._frames[-1].pipeline
        return (
            self._simple is None
            and self._last is None
            and bool(pipeline.stages or pipeline.conditional)
        )

    def _end_command(self) -> None:
        simple, self._simple, self._last = self._simple, None, None
        if simple is None:
            return
        stage: Simple | Group = simple
        if self._function:
            stage = Group("", [Pipeline([simple])], self._function)
            self._function = ""
        self._frames[-1].pipeline.stages.append(stage)

    def _end_pipeline(self, *, conditional: bool) -> None:
        self._end_command()
        frame = self._frames[-1]
        if frame.pipeline.stages:
            frame.group.body.append(frame.pipeline)
            frame.pipeline = Pipeline()
        frame.pipeline.conditional = conditional

    def _leave_in_background(self) -> None:
        """Mark the list that has just ended, over `&&` and `||` back to its start."""
        for pipeline in reversed(self._frames[-1].group.body):
            pipeline.background = True
            if not pipeline.conditional:
                break
