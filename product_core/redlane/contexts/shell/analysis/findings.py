"""What the analysis has found so far, within bounds."""

from collections.abc import Sequence

from redlane.contexts.shell.analysis.forms import normal_forms
from redlane.contexts.shell.grammar.words import TooComplex

__all__ = ["Findings"]

_MOST_COMMANDS = 2_000
_MOST_SCRIPT_COMMANDS = 40_000
_MOST_BYTES = 8 * 1024 * 1024


class Findings:
    """The command strings and simple commands of a text, each once, in order.

    `words` holds the commands word by word, `assigned` the variables that are set by
    an assignment or a loop.

    Scripts on disk may hold more commands than a command line.
    """

    def __init__(self) -> None:
        self.strings: dict[str, None] = {}
        self.commands: dict[str, None] = {}
        self.words: dict[tuple[str, ...], None] = {}
        self.assigned: dict[str, None] = {}
        self._scripts: set[str] = set()
        self._room = _MOST_BYTES

    def command(self, form: str) -> None:
        """Take a simple command in normal form."""
        if form in self.commands:
            return
        self.commands[form] = None
        self._spend(form)
        most = _MOST_SCRIPT_COMMANDS if self._scripts else _MOST_COMMANDS
        if len(self.commands) > most:
            raise TooComplex(f"it holds more than {most} commands")

    def simple(self, argv: Sequence[str]) -> None:
        """Take a simple command by its words."""
        for form in normal_forms(argv):
            self.command(form)

    def string(self, text: str) -> None:
        """Take a command string that was unwrapped."""
        if text not in self.strings:
            self.strings[text] = None
            self._spend(text)

    def is_new(self, script: str) -> bool:
        """Whether the script at a path has not been met before; it is from now on."""
        known = script in self._scripts
        self._scripts.add(script)
        return not known

    def beside(self) -> "Findings":
        """Findings to try something with, which may be taken over or dropped."""
        other = Findings()
        other._scripts = self._scripts
        return other

    def take(self, other: "Findings") -> None:
        """Take over what was found beside."""
        for text in other.strings:
            self.string(text)
        for form in other.commands:
            self.command(form)
        self.words.update(other.words)
        self.assigned.update(other.assigned)

    def _spend(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise TooComplex("the commands in it are longer than can be judged")
