"""The parameters and functions that a compound command depends on."""

from collections.abc import Iterable, Iterator, Mapping

from redlane.contexts.shell.grammar.syntax import (
    Arithmetic,
    Group,
    Parameter,
    Part,
    Pipeline,
    Simple,
    Substitution,
    Word,
)

__all__ = ["dependencies"]


def dependencies(name: str, functions: Mapping[str, Group]) -> frozenset[str]:
    """The parameters that a function uses, itself or in functions that it calls."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        group = functions.get(current)
        if group is None or current in seen:
            continue
        seen.add(current)
        for each, calls in _used(group.body):
            (waiting.append if calls else found.add)(each)
    return frozenset(found)


def _used(body: Iterable[Pipeline]) -> Iterator[tuple[str, bool]]:
    """Names used, each with whether it is a command's and so may be a function."""
    waiting: list[Group | Simple] = [
        stage for pipeline in body for stage in pipeline.stages
    ]
    while waiting:
        stage = waiting.pop()
        for word in _words(stage):
            if isinstance(word, str):
                yield word, True
            else:
                for inner in _parts(word):
                    if isinstance(inner, Parameter):
                        yield inner.name, False
                    else:
                        waiting += (each for one in inner for each in one.stages)
        if isinstance(stage, Group):
            waiting += (each for one in stage.body for each in one.stages)


def _words(stage: Group | Simple) -> Iterator[Word]:
    yield from (each.target for each in stage.redirections)
    if isinstance(stage, Group):
        yield from stage.values
        return
    yield from stage.words
    for assignment in stage.assignments:
        if isinstance(assignment.value, list):
            yield from assignment.value
        else:
            yield assignment.value


def _parts(word: tuple[Part, ...]) -> Iterator[Parameter | list[Pipeline]]:
    """The parameters in a word, and the commands in its substitutions."""
    waiting: list[Word] = [word]
    while waiting:
        current = waiting.pop()
        for part in current if isinstance(current, tuple) else ():
            if isinstance(part, Parameter):
                yield part
                waiting.append(part.argument)
            elif isinstance(part, Substitution):
                yield part.body
            elif isinstance(part, Arithmetic):
                waiting.append(part.inside)
