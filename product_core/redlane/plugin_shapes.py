"""What a plugin offers must have this shape; whatever has another is left out."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from redlane.model.commands import CommandGroup, is_command_name
from redlane.model.content import Reader
from redlane.model.field import Field, Kind
from redlane.model.matching import MatchType
from redlane.model.plugin_api import API_VERSION
from redlane.model.policy import Context

__all__ = [
    "CONTEXT_PACKAGES",
    "FIRST_API",
    "command_problem",
    "context_problem",
    "is_prepared",
    "match_type_problem",
    "reviewer_problem",
    "version_problem",
]

CONTEXT_PACKAGES: Mapping[str, str] = MappingProxyType(
    {Context.SYSCALL: "redlane-context-syscall"}
)
"""The package that brings each context of the policy format that is a plugin's."""

FIRST_API = "1.0"
"""The version that a plugin is for which says nothing of it."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,30}")
_OF_ALL_JURORS = frozenset({"name", "type", "timeout_seconds"})
_BUILT_IN_JURORS = frozenset({"command", "http", "model"})
_VERSION = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})")


def version_problem(wanted: object) -> str | None:
    """Why a plugin for the API version `wanted` cannot be used here, or None.

    The same major version promises that what was there is there still; a higher minor
    one has names that are missing here.
    """
    match = _VERSION.fullmatch(wanted) if isinstance(wanted, str) else None
    if match is None:
        return f'`redlane_api` must be a version such as "1.0", not {wanted!r}'
    major, minor = map(int, match.groups())
    own_major, own_minor = map(int, API_VERSION.split("."))
    if major == own_major and minor <= own_minor:
        return None
    newer = (major, minor) > (own_major, own_minor)
    mend = "upgrade Redlane" if newer else "upgrade the plugin"
    return f"it wants plugin API {wanted}, and this Redlane has {API_VERSION}: {mend}"


def match_type_problem(match_type: Any) -> str | None:  # noqa: ANN401  # comes from outside
    """Why an object is no match type, or None."""
    if isinstance(match_type, type):
        return f"{match_type.__name__} is a class: offer an object of it"
    for member in ("name", "contexts", "reader", "fields", "ignores_action"):
        if not hasattr(match_type, member):
            return f"match type {match_type!r} has no attribute {member!r}"
    prepares = is_prepared(match_type)
    for method in ("problems", "prepare" if prepares else "compile"):
        if not callable(getattr(match_type, method, None)):
            return f"match type {match_type!r} has no method {method!r}"
    if prepares and not hasattr(match_type, "settings"):
        return f"match type {match_type!r} has no attribute 'settings'"
    if not isinstance(match_type.name, str) or not match_type.name:
        return f"match type {match_type!r} has no name"
    return _attribute_problem(match_type)


def is_prepared(match_type: object) -> bool:
    """Whether a match type has settings or something to load (`PreparedMatchType`)."""
    return hasattr(match_type, "prepare") or hasattr(match_type, "settings")


def _attribute_problem(match_type: MatchType) -> str | None:
    """Why an attribute of a match type has no value that it may have, or None."""
    # Only checked here, because what a plugin offers has whatever types it likes.
    contexts = frozenset(match_type.contexts)
    sound = {
        "contexts": all(isinstance(each, Context) for each in contexts)
        and not (is_prepared(match_type) and Context.SYSCALL in contexts),
        "reader": isinstance(match_type.reader, Reader),
        "fields": all(
            isinstance(each, str) or _is_row(each) for each in match_type.fields
        ),
        "settings": all(map(_is_row, getattr(match_type, "settings", ()))),
        "ignores_action": isinstance(match_type.ignores_action, bool),
    }
    wrong = next((name for name, is_sound in sound.items() if not is_sound), None)
    return wrong and f"match type {match_type.name!r} has an unusable {wrong!r}"


def command_problem(command: Any) -> str | None:  # noqa: ANN401  # comes from outside
    """Why an object is no command that a plugin may offer, or None."""
    if not isinstance(command, CommandGroup):
        return f"{command!r} is no CommandGroup"
    # A dataclass takes whatever it is given.
    members = ("name", "summary", "register")
    name, summary, register = (getattr(command, each) for each in members)
    if not isinstance(name, str) or not is_command_name(name):
        return f"command {name!r} has no name of small letters, digits and -"
    if not isinstance(summary, str) or not summary.isprintable():
        return f"command {name!r} has no summary"
    if not callable(register):
        return f"command {name!r} has no function 'register'"
    return None


def _is_row(row: Any) -> bool:  # noqa: ANN401  # comes from outside
    """Whether an object is a row of a table, with values that it may have."""
    if not isinstance(row, Field) or not isinstance(row.kind, Kind):
        return False
    texts = (row.name, row.help, *row.choices)
    limits = (row.minimum, row.maximum)
    return (
        bool(row.name)
        and all(isinstance(each, str) for each in texts)
        and all(each is None or isinstance(each, int | float) for each in limits)
        and isinstance(row.default, str | int | float | tuple | None)
    )


def reviewer_problem(reviewer: Any) -> str | None:  # noqa: ANN401  # comes from outside
    """Why an object is no reviewer that a plugin may offer, or None."""
    if isinstance(reviewer, type):
        return f"{reviewer.__name__} is a class: offer an object of it"
    name = getattr(reviewer, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"reviewer {reviewer!r} has no name of letters, digits and -"
    if name in _BUILT_IN_JURORS:
        return f"reviewer {name!r} has the name of a type that is built in"
    rows: Any = getattr(reviewer, "settings", (None,))
    if not all(_is_row(each) and each.name not in _OF_ALL_JURORS for each in rows):
        return f"reviewer {name!r} has unusable 'settings'"
    for method in ("problems", "review"):
        if not callable(getattr(reviewer, method, None)):
            return f"reviewer {name!r} has no method {method!r}"
    return None


def context_problem(context: Any) -> str | None:  # noqa: ANN401  # comes from outside
    """Why an object is no context that a plugin may offer, or None."""
    if isinstance(context, type):
        return f"{context.__name__} is a class: offer an object of it"
    name = getattr(context, "name", None)
    if not isinstance(name, str) or not _is_context_name(name):
        known = ", ".join(CONTEXT_PACKAGES)
        return (
            f"context {context!r} has no name that a plugin may offer: {known}, or "
            "one of its own, of letters, digits and -"
        )
    methods = ("problems", "coverage", "guard")
    for method in methods if name in CONTEXT_PACKAGES else ("start", "stop"):
        if not callable(getattr(context, method, None)):
            return f"context {context!r} has no method {method!r}"
    return None


def _is_context_name(name: str) -> bool:
    """Whether a plugin may offer it: what Redlane sees itself stays Redlane's."""
    if name in CONTEXT_PACKAGES:
        return True
    taken = {each.casefold() for each in Context}
    return bool(_NAME.fullmatch(name)) and name.casefold() not in taken
