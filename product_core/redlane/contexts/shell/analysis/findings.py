"""What the analysis has found so far, within bounds."""

import re
from collections.abc import Sequence

from redlane.contexts.shell.analysis.forms import normal_forms
from redlane.contexts.shell.expansion.scripts import Script
from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.grammar.reader import read_file
from redlane.contexts.shell.grammar.syntax import Pipeline
from redlane.contexts.shell.knowledge.effects import DECLARES

__all__ = ["Findings"]

_NAME_END = re.compile(r"[\[+=]")
_MOST_COMMANDS = 2_000
_MOST_BYTES = 8 * 1024 * 1024
_COMMANDS_A_CHARACTER = 1
_BYTES_A_CHARACTER = 16


class Findings:
    """The command strings and simple commands of a text, each once, in order.

    `words` holds the commands word by word, each with whether it is one of scripts
    alone, `assigned` the variables that are set by an assignment or a loop, `unknown`
    the words in scripts that are not known, and what in them was not looked at,
    `scripts` the paths of those that were read. `effects` are what commands set and
    where they are redirected; with `is_guessed`, some words may be others than found.

    It `is_open` when more may run than was found: what comes of it is to be judged
    where it runs. Scripts on disk may hold more commands than a command line.
    """

    def __init__(self) -> None:
        self.strings: dict[str, None] = {}
        self.commands: dict[str, None] = {}
        self.words: dict[tuple[str, ...], bool] = {}
        self.assigned: dict[str, None] = {}
        self.unknown: dict[int, object] = {}
        self.effects: dict[str, None] = {}
        self.is_open = False
        self.is_guessed = False
        self._pipelines: dict[str, list[Pipeline]] = {}
        self.scripts: set[str] = set()
        self._most = _MOST_COMMANDS
        self._room = _MOST_BYTES

    def command(self, form: str) -> None:
        """Take a simple command in normal form."""
        if form in self.commands:
            return
        self.commands[form] = None
        self._spend(form)
        if len(self.commands) > self._most:
            raise TooComplex(f"it holds more than {self._most} commands")

    def command_words(self, argv: tuple[str, ...], *, in_script: bool) -> None:
        """Take the words of a command."""
        self.words[argv] = in_script and self.words.get(argv, True)

    def simple(self, argv: Sequence[str]) -> None:
        """Take a simple command by its words."""
        for form in normal_forms(argv):
            self.command(form)

    def string(self, text: str) -> None:
        """Take a command string that was unwrapped."""
        if text not in self.strings:
            self.strings[text] = None
            self._spend(text)

    def has_read(self, script: str) -> bool:
        """Whether the script at a path has been met before."""
        return script in self.scripts

    def script(self, script: Script, depth: int) -> list[Pipeline]:
        """The commands of a script, which is read once; it makes room for its own."""
        read_before = self._pipelines.get(script.path)
        if read_before is not None:
            return read_before
        self.scripts.add(script.path)
        length = len(script.text)
        self._most += length * _COMMANDS_A_CHARACTER
        self._room += length * _BYTES_A_CHARACTER
        self.string(script.text)
        pipelines, is_whole = read_file(script.text, depth)
        if not is_whole:
            self.leave_open(pipelines)
        self._pipelines[script.path] = pipelines
        return pipelines

    def leave_open(self, what: object) -> None:
        """Note that something in a script was not looked at: it may run anything."""
        self.unknown[id(what)] = what

    def absorb(self, other: "Findings") -> None:
        """Take all that another walk found, within bounds of its own."""
        self.strings.update(other.strings)
        self.commands.update(other.commands)
        self._most += len(other.commands)
        for argv, in_script in other.words.items():
            self.command_words(argv, in_script=in_script)
        self.assigned.update(other.assigned)
        self.unknown.update(other.unknown)
        self.effects.update(other.effects)
        self.is_open |= other.is_open
        self.is_guessed |= other.is_guessed
        self.scripts |= other.scripts

    def alone(self) -> tuple[str, ...]:
        """Every command, what variables are set to, and redirections, one by one."""
        shown = [*self.effects]
        for name, *rest in filter(None, self.words):
            shown += rest if name in DECLARES else ()
        named = {_NAME_END.split(each, maxsplit=1)[0] for each in shown}
        names = (each for each in self.assigned if each not in named)
        commands = (" ".join(argv) for argv in self.words if argv)
        return (*commands, *self.effects, *(f"{each}=" for each in names))

    def let_go(self) -> None:
        """Keep no part of a script's syntax: nothing more will be found."""
        self._pipelines.clear()
        self.unknown = {-place: None for place in range(len(self.unknown))}

    def _spend(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise TooComplex("the commands in it are longer than can be judged")
