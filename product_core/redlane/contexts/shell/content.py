"""A shell command as content: what policies of each action see of it.

Allow and Modify act on the command as given. Block and Flag also see every command
string inside it and every simple command in normal form, so that no spelling, wrapper
or script hides a command from them.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from redlane.contexts.shell.analysis.findings import Findings
from redlane.contexts.shell.analysis.kept_scripts import KeptScripts
from redlane.contexts.shell.analysis.walk import Analysis
from redlane.contexts.shell.expansion.disk import OWN_DISK, Disk
from redlane.contexts.shell.expansion.limits import LIGHT
from redlane.contexts.shell.expansion.remembered import Memory, Seen, WatchedDisk
from redlane.contexts.shell.expansion.scope import Scope
from redlane.contexts.shell.expansion.scripts import ELF, MOST_BYTES
from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.grammar.readings import readings
from redlane.contexts.shell.knowledge.frames import unframed
from redlane.contexts.shell.knowledge.unwrap import is_plain
from redlane.model.content import Content, Reader, ShellCommand, readable
from redlane.model.policy import Action, Context

__all__ = ["ShellContent"]

_PLAIN = re.compile(rb"([A-Za-z0-9_+-][A-Za-z0-9_.+-]*)(?: [A-Za-z0-9_.:@%+,=~-]+)*")
_NEVER_PLAIN = frozenset(
    b"if then else elif fi do done case esac while until for select function time "
    b"coproc cd".split()
)
_OUTER = (Action.ALLOW, Action.MODIFY)
_OF_PROGRAMS = frozenset({"expanded", "link_target"})

Views = tuple[bytes, ...]


class _Found(NamedTuple):
    """What the analysis of a command came to."""

    patterns: Views
    checkers: Views
    problem: str | None
    commands: tuple[ShellCommand, ...]
    unknown_words: int = 0
    is_open: bool = False
    is_relaxed: bool = False
    rests_on_text: bool = False
    runs_files: bool = False
    alone: Views = ()
    is_known: bool = True


class ShellContent(Content):
    """A command, the positional parameters after it, and where it would run.

    `arguments` are what follows the command string of a shell, so the first is `$0`.
    On `disk` are the scripts that it names. `before` is text that the same shell has
    run: what it sets holds, and it is not judged again. Nothing is parsed before a
    Block or Flag asks, and then once. Where `is_handed_on` says that a program hands it
    to its shell, such as a recipe, and it is too much to be read strictly, it is read
    as a script is.
    """

    __slots__ = (
        "_found",
        "_framed",
        "arguments",
        "before",
        "context",
        "cwd",
        "data",
        "disk",
        "is_handed_on",
    )

    def __init__(
        self,
        data: bytes,
        arguments: tuple[bytes, ...] = (),
        cwd: str | None = None,
        before: bytes = b"",
        disk: Disk = OWN_DISK,
        is_handed_on: Callable[[], bool] = lambda: False,
    ) -> None:
        self.context = Context.SHELL
        self.data = data
        self.arguments = arguments
        self.cwd = cwd
        self.before = before
        self.disk = disk
        self.is_handed_on = is_handed_on
        self._found: _Found | None = None
        self._framed: tuple[ShellContent, ...] | None = None

    def __repr__(self) -> str:
        """The arguments that made it."""
        return f"ShellContent({self.data!r}, {self.arguments!r}, {self.cwd!r})"

    @property
    def problem(self) -> str | None:
        """Why the command cannot be judged, or None; such a command must not run."""
        return self._analysed().problem

    @property
    def commands(self) -> tuple[ShellCommand, ...]:
        """Every simple command with its words, and what assignments and loops set."""
        return self._analysed().commands

    @property
    def each_command(self) -> Views | None:
        """Every command, assignment and redirection, or None if some are not known.

        Those of the command that an agent was given, where it has put it in a `frame`.
        """
        found = self._analysed()
        framed = self._unframed()
        if not framed:
            return found.alone if found.is_known else None
        command, frame = framed
        parts = command.each_command
        if parts is None or found.problem is not None:
            return None
        known = {*parts, *frame._analysed().alone, b"eval " + command.data}  # noqa: SLF001  # one of us
        return parts if known.issuperset(found.alone) else None

    @property
    def frame(self) -> "ShellContent | None":
        """The text around the command that an agent was given, without it."""
        framed = self._unframed()
        return framed[1] if framed else None

    def _unframed(self) -> "tuple[ShellContent, ...]":
        """The command that an agent was given, and what is around it; or nothing."""
        if self._framed is None:
            self._framed = tuple(map(self._with, unframed(self.data) or ()))
            for each in self._framed:
                each._framed = ()  # noqa: SLF001  # one of us: neither has another in it
        return self._framed

    @property
    def history(self) -> bytes:
        """What the same shell has run before."""
        return self.before

    @property
    def unknown_words(self) -> int:
        """The words in scripts that are known only when they run; 0 before a look."""
        return 0 if self._found is None else self._found.unknown_words

    @property
    def is_open(self) -> bool:
        """Whether it works out what runs, or may do otherwise than it was read."""
        return self._found is not None and self._found.is_open

    @property
    def runs_files(self) -> bool:
        """Whether it runs scripts, or reads their commands: as they were."""
        return self._found is not None and self._found.runs_files

    @property
    def rests_on_text(self) -> bool:
        """Whether nothing was read but that its lines begin with programs."""
        return self._analysed().rests_on_text

    def views(self, action: Action, reader: Reader) -> Views:
        """The command as given; for Block and Flag also what is inside it."""
        if action in _OUTER:
            return (readable(self.data) if reader is Reader.PATTERN else self.data,)
        found = self._analysed()
        return found.patterns if reader is Reader.PATTERN else found.checkers

    def rewritten(self, change: Callable[[bytes], bytes]) -> "ShellContent":
        """The same call with another command."""
        return self._with(change(self.data))

    def _with(self, data: bytes) -> "ShellContent":
        return ShellContent(
            data,
            self.arguments,
            self.cwd,
            self.before,
            self.disk,
            self.is_handed_on,
        )

    def _analysed(self) -> _Found:
        if self._found is None:
            plain = None if self.before else _PLAIN.fullmatch(self.data)
            if plain and plain[1] not in _NEVER_PLAIN and is_plain(plain[1].decode()):
                words = tuple(self.data.decode().split(" "))
                commands = (ShellCommand(words),)
                one = (self.data,)
                self._found = _Found(
                    one, one, None, commands, rests_on_text=True, alone=one
                )
            else:
                self._found = self._recalled(as_script=False)
                if self._found.problem is not None and self.is_handed_on():
                    self._found = self._recalled(as_script=True)
        return self._found

    def _recalled(self, *, as_script: bool) -> _Found:
        """What was found of the same command and files before, or is found now."""
        key = (self.data, self.arguments, self.cwd, self.before, as_script)
        found = _MEMORY.recall(key, self.disk)
        if found is None:
            watched = WatchedDisk(self.disk)
            found = self._analyse(watched, as_script=as_script)
            if found.problem is None and not found.is_relaxed:
                _MEMORY.keep(key, watched, found)
        return found

    def _analyse(self, disk: WatchedDisk, *, as_script: bool) -> _Found:
        """Walk every reading; what was found before a bound was passed still counts."""
        found, problem, is_relaxed = Findings(), None, False
        text = self.data.decode(errors="replace")
        try:
            if len(self.data) > MOST_BYTES:
                raise TooComplex(f"it is longer than {MOST_BYTES} bytes")  # noqa: TRY301  # one way out
            for reading in readings(text):
                if reading != text:
                    found.string(reading)
                kept = KeptScripts(self.is_handed_on)
                walk = Analysis(found, kept=kept)
                read = walk.text_as_script if as_script else walk.text
                read(reading, self._scope(found, disk))
                is_relaxed |= kept.is_relaxed
        except TooComplex as bound:
            problem = f"the command cannot be judged: {bound}"
        except RecursionError:
            problem = "the command cannot be judged: it is nested too deep"
        strings = tuple(map(_encoded, found.strings))
        commands = map(_encoded, found.commands)
        given = readable(self.data)
        unknown = _told(len(found.unknown))
        return _Found(
            tuple(dict.fromkeys((given, *strings, *commands, *unknown))),
            tuple(dict.fromkeys((self.data, *strings))),
            problem,
            (
                ShellCommand(assigned=tuple(found.assigned)),
                *(ShellCommand(argv, (), each) for argv, each in found.words.items()),
            ),
            len(found.unknown),
            found.is_open or bool(found.unknown),
            is_relaxed,
            not (as_script or is_relaxed) and _is_of_programs(self.data, disk.seen),
            bool(found.scripts),
            tuple(dict.fromkeys(map(_encoded, found.alone()))),
            not (problem or found.unknown or found.is_guessed),
        )

    def _scope(self, found: Findings, disk: Disk) -> Scope:
        given = [each.decode(errors="replace") for each in self.arguments]
        parameters = tuple(given[1:])
        scope = Scope(
            cwd=self.cwd,
            parameters=(parameters,),
            assigned=found.assigned,
            disk=disk,
        )
        if given:
            scope.name = given[0]
        if self.before:
            _remember(scope, self.before.decode(errors="replace"))
        return scope


def _remember(scope: Scope, before: str) -> None:
    """Let hold in `scope` what `before` sets; what cannot be followed is left out."""
    counted, scope.assigned = scope.assigned, {}
    with suppress(TooComplex, RecursionError):
        Analysis(Findings(), LIGHT).text(before, scope)
    scope.assigned, scope.uncertain = counted, 0


def _is_of_programs(data: bytes, seen: Seen) -> bool:
    """Whether all that was seen of the disk is which programs the lines begin with.

    Where a word may have several lines, that is not told.
    """
    if b"\n" in data and b"'" in data:
        return False
    first = {os.fsdecode(each.split(b" ", 1)[0]) for each in data.split(b"\n")}
    return all(
        path in first
        and (method in _OF_PROGRAMS or (method == "open" and about == ELF))
        for (method, path), about in seen.items()
    )


def _told(unknown_words: int) -> Iterator[bytes]:
    """What a pattern sees of words that are not known: how many there are."""
    if unknown_words:
        yield b"# known only when it runs: %d words" % unknown_words


_MEMORY: Memory[_Found] = Memory()

_encoded = partial(str.encode, encoding="utf-8", errors="replace")
