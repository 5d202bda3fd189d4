"""What a command needs of the walk that it is part of."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from redlane.contexts.shell.analysis.findings import Findings
from redlane.contexts.shell.expansion.fields import Fields
from redlane.contexts.shell.expansion.limits import Budget, Limits
from redlane.contexts.shell.expansion.scope import NOTHING, OutputTexts, Scope
from redlane.contexts.shell.grammar.syntax import Substitution
from redlane.contexts.shell.knowledge.inner import Inner

__all__ = ["Walker"]


class Walker(Protocol):
    """What a command needs of the walk that it is part of."""

    findings: Findings
    limits: Limits
    budget: Budget

    def note_unknown(self, words: Mapping[int, object]) -> None:
        """Note words that are not known, in what is run."""

    def note_open(self, *, guessed: bool = True) -> None:
        """Note that more may run, or something else than was found.

        Unless it is `guessed`, the words that were found are the only ones.
        """

    def has_met(self, argv: Fields, directory: str | None) -> bool:
        """Whether a command has been walked that need not be walked again."""

    def substitute(
        self, part: Substitution, scope: Scope, stdin: OutputTexts = NOTHING
    ) -> OutputTexts:
        """Walk a substitution and tell what it prints."""

    def run_inner(
        self, found: Iterable[Inner], scope: Scope, stdin: OutputTexts
    ) -> OutputTexts:
        """Walk what a command runs, and tell what that prints."""

    def run_program(
        self, path: str, run: Inner, scope: Scope, stdin: OutputTexts
    ) -> None:
        """Walk a script that is named by its path as a command."""

    def call(
        self, name: str, argv: Fields, scope: Scope, stdin: OutputTexts
    ) -> OutputTexts:
        """Walk the body of a function for one call."""

    def expand_alias(self, name: str, text: str, scope: Scope) -> None:
        """Walk what an alias and the words behind it come to; not inside itself."""

    def run_output(self, part: Substitution, scope: Scope, stdin: OutputTexts) -> None:
        """Walk what a substitution prints, because that is run as a command."""
