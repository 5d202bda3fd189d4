"""How far a text is followed: bounds on work, and how strictly meanings are told.

A command line is followed strictly: every value of every variable with every other,
and what has too many meanings is refused. Scripts on disk are programs, in which many
meanings are common; one that cannot be followed strictly is followed lightly.
"""

from dataclasses import dataclass

from redlane.contexts.shell.grammar.words import TooComplex

__all__ = ["LIGHT", "STRICT", "Budget", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """`values` of a variable are told apart, `calls` of a function are walked.

    With more of them, `strict` refuses the text; otherwise some of them are left out,
    but no command is.
    """

    strict: bool
    values: int
    calls: int
    loops: int


STRICT = Limits(strict=True, values=256, calls=1_000_000, loops=2)
LIGHT = Limits(strict=False, values=3, calls=2, loops=1)


class Budget:
    """Commands to walk and characters to make, within those of a `parent`."""

    __slots__ = ("_made", "_parent", "_steps")

    def __init__(self, steps: int, made: int, parent: "Budget | None" = None) -> None:
        self._steps = steps
        self._made = made
        self._parent = parent

    def allow(self, steps: int) -> None:
        """Allow more commands, here and above: there is more text to walk."""
        self._steps += steps
        if self._parent is not None:
            self._parent.allow(steps)

    def step(self) -> None:
        """Account for one command walked: loops in loops and calls must end."""
        self._steps -= 1
        if self._steps < 0:
            raise TooComplex("it does too much to be followed")
        if self._parent is not None:
            self._parent.step()

    def made(self, length: int) -> None:
        """Account for text that expansion makes: growth by doubling must end."""
        self._made -= length
        if self._made < 0:
            raise TooComplex("it expands to more than can be judged")
        if self._parent is not None:
            self._parent.made(length)
