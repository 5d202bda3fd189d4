"""Fields that are right in form but do nothing where they stand: warnings.

A field without effect is a rule that its author believes in and nobody enforces.
"""

from collections.abc import Iterator
from typing import Any

from redlane.model.policy import Action, Context
from redlane.policies.fields import FORMAT_TYPES, POLICY, TRANSFORM, Table

__all__ = ["policy_effects", "transform_effects"]

_SYSCALL_CONTEXTS = (Context.SYSCALL, Context.ALL, None)


def policy_effects(document: dict[str, Any]) -> Iterator[str]:
    """A line for each field of a policy that has no effect."""
    type_name, action = document.get("type"), document.get("action")
    if type_name in FORMAT_TYPES:
        yield from _of_other_types(POLICY, document, "policies")
    if document.get("transform") is not None and action != Action.MODIFY:
        yield "`transform` has no effect unless the action is Modify"
    if type_name == "MlClassifier" and action == Action.MODIFY:
        yield "the action of MlClassifier policies is ignored: nothing is rewritten"
    if document.get("scope") is not None:
        yield from _scope_effects(document)
    yield from _syscall_effects(document)


def transform_effects(document: dict[str, Any]) -> Iterator[str]:
    """A line for each field of a transform that has no effect."""
    return _of_other_types(TRANSFORM, document, "transforms")


def _scope_effects(document: dict[str, Any]) -> Iterator[str]:
    """`scope` only counts where there are commands to permit."""
    if document.get("action") != Action.ALLOW:
        yield "`scope` has no effect unless the action is Allow"
    elif document.get("context") not in (Context.SHELL, Context.ALL, None):
        yield "`scope` has no effect outside context Shell: nothing else has commands"


def _of_other_types(table: Table, document: dict[str, Any], what: str) -> Iterator[str]:
    for name, value in document.items():
        types = table[name].types if name in table and value is not None else ()
        if types and document.get("type") not in types:
            yield f"`{name}` has no effect on {document.get('type')} {what}"


def _syscall_effects(document: dict[str, Any]) -> Iterator[str]:
    """`syscall` and `kill` only count where a policy takes part in context Syscall."""
    context = document.get("context")
    names_some = document.get("syscall") is not None
    supported = document.get("type") not in ("McpTool", "MlClassifier")
    if names_some and not (context in _SYSCALL_CONTEXTS and supported):
        yield "`syscall` has no effect: the policy takes no part in context Syscall"
    takes_part = context == Context.SYSCALL or (
        context in _SYSCALL_CONTEXTS and names_some
    )
    if document.get("kill") and not (takes_part and supported):
        yield "`kill` has no effect outside context Syscall"
    elif document.get("kill") and document.get("action") != Action.BLOCK:
        yield "`kill` has no effect unless the action is Block"
