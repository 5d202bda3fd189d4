"""What the analysis has found so far, within bounds."""

from redlane.contexts.shell.words import TooComplex

__all__ = ["Findings"]

_MOST_COMMANDS = 2_000
_MOST_SCRIPT_COMMANDS = 40_000
_MOST_BYTES = 8 * 1024 * 1024


class Findings:
    """The command strings and simple commands of a text, each once, in order.

    `words` holds the commands word by word, `assigned` the variables that are set by
    an assignment or a loop.

    A script on disk may hold more commands than a command line: `scripts` above zero
    counts towards the larger bound.
    """

    def __init__(self) -> None:
        self.strings: dict[str, None] = {}
        self.commands: dict[str, None] = {}
        self.words: dict[tuple[str, ...], None] = {}
        self.assigned: dict[str, None] = {}
        self.scripts = 0
        self._room = _MOST_BYTES

    def command(self, form: str) -> None:
        """Take a simple command in normal form."""
        if form in self.commands:
            return
        self.commands[form] = None
        self._spend(form)
        most = _MOST_SCRIPT_COMMANDS if self.scripts else _MOST_COMMANDS
        if len(self.commands) > most:
            raise TooComplex(f"it holds more than {most} commands")

    def string(self, text: str) -> None:
        """Take a command string that was unwrapped."""
        if text not in self.strings:
            self.strings[text] = None
            self._spend(text)

    def _spend(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise TooComplex("the commands in it are longer than can be judged")
