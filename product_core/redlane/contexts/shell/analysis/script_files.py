"""Walks a script on disk: followed as far as that goes, then read as it stands."""

from contextlib import suppress
from typing import Protocol

from redlane.contexts.shell.analysis.findings import Findings
from redlane.contexts.shell.expansion.limits import (
    FOLLOWED,
    LITERAL,
    Budget,
    Limits,
)
from redlane.contexts.shell.expansion.scope import NOTHING, OutputTexts, Scope
from redlane.contexts.shell.expansion.scripts import Script
from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.grammar.syntax import Pipeline

__all__ = ["ScriptWalk", "walk_script"]


class ScriptWalk(Protocol):
    """What a script needs of the walk that meets it."""

    findings: Findings
    limits: Limits
    depth: int
    following: Budget

    def inside(self, script: Script, limits: Limits, budget: Budget) -> "ScriptWalk":
        """A walk inside a script, within limits of its own."""

    def apart(self, findings: Findings) -> "ScriptWalk":
        """A walk that begins with nothing."""

    def script(
        self, pipelines: list[Pipeline], scope: Scope, stdin: OutputTexts
    ) -> None:
        """Walk what the script holds, and all that it puts off."""


def walk_script(
    walk: ScriptWalk, script: Script, scope: Scope, stdin: OutputTexts = NOTHING
) -> None:
    """Follow a script as far as that goes; else see each command as it stands."""
    is_new = not walk.findings.has_read(script.path)
    pipelines = walk.findings.script(script, walk.depth)
    if walk.limits is not LITERAL:
        followed = walk.inside(script, FOLLOWED, walk.following)
        with suppress(TooComplex):
            return followed.script(pipelines, scope, stdin)
    # Not all of its functions, values and files are told apart from here on.
    walk.findings.leave_open(script)
    if is_new:
        literal = walk.inside(script, LITERAL, Budget.enough_for(script.text))
        literal.script(pipelines, scope.without_files(), stdin)
    return None
