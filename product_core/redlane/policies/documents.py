"""One object of a file against its table: every violation, none thrown at the first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from redlane.model.problem import Problem, Severity
from redlane.policies.fields import Condition, Table
from redlane.policies.nearness import near_miss, short
from redlane.policies.values import value_problem

__all__ = ["Violation", "check_document"]

Document = Mapping[str, Any]
"""A JSON object as parsed."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A problem of one object, and the field that it is about ("" for several)."""

    field: str
    problem: Problem

    @property
    def is_error(self) -> bool:
        """Whether the object cannot be used."""
        return self.problem.severity is Severity.ERROR


def check_document(
    table: Table,
    conditions: Iterable[Condition],
    document: Document,
) -> list[Violation]:
    """All that is wrong with an object.

    A field given as null is as if it were absent. A condition is left out when a field
    that it reads has the wrong form: that is told already.
    """
    found = [
        each
        for name, value in document.items()
        for each in _field_violations(table, name, value)
    ]
    wrong = {each.field for each in found if each.is_error}
    missing = [
        field.name
        for field in table.values()
        if field.required and document.get(field.name) is None
    ]
    found.extend(
        _error(name, f"`{name}` is missing") for name in missing if name not in wrong
    )
    wrong.update(missing)
    found.extend(
        _error(_subject_of(condition), condition.message.format_map(_plain(document)))
        for condition in conditions
        if _is_violated(table, condition, document)
        and not wrong.intersection(_read_by(condition))
    )
    return found


def _field_violations(table: Table, name: str, value: object) -> Iterable[Violation]:
    field = table.get(name)
    if field is not None:
        problem = None if value is None else value_problem(field, value)
        if problem:
            yield _error(name, problem)
    else:
        near = near_miss(name, tuple(table))
        if near:
            yield _error(near, f"unknown field {short(name)}: did you mean `{near}`?")
        else:
            unknown = f"unknown field {short(name)}: it has no effect"
            yield Violation("", Problem(Severity.WARNING, unknown))


def _is_violated(table: Table, condition: Condition, document: Document) -> bool:
    for name, values in condition.when.items():
        value = document.get(name)
        if value is None:
            value = table[name].default
        if value not in values:
            return False
    if condition.given and document.get(condition.given) is None:
        return False
    return all(document.get(name) is None for name in condition.needs)


def _read_by(condition: Condition) -> set[str]:
    return {*condition.when, *condition.needs, condition.given} - {""}


def _subject_of(condition: Condition) -> str:
    return condition.needs[0] if condition.needs else "context"


def _plain(document: Document) -> Mapping[str, str]:
    """The fields that messages quote, all of them choices."""
    return {
        "type": str(document.get("type")),
        "context": str(document.get("context") or "All"),
    }


def _error(field: str, message: str) -> Violation:
    return Violation(field, Problem(Severity.ERROR, message))
