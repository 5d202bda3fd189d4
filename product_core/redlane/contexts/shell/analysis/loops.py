"""How often a loop is walked, and what its variable holds."""

from collections.abc import Callable, Iterable
from itertools import chain

from redlane.contexts.shell.expansion.fields import Fields
from redlane.contexts.shell.expansion.scope import OutputTexts, Scope, Value

__all__ = ["set_variable", "walk_rounds"]


def walk_rounds(
    walk: Callable[[], OutputTexts], scope: Scope, most: int
) -> tuple[OutputTexts, bool]:
    """Walk a loop twice, and on while values only go from name to name.

    Also told is whether that is all: values that grow are not followed to their end.
    """
    output = walk()
    is_stateless = not (scope.variables or scope.files or scope.functions)
    if most == 1 or (is_stateless and scope.parameters == ((),)):
        return output, True
    for _ in range(1, most):
        before = dict(scope.variables)
        output = walk()
        now = scope.variables.items()
        new = {each for name, each in now if each != before.get(name)}
        if not new:
            return output, True
        if not set(chain(*before.values())).issuperset(chain(*new)):
            break
    return output, False


def set_variable(
    name: str, meanings: Iterable[Fields], scope: Scope
) -> tuple[Value, ...]:
    """Give the variable of a loop its values; those that it keeps if there are none."""
    before = scope.values(name)
    scope.variables.pop(name, None)
    found = tuple(field for fields in meanings for field in fields)
    uncertain, scope.uncertain = scope.uncertain, 0
    scope.assign(name, found or (None,))
    scope.uncertain = uncertain
    return before
