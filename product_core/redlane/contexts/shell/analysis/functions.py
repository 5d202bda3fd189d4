"""Functions as the walk meets them: defined again, and calling themselves."""

from dataclasses import replace

from redlane.contexts.shell.analysis.findings import Findings
from redlane.contexts.shell.expansion.scope import Scope
from redlane.contexts.shell.grammar.names import dependencies
from redlane.contexts.shell.grammar.syntax import Group, Pipeline, Simple

__all__ = ["call_state", "define", "show_fork_bomb"]


def define(group: Group, scope: Scope) -> None:
    """Let a function hold from here on; where that may not run, also the one before."""
    before = scope.functions.get(group.function)
    if before is None or not scope.uncertain or _holds(before, group):
        scope.functions[group.function] = group
        return
    bodies = [Pipeline([replace(each, function="")]) for each in (before, group)]
    scope.functions[group.function] = Group("if", bodies, group.function)


def call_state(
    name: str, argv: tuple[str, ...], scope: Scope
) -> tuple[tuple[str, ...], tuple[tuple[str, object], ...]]:
    """All that what a function does may depend on, its input apart."""
    used = dependencies(name, scope.functions)
    known = scope.variables
    values = tuple((each, known[each]) for each in sorted(used) if each in known)
    takes = any(each.isdigit() or each in "@*#" for each in used)
    return (argv if takes else (), values)


def _holds(before: Group, group: Group) -> bool:
    """Whether a function is one that was defined before, or may be."""
    parts = [before, *(stage for each in before.body for stage in each.stages)]
    return any(isinstance(each, Group) and each.body is group.body for each in parts)


def show_fork_bomb(group: Group, findings: Findings) -> None:
    """Show a function that pipes itself into itself as the classic one."""
    name = group.function
    for pipeline in group.body:
        for stage in pipeline.stages:
            inner = stage.body if isinstance(stage, Group) else [pipeline]
            for each in inner:
                calls = [
                    one
                    for one in each.stages
                    if isinstance(one, Simple) and one.words[:1] == [name]
                ]
                if len(calls) > 1:
                    findings.command(":() { :|:& };:")
