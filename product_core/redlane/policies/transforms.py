"""The transform of a Modify policy: its form, and whether it can ever work."""

from collections.abc import Iterator
from typing import Any

from redlane.model.policy import Transform, TransformType
from redlane.model.problem import Problem, Severity
from redlane.policies.documents import Violation, check_document
from redlane.policies.effects import transform_effects
from redlane.policies.fields import TRANSFORM, TRANSFORM_CONDITIONS

__all__ = ["check_transform", "parse_transform"]


def check_transform(document: dict[str, Any]) -> list[Violation]:
    """Everything wrong with the form of a transform."""
    return [
        Violation("transform", _within(each.problem))
        for each in check_document(TRANSFORM, TRANSFORM_CONDITIONS, document)
    ]


def parse_transform(document: dict[str, Any]) -> tuple[Transform, list[Problem]]:
    """A transform whose form is right, and what will not work about it."""
    transform = Transform(
        type=TransformType(document["type"]),
        pattern=document.get("pattern") or "",
        replacement=document.get("replacement") or "",
        command=document.get("command") or "",
        blocks_encoded=bool(document.get("blocks_encoded")),
        spares_credentials=bool(document.get("spares_credentials")),
    )
    found = [_within(each) for each in _problems(transform)]
    found.extend(
        _within(Problem(Severity.WARNING, message))
        for message in transform_effects(document)
    )
    return transform, found


def _problems(transform: Transform) -> Iterator[Problem]:
    """A pattern that does not compile, a group that is not there, no command."""
    if transform.type is TransformType.EXECUTABLE:
        from redlane.execution import command_problems  # noqa: PLC0415  # rarely needed

        yield from command_problems(transform.command)
        return
    from redlane.patterns import (  # noqa: PLC0415  # rarely needed, and slow to import
        PatternError,
        compile_pattern,
        replacement_problems,
    )

    try:
        compiled = compile_pattern(transform.pattern)
    except PatternError as error:
        yield Problem(Severity.ERROR, f"`pattern`: {error}")
        return
    for message in replacement_problems(compiled, transform.replacement):
        yield Problem(Severity.ERROR, f"`replacement`: {message}")


def _within(problem: Problem) -> Problem:
    return Problem(problem.severity, f"transform: {problem.message}")
