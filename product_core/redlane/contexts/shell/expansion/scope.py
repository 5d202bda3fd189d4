"""What is known while a text is walked: variables, functions, files written by it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from posixpath import join, normpath

from redlane.contexts.shell.expansion.disk import OWN_DISK, Disk
from redlane.contexts.shell.grammar.syntax import Group

__all__ = ["OutputTexts", "Scope", "Value"]

Value = str | tuple[str, ...] | None
"""What a variable holds: text, the elements of an array, or something unknown."""


class OutputTexts:
    """The texts that may come out of a command; worked out when they are asked for.

    `words` are those of the commands that it comes from: what is not known to come out
    may stand in them.
    """

    __slots__ = ("_make", "_texts", "words")

    def __init__(self, make: Callable[[], tuple[str, ...]] | None = None) -> None:
        self._make = make
        self._texts: tuple[str, ...] = ()
        self.words: tuple[str, ...] = ()

    @classmethod
    def of(cls, *texts: str) -> "OutputTexts":
        """A stream whose texts are known already."""
        stream = cls()
        stream._texts = texts
        return stream

    def texts(self) -> tuple[str, ...]:
        """Every text that may come out; none when nothing is known."""
        if self._make is not None:
            make, self._make = self._make, None
            self._texts = make()
        return self._texts


@dataclass(slots=True)
class Scope:
    """The state of one shell, as far as its text tells.

    `uncertain` is above zero inside what may not run: there an assignment adds a value
    and replaces none. `parameters` is None where they are not known. `files` holds what
    the text writes to files, `origins` the command that wrote one whose text is not
    known, `links` what a file is a copy of; all three by the path from `place`.
    `moved` says that the text has changed the working directory.
    On `disk` is what the text did not write.
    `assigned` names every variable that was ever set, in this shell or one inside it.
    """

    variables: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    parameters: tuple[str, ...] | None = ()
    name: str = "sh"
    functions: dict[str, Group] = field(default_factory=dict)
    files: dict[str, OutputTexts] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    moved: bool = False
    uncertain: int = 0
    most_values: int = 256
    assigned: dict[str, None] = field(default_factory=dict)
    disk: Disk = OWN_DISK

    def child(self, name: str, parameters: tuple[str, ...]) -> "Scope":
        """The scope of a shell that is started from this one."""
        return Scope(
            dict(self.variables),
            parameters,
            name,
            dict(self.functions),
            self.files,
            self.origins,
            self.links,
            self.cwd,
            self.moved,
            assigned=self.assigned,
            disk=self.disk,
        )

    def place(self, path: str) -> str:
        """A path as it counts from the working directory, in one spelling."""
        if path.startswith("<("):
            return path
        if path.startswith("~"):
            return normpath(path)
        return normpath(join(self.cwd or "", path))

    def assign(self, name: str, values: tuple[Value, ...]) -> None:
        """Give a variable the values that it may have from here on."""
        self.assigned[name] = None
        if self.uncertain:
            values = (*values, *self.variables.get(name, (None,)))
        values = tuple(dict.fromkeys(values))
        if len(values) > self.most_values:
            values = (None, *values[: self.most_values])
        self.variables[name] = values

    def calling(self, parameters: tuple[str, ...]) -> "Scope":
        """The scope of a function's body: the same shell, other parameters."""
        called = self.child(self.name, parameters)
        called.variables = self.variables
        called.uncertain = self.uncertain + 1
        return called
