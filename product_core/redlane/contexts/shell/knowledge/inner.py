"""What a command runs: the pieces that unwrapping finds in its words."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from redlane.contexts.shell.expansion.scope import OutputTexts

__all__ = ["Code", "File", "Inner", "Text", "Unwrap", "Words", "option_values"]


@dataclass(frozen=True, slots=True)
class Words:
    """Another command, its words known; it has the outer command's input."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A command string. `parameters` are `$0`, `$1` and so on of a shell of its own.

    Without them it runs in the shell that is there; `later` says not at once, so with
    what variables hold at the end.
    """

    text: str
    parameters: tuple[str, ...] | None = None
    later: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A script; `shared` when the shell that is there reads it, as `source` does.

    A shell goes on with something else after what `is_startup`.
    """

    path: str
    parameters: tuple[str, ...] = ()
    shared: bool = False
    is_startup: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """A program in another language, and the command that would run it as text."""

    language: str
    text: str


_SHORTEST = len("--xx")
"""Long options may be abbreviated: so much of them is taken for one."""

Inner = Words | Text | File | Code
Unwrap = Callable[[Sequence[str], OutputTexts], Iterable[Inner]]
"""From a command's words and its input to what it runs."""


def option_values(arguments: Sequence[str], options: Iterable[str]) -> list[str]:
    """The values of `options`, given as `--name=value`, `--name value` or `-nvalue`."""
    found: list[str] = []
    for place, argument in enumerate(arguments):
        if argument[:1] not in ("-", "+"):
            continue
        for option in options:
            name, sign, value = argument.partition("=")
            if argument == option:
                found += arguments[place + 1 : place + 2]
            elif len(name) >= _SHORTEST and option.startswith(name) and name != option:
                found += [value] if sign else arguments[place + 1 : place + 2]
            elif not argument.startswith(option):
                cluster = argument[1:].partition(option[1:])
                if len(option) == len("-x") and cluster[1] and cluster[0].isalpha():
                    found += (
                        [cluster[2]] if cluster[2] else arguments[place + 1 : place + 2]
                    )
            elif len(option) == len("-x"):
                found.append(argument[len(option) :])
            elif argument[len(option)] == "=":
                found.append(argument[len(option) + 1 :])
    return found
