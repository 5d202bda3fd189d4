"""Aliases, and the tables of bash that are as good as some."""

from collections.abc import Iterable
from shlex import quote

from redlane.contexts.shell.analysis.walker import Walker
from redlane.contexts.shell.expansion.fields import Fields
from redlane.contexts.shell.expansion.scope import Scope

__all__ = ["expand_alias", "note_element"]

_TABLES = frozenset({"BASH_ALIASES", "BASH_CMDS"})


def expand_alias(argv: Fields, walker: Walker, scope: Scope) -> None:
    """Walk what an alias makes of the words that stand behind it."""
    rest = " ".join(map(quote, argv[1:]))
    for value in scope.aliases.get(argv[0], ()):
        walker.expand_alias(argv[0], f"{value} {rest}", scope)


def note_element(name: str, texts: Iterable[str], scope: Scope) -> None:
    """Take an element of a table in which commands are looked up."""
    table, _, key = name.partition("[")
    if table in _TABLES:
        known = dict.fromkeys(texts)
        scope.aliases.setdefault(key.removesuffix("]"), {}).update(known)
