"""How far a text is followed: bounds on work, and how strictly meanings are told.

A command line is followed strictly: every value of every variable with every other,
what is not known may also be nothing, and what has too many meanings is refused. A
script on disk is a program: it is taken at its word, and what it works out is judged
where it runs. It is followed for some way, and then read literally to its end.
"""

import sys
from dataclasses import dataclass

from redlane.contexts.shell.grammar.expansions import TooComplex

__all__ = ["FOLLOWED", "LIGHT", "LITERAL", "STRICT", "UNBOUNDED", "Budget", "Limits"]


UNBOUNDED = sys.maxsize
_FEWEST_STEPS = 5_000
_MOST_MADE = 32 * 1024 * 1024
_STEPS_IN_SCRIPTS = 3_000
_MOST_MADE_IN_SCRIPTS = 256 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """`values` of a variable are told apart, `calls` of a function are walked.

    With more of them, `strict` refuses the text; otherwise some of them are left out,
    but no command is. If it `guesses`, a word that is not known may also be nothing.
    A loop is walked `loops` times at most. So often as `writes` a file is written until
    what is in it is not known; what is longer than `longest` is not known either.
    """

    strict: bool
    guesses: bool
    values: int
    calls: int
    loops: int
    writes: int
    longest: int = UNBOUNDED


STRICT = Limits(
    strict=True, guesses=True, values=256, calls=1_000_000, loops=16, writes=200
)
LIGHT = Limits(strict=False, guesses=True, values=3, calls=2, loops=1, writes=16)
FOLLOWED = Limits(
    strict=False,
    guesses=False,
    values=8,
    calls=4,
    loops=2,
    writes=16,
    longest=64 * 1024,
)
LITERAL = Limits(
    strict=False,
    guesses=False,
    values=2,
    calls=0,
    loops=1,
    writes=0,
    longest=4 * 1024,
)


class Budget:
    """Commands to walk and characters to make, within those of a `parent`."""

    __slots__ = ("_made", "_parent", "_steps")

    def __init__(self, steps: int, made: int, parent: "Budget | None" = None) -> None:
        self._steps = steps
        self._made = made
        self._parent = parent

    @classmethod
    def of_command(cls) -> "Budget":
        """What a command line may take; more is allowed it by its length."""
        return cls(_FEWEST_STEPS, _MOST_MADE)

    @classmethod
    def to_follow_scripts(cls) -> "Budget":
        """How far the scripts of a command are followed, all together."""
        return cls(_STEPS_IN_SCRIPTS, _MOST_MADE_IN_SCRIPTS)

    @classmethod
    def enough_for(cls, script: str) -> "Budget":
        """What reading a script literally takes at most."""
        length = len(script)
        return cls(_FEWEST_STEPS + length, _MOST_MADE_IN_SCRIPTS + 64 * length)

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
