"""What is known while a text is walked: variables, functions, files written by it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from posixpath import join, normpath

from redlane.contexts.shell.expansion.disk import OWN_DISK, Disk
from redlane.contexts.shell.expansion.limits import UNBOUNDED
from redlane.contexts.shell.grammar.syntax import Group

__all__ = ["ALL", "NOTHING", "OutputTexts", "Scope", "Value", "added"]

Value = str | tuple[str, ...] | None
"""What a variable holds: text, the elements of an array, or something unknown."""


class OutputTexts:
    """The texts that may come out of a command; worked out when they are asked for.

    `words` are those of the commands that it comes from: what is not known to come out
    may stand in them. `writes` counts those before that wrote to the same file. One
    that is not `is_exact` may come out only in part, or otherwise.
    """

    __slots__ = ("_make", "_texts", "is_exact", "words", "writes")

    def __init__(self, make: Callable[[], tuple[str, ...]] | None = None) -> None:
        self._make = make
        self._texts: tuple[str, ...] = ()
        self.words: tuple[str, ...] = ()
        self.writes = 0
        self.is_exact = True

    @classmethod
    def of(cls, *texts: str) -> "OutputTexts":
        """A stream whose texts are known already."""
        stream = cls()
        stream._texts = texts
        return stream

    @classmethod
    def made(
        cls, make: Callable[[], tuple[str, ...]], *parts: "OutputTexts"
    ) -> "OutputTexts":
        """What is made of `parts`, and as exact as they are."""
        stream = cls(make)
        stream.is_exact = all(part.is_exact for part in parts)
        return stream

    def texts(self) -> tuple[str, ...]:
        """Every text that may come out; none when nothing is known."""
        if self._make is not None:
            make, self._make = self._make, None
            self._texts = make()
        return self._texts


NOTHING = OutputTexts()
"""Of what nothing is known, or is to be."""


ALL = "*"
"""Among the names that are exported: all are."""


@dataclass(slots=True)
class Scope:
    """The state of one shell, as far as its text tells.

    `uncertain` is above zero inside what may not run: there an assignment adds a value
    and replaces none. `parameters` are all that the positional ones may be, None where
    they are not known; inside what may not run (`uncertain` above `called`, which is
    the function's call) those before count on. What is `constant` keeps its value, a
    name in `references` stands for another. `files` holds what
    the text writes to files, `origins` the command that wrote one whose text is not
    known, `links` what a file is a copy of; all three by the path from `place`.
    `moved` says that the text has changed the working directory.
    On `disk` is what the text did not write. A shell that `is_script` runs a script and
    nothing after it.
    `assigned` names every variable that was ever set, in this shell or one inside it.
    """

    variables: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    parameters: tuple[tuple[str, ...] | None, ...] = ((),)
    name: str = "sh"
    functions: dict[str, Group] = field(default_factory=dict)
    files: dict[str, OutputTexts] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, dict[str, None]] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    streams: "dict[str, OutputTexts]" = field(default_factory=dict)
    cwd: str | None = None
    moved: bool = False
    uncertain: int = 0
    called: int = 0
    most_values: int = 256
    longest: int = UNBOUNDED
    assigned: dict[str, None] = field(default_factory=dict)
    disk: Disk = OWN_DISK
    constant: set[str] = field(default_factory=set)
    references: dict[str, str] = field(default_factory=dict)
    is_script: bool = False

    def child(self, name: str, parameters: tuple[str, ...]) -> "Scope":
        """The scope of a shell that is started from this one.

        It has the variables that are exported; others may be in the environment.
        """
        kept = ALL in self.exported
        return Scope(
            {
                each: values if kept or each in self.exported else (*values, "")
                for each, values in self.variables.items()
            },
            (parameters,),
            name,
            dict(self.functions),
            self.files,
            self.origins,
            self.links,
            {},
            self.exported,
            dict(self.streams),
            self.cwd,
            self.moved,
            most_values=self.most_values,
            longest=self.longest,
            assigned=self.assigned,
            disk=self.disk,
            constant=self.constant,
            references=self.references,
            is_script=self.is_script,
        )

    def subshell(self) -> "Scope":
        """The scope of a fork of this shell: what it sets is gone when it ends."""
        return replace(
            self,
            variables=dict(self.variables),
            functions=dict(self.functions),
            uncertain=0,
            called=0,
        )

    def without_files(self) -> "Scope":
        """The same scope, in which nothing is known of what was written to files."""
        return replace(self, files={}, origins={}, links={})

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
        meant = self.references.get(name)
        if meant is not None:
            self.variables[meant] = self._merged(values, self.values(meant))
        if self.uncertain or name in self.constant:
            values = self._merged(values, self.values(name))
        self.variables[name] = self._merged(values)

    def assign_element(self, name: str, key: str, values: tuple[Value, ...]) -> None:
        """Give an element of an array the values that it may have from here on.

        Under a key that is no number they are told apart no more from the others.
        """
        before = self.values(name)
        arrays = [_with_element(one, key, each) for one in before for each in values]
        others = (*values, *before) if None in arrays else ()
        self.assign(name, (*arrays, *others))

    def values(self, name: str) -> tuple[Value, ...]:
        """What a variable may hold; something unknown where it was never set."""
        return self.variables.get(name, (None,))

    @property
    def may_not_run(self) -> bool:
        """Whether what stands here may not run, though the function was called."""
        return self.uncertain > self.called

    def set_parameters(self, each: tuple[tuple[str, ...] | None, ...]) -> None:
        """Let the positional parameters be one of these from here on."""
        if self.may_not_run:
            each = (*each, *self.parameters)
        self.parameters = tuple(dict.fromkeys(each))
        if len(self.parameters) > self.most_values:
            self.parameters = (None, *self.parameters[: self.most_values])

    def _merged(self, *parts: tuple[Value, ...]) -> tuple[Value, ...]:
        values = tuple(
            dict.fromkeys(self._bounded(value) for part in parts for value in part)
        )
        if len(values) > self.most_values:
            return (None, *values[: self.most_values])
        return values

    def _bounded(self, value: Value) -> Value:
        too_long = isinstance(value, str) and len(value) > self.longest
        return None if too_long else value

    def calling(self, parameters: tuple[str, ...]) -> "Scope":
        """The scope of a function's body: the same shell, other parameters."""
        called = self.child(self.name, parameters)
        called.variables = self.variables
        called.uncertain = called.called = self.uncertain + 1
        return called


def _with_element(array: Value, key: str, value: Value) -> Value:
    """An array with an element at the place `key`; unknown where that is not known."""
    elements = (array,) if isinstance(array, str) else array or ()
    if not (key.isdigit() and isinstance(value, str) and int(key) <= len(elements)):
        return None
    return (*elements[: int(key)], value, *elements[int(key) + 1 :])


def added(one: Value, two: Value) -> Value:
    """A value with another behind it, as `+=` makes it."""
    if one is None or two is None:
        return None
    if isinstance(one, str) and isinstance(two, str):
        return one + two
    first = one if isinstance(one, tuple) else (one,)
    second = two if isinstance(two, tuple) else (two,)
    return (*first, *second)
