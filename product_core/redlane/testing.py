"""For the tests of a plugin: a policy of its own, judged as the daemon judges it.

Nothing of Redlane imports this. The policies go the whole way: written to files, loaded
with every check that `redlane config check` makes, compiled, and asked by the engine.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from redlane.contexts.parse import parse_contents
from redlane.engine.judge import judge as judge_contents
from redlane.errors import LoadError
from redlane.model.policy import Context
from redlane.model.problem import Finding, Severity
from redlane.model.verdict import Decision, Lane, Verdict
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.check import compile_errors
from redlane.policies.loaded import Loaded
from redlane.policies.loading import load

__all__ = ["Decision", "Lane", "LoadError", "Verdict", "findings", "judge"]

_ROLE = "tested"

Document: TypeAlias = Mapping[str, Any]
"""A policy as a file has it."""


def judge(
    policies: Document | Sequence[Document],
    content: str | bytes | Mapping[str, Any],
    *,
    context: str = "Shell",
    plugin: object = None,
    settings: Document | None = None,
) -> Verdict:
    """The verdict of a role that holds `policies`, one or several, on `content`.

    Content of the contexts Mcp and Syscall may be the object itself. `plugin` is a
    module, or an object, with hooks; one that is installed need not be named.

    Raises LoadError when the policies or the settings do not load, and ContentError
    when the content has not the form that its context needs.
    """
    loaded, found = _loaded(policies, plugin, settings)
    errors = [_line(each) for each in found if each.severity is Severity.ERROR]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise LoadError(errors[0] + more)
    contents = parse_contents(Context(context), _data(content))
    return judge_contents(loaded.ruleset, _ROLE, contents)


def findings(
    policies: Document | Sequence[Document],
    *,
    plugin: object = None,
    settings: Document | None = None,
) -> tuple[str, ...]:
    """What `redlane config check` would say of the policies, a line each.

    Whether they compile is told once nothing else is wrong with them.
    """
    _, found = _loaded(policies, plugin, settings)
    return tuple(map(_line, found))


def _loaded(
    policies: Document | Sequence[Document],
    plugin: object,
    settings: Document | None,
) -> tuple[Loaded, tuple[Finding, ...]]:
    members = [policies] if isinstance(policies, Mapping) else list(policies)
    names = [each["id"] for each in members if isinstance(each.get("id"), str)]
    files = {
        "policies/tested.json": members,
        "roles/tested.json": {"name": _ROLE, "policies": list(dict.fromkeys(names))},
        "settings.json": settings or {},
    }
    given = () if plugin is None else (plugin,)
    with tempfile.TemporaryDirectory(prefix="redlane-testing-") as home:
        for name, value in files.items():
            file = Path(home, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(value), encoding="utf-8")
        paths = Paths.from_environment({"HOME": home, "REDLANE_HOME": home})
        loaded = load(paths, find_plugins(*given))
    errors = () if loaded.errors else compile_errors(loaded)
    return loaded, (*errors, *loaded.findings)


def _data(content: str | bytes | Mapping[str, Any]) -> bytes:
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content)).encode()


def _line(finding: Finding) -> str:
    """A finding as `config check` words it, without the file, which is gone."""
    subject = f"{finding.subject}: " if finding.subject else ""
    return f"{finding.severity}: {subject}{finding.message}"
