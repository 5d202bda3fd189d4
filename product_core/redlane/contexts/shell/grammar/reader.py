"""Reads a shell text into pipelines, leniently: what may be a command counts as one.

Compound commands need no grammar here, because every command in them counts: an
opening word pushes a frame, its closing word makes a `Group` of what was found. What
no shell would accept is read on anyhow.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import partial

from redlane.contexts.shell.grammar.compound import (
    CLOSERS,
    CompoundReader,
    OpenCompound,
)
from redlane.contexts.shell.grammar.ends import is_exit, is_replacement
from redlane.contexts.shell.grammar.here_documents import HereDocument, read_bodies
from redlane.contexts.shell.grammar.syntax import (
    Arithmetic,
    Assignment,
    Group,
    Pipeline,
    Redirection,
    Simple,
    Word,
)

__all__ = ["CommandReader", "read", "read_file"]

_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"[^\n]*")
_ASSIGNMENT = re.compile(
    r"([A-Za-z_][A-Za-z_0-9]*(?:\[[^]$`\"'\\]*\])?)(\+?)=(?:\\\n)*"
)
_JOINT = r"(?:\\\n)*"
_REDIRECTION = re.compile(
    r"(?P<fd>[0-9]+|\{,[A-Za-z_][A-Za-z_0-9]*,\})?,(?P<operator>&,>,>|&,>|"
    r"<,<,[<-]?|<,&|<,>|<|>,>|>,&|>,\||>)(?!,\()".replace(",", _JOINT)
)
_SEPARATOR = re.compile(r"&(?:\\\n)*&|\|(?:\\\n)*[|&]|;(?:\\\n)*;?&?|[&|\n]")
_COPROCESS_NAME = re.compile(
    r"(?:\s|\\\n)+[\"']?[A-Za-z_]\w*[\"']?"
    r"(?=(?:\s|\\\n)+(?:[({]|(?:if|for|while|until)\s))"
)
_DEFINITION = re.compile(r"[ \t]*\([ \t]*\)")
_TEST = frozenset({"[[", "]]"})
_OPENERS = frozenset({"if", "while", "until", "{"})
_NAMED_OPENERS = frozenset({"for", "select"})
_SKIPPED = frozenset({"then", "else", "elif", "do", "!"})
_RESERVED = frozenset(
    {*CLOSERS, *_OPENERS, *_NAMED_OPENERS, *_SKIPPED}
    | {"case", "function", "coproc", "time"}
)
_TIMED_GROUP = re.compile(
    r"(?:\s+-\S+)*\s+(?=[({]|(?:if|for|while|until|case|coproc|function|!)\s)"
)
_PLAIN_WORDS = re.compile(r"(?:[ \t]+[A-Za-z0-9_./:@%+~^-]+)+(?=[ \t\n|&;]|$)")
_OTHER_EXIT = re.compile(
    r"\bex(?:it|ec)[ \t]*\(|\bfunction\s+ex(?:it|ec)\b|\balias\b|\bshopt\b"
)
_BEFORE_COMMENT = frozenset(" \t\n;|&()<>`")


def read(text: str, depth: int = 0) -> list[Pipeline]:
    """The pipelines of `text`; raises TooComplex when a bound is passed.

    Where a plain POSIX shell would read otherwise than bash, both readings count.
    """
    reader = CommandReader(text, depth)
    return reader.commands() + _as_posix(reader)


def read_file(text: str, depth: int = 0) -> tuple[list[Pipeline], bool]:
    """The same of a script file, and whether all of it was read.

    Nothing is read behind an `exit` or `exec` that always comes: an archive or a
    program in another language may follow.
    """
    reader = CommandReader(text, depth, ends_at_exit=True)
    found = reader.commands() + _as_posix(reader)
    return found, not text[reader.pos :].strip()


def _as_posix(bash: "CommandReader") -> list[Pipeline]:
    """The stretches that the dialects read otherwise, as the other one reads them.

    Each begins between two commands, and ends where both are between two commands.
    """
    found: list[Pipeline] = []
    seams = [0, *bash.seams]
    shared = frozenset(seams)
    reader = CommandReader(bash.text, bash.depth, posix=True)
    for place in bash.dialects:
        if place >= reader.pos:
            reader.pos = seams[bisect_right(seams, place) - 1]
            reader.stops = partial(_is_shared_behind, place, shared)
            found += reader.commands()
    return found


class CommandReader(CompoundReader):
    """Reads commands; see the module.

    `seams` are the places between two lines where nothing is open. At one that `stops`
    says so, or behind an `exit` if that ends the text, reading ends.
    """

    def __init__(
        self,
        text: str,
        depth: int = 0,
        *,
        posix: bool = False,
        ends_at_exit: bool = False,
    ) -> None:
        super().__init__(text, depth, posix=posix)
        self.seams: list[int] = []
        self.stops: Callable[[int], bool] = lambda _: False
        self._base = depth
        self._ends_at_exit = ends_at_exit and not _OTHER_EXIT.search(text)
        self._has_ended = False

    def commands(self, closer: str = "") -> list[Pipeline]:
        """Read commands up to and over `closer`; without one, the whole text."""
        saved = (self._frames, self._simple, self._last, self._function, self._here)
        in_test, self._in_test = self._in_test, False
        bottom = OpenCompound(Group(""))
        self._frames, self._simple, self._last = [bottom], None, None
        self._function, self._here = "", []
        self._has_ended = False
        while self.pos < len(self.text) and not self._has_ended:
            if self._step(closer):
                break
        while len(self._frames) > 1:
            self._close()
        self._end_pipeline(conditional=False)
        unread = self._here
        self._frames, self._simple, self._last, self._function, self._here = saved
        self._in_test = in_test
        if unread:
            self.differs()
        if self.posix:  # there a body may begin after the substitution around it
            self._here = [*self._here, *unread]
        return bottom.group.body

    def _step(self, closer: str) -> bool:
        """Read one token; true when it was the closer."""
        text = self.text
        blank = _BLANK.match(text, self.pos)
        if blank:
            self.pos = blank.end()
            if self.pos == len(text):
                return False
        mark = text[self.pos]
        if mark == "#" and (not self.pos or text[self.pos - 1] in _BEFORE_COMMENT):
            comment = _COMMENT.match(text, self.pos)
            self.pos = comment.end() if comment else len(text)
        elif self._frames[-1].in_pattern:
            self._pattern()
        elif mark == ")":
            return self._parenthesis(closer)
        elif mark == "(":
            self._open_parenthesis()
        elif mark in "|&;\n<>" or mark in "0123456789{":
            return self._operator(closer)
        else:
            return self._word(closer)
        return False

    def _operator(self, closer: str) -> bool:
        """Read a redirection or a separator, or else a word."""
        redirection = _REDIRECTION.match(self.text, self.pos)
        is_bashs = redirection and self.text.startswith("&", self.pos)
        if is_bashs:
            self.differs()
        if redirection and not (self.posix and is_bashs):
            self.pos = redirection.end()
            self._redirect(redirection["fd"] or "", redirection["operator"])
            return False
        separator = _SEPARATOR.match(self.text, self.pos)
        if not separator:
            return self._word(closer)
        self.pos = separator.end()
        sign = separator.group().replace("\\\n", "")
        ends = sign == "\n" and self._is_last()
        if sign in ("|", "|&"):
            self._end_command()
        elif sign != "\n" or not self._awaits_command():
            self._end_pipeline(conditional=sign in ("&&", "||"))
            if sign == "&":
                self._leave_in_background()
        if sign == "\n":
            self._end_line(ends=ends)
        frame = self._frames[-1]
        if frame.group.opener == "case" and sign in (";;", ";&", ";;&"):
            frame.in_pattern = True
        return False

    def _end_line(self, *, ends: bool) -> None:
        """Read what follows the line; see whether anything is open there."""
        if self._here:
            read_bodies(self, self._here)
            self._here = []
        if self.depth == self._base and len(self._frames) == 1:
            pipeline = self._frames[0].pipeline
            is_open = self._function or pipeline.stages or pipeline.conditional
            if not (is_open or self._simple):
                self.seams.append(self.pos)
                self._has_ended = ends or self.stops(self.pos)

    def _is_last(self) -> bool:
        """Whether the command that is being read is the last that the shell runs."""
        if not self._ends_at_exit or self._simple is None or len(self._frames) > 1:
            return False
        pipeline, simple = self._frames[0].pipeline, self._simple
        if pipeline.stages or pipeline.conditional:
            return False
        if (
            simple.redirections or simple.assignments
        ):  # these may fail, and bash goes on
            return False
        return is_exit(simple.words) or is_replacement(simple.words)

    def _redirect(self, descriptor: str, operator: str) -> None:
        operator = operator.replace("\\\n", "")
        redirection = Redirection(descriptor, operator)
        blank = _BLANK.match(self.text, self.pos)
        if blank:
            self.pos = blank.end()
        start = self.pos
        if self.pos < len(self.text) and self.text[self.pos] not in "\n;|&":
            redirection.target = self.word()
        if operator in ("<<", "<<-"):
            delimiter = self.text[start : self.pos]
            self._here.append(HereDocument(redirection, delimiter, operator == "<<-"))
        if self._last is not None:
            self._last.redirections.append(redirection)
        else:
            self._command().redirections.append(redirection)

    def _word(self, closer: str) -> bool:
        """Read a word: reserved, an assignment, or one of a simple command's."""
        simple = self._simple
        if simple is None or not simple.words:
            assignment = _ASSIGNMENT.match(self.text, self.pos)
            if assignment:
                self._assign(assignment)
                return False
            start = self.pos
            word = self._globbed_word()
            raw = self.text[start : self.pos]
            if "\\\n" in raw:
                raw = raw.replace("\\\n", "")
            if raw in _RESERVED and simple is None:
                return self._reserved(raw, closer)
            if raw in _TEST and simple is None and not self.posix:
                self._in_test = raw == "[["
            definition = _DEFINITION.match(self.text, self.pos)
            if definition and isinstance(word, str):
                self.pos = definition.end()
                self._function = word
            else:
                words = self._command().words
                words.append(word)
                plain = _PLAIN_WORDS.match(self.text, self.pos)
                if plain:
                    words += plain.group().split()
                    self.pos = plain.end()
        elif _ASSIGNMENT.match(self.text, self.pos):
            self._argument(simple)
        else:
            start = self.pos
            simple.words.append(self._globbed_word())
            if self._in_test:
                self._after_operand(simple, self.text[start : self.pos])
        return False

    def _after_operand(self, simple: Simple, raw: str) -> None:
        """Read the operand of `=~` in `[[ … ]]`; see where that ends."""
        self._in_test = raw != "]]"
        if raw == "=~":
            self._skip_blank()
            simple.words.append(self.regexp())

    def _argument(self, simple: Simple) -> None:
        """Read an argument like `name=word`, for declare also `name=(words)`."""
        found = _ASSIGNMENT.match(self.text, self.pos)
        if found and self.text.startswith("(", found.end()):
            self.pos = found.end() + 1
            values = self._words_until(")")
            name, appends = found.group(1), bool(found.group(2))
            simple.assignments.append(Assignment(name, appends, values))
        else:
            simple.words.append(self._some_word())

    def _assign(self, found: "re.Match[str]") -> None:
        self.pos = found.end()
        name, appends = found.group(1), bool(found.group(2))
        value: Word | list[Word]
        if self.text.startswith("(", self.pos):
            self.pos += 1
            value = self._words_until(")")
            self.word()
        else:
            value = self.word()
        self._command().assignments.append(Assignment(name, appends, value))

    def _reserved(self, raw: str, closer: str) -> bool:
        """Act on a reserved word at the place of a command."""
        if raw in CLOSERS:
            return self._close_word(raw, closer)
        if raw in _OPENERS:
            self._open(Group(raw))
        elif raw in _NAMED_OPENERS:
            self._open_for(raw)
        elif raw == "case":
            self._open_case()
        elif raw == "function":
            self._skip_blank()
            name = self._some_word() if self.pos < len(self.text) else ""
            definition = _DEFINITION.match(self.text, self.pos)
            self.pos = definition.end() if definition else self.pos
            self._function = name if isinstance(name, str) else "f"
        elif raw == "coproc":
            name_of_process = _COPROCESS_NAME.match(self.text, self.pos)
            if name_of_process:
                self.pos = name_of_process.end()
                name = name_of_process.group().strip("\"' \t\n\\")
                self._command().assignments.append(Assignment(name, False, ""))  # noqa: FBT003  # a named tuple
                self._end_pipeline(conditional=False)
            self._frames[-1].pipeline.background = True
        elif raw == "time":
            self._command().words.append(raw)
            self._after_time()
        return False

    def _after_time(self) -> None:
        """A compound command may follow `time`: then it is no word of a command."""
        group = _TIMED_GROUP.match(self.text, self.pos)
        if group:
            self._simple = None
            self.pos = group.end()

    def _parenthesis(self, closer: str) -> bool:
        self.pos += 1
        for place in range(len(self._frames) - 1, 0, -1):
            if self._frames[place].group.opener == "(":
                while len(self._frames) > place:
                    self._close()
                return False
        if closer == ")":
            return True
        self._end_pipeline(conditional=False)
        return False

    def _open_parenthesis(self) -> None:
        """Begin a subshell, or read `((…))`, which is a sum to bash alone."""
        start = self.pos
        self.pos += 1
        sum_may_follow = self._simple is None and not self.posix
        if sum_may_follow and self.text.startswith("(", self.pos):
            self.differs()
            inside = self.arithmetic()
            if inside is not None:
                part = Arithmetic(inside, self.text[start : self.pos])
                group = Group("((", values=[(part,)])
                self._frames[-1].pipeline.stages.append(group)
                self._last = group
                return
        self._end_command()
        self._open(Group("("))


def _is_shared_behind(place: int, shared: frozenset[int], seam: int) -> bool:
    return seam > place and seam in shared
