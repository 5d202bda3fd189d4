"""What the redirections of a command show to policies, and what they leave in files."""

import re
from collections.abc import Iterable
from itertools import product
from math import prod

from redlane.contexts.shell.analysis.findings import Findings
from redlane.contexts.shell.analysis.forms import placed
from redlane.contexts.shell.expansion.limits import Limits
from redlane.contexts.shell.expansion.scope import OutputTexts, Scope
from redlane.contexts.shell.expansion.scripts import MOST_BYTES
from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.grammar.syntax import Redirection
from redlane.contexts.shell.knowledge.known import is_odd

__all__ = ["UNKNOWN", "Redirections"]

UNKNOWN = ("$", "`")
"""How a word begins that is not known, and was kept as it is written."""

_SIGNS = {">|": ">", "&>": ">", "&>>": ">>"}
_DESCRIPTOR = re.compile(r"[0-9]*-?")
_MOST_TEXTS = 16
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", ""})


class Redirections:
    """The redirections of one command, whose normal form is `form`."""

    def __init__(
        self, findings: Findings, limits: Limits, scope: Scope, form: str
    ) -> None:
        self._findings = findings
        self._limits = limits
        self._scope = scope
        self._form = form
        self._shown: list[list[str]] = []
        self._leaves = False

    def take(
        self, each: Redirection, targets: tuple[str, ...], output: OutputTexts
    ) -> None:
        """Take one, with all that its target may come to, and what goes there."""
        self._leaves |= ">" in each.operator and each.descriptor in ("", "1")
        if targets:
            self._shown.append([self._show(each, one) for one in targets])
        if ">" in each.operator:
            for target in targets:
                if target and not _is_descriptor(each, target):
                    self._write(target, output)

    def remaining(self, output: OutputTexts) -> OutputTexts:
        """Show them with their command; what may come out of it still."""
        if self._form:
            for row in self._rows():
                self._findings.command(f"{self._form} {' '.join(row)}")
        if not self._leaves:
            return output
        return OutputTexts.made(lambda: (*output.texts(), ""), output)

    def _show(self, each: Redirection, target: str) -> str:
        """One as it is shown behind its command; shows it by itself too."""
        sign = _SIGNS.get(each.operator, each.operator)
        if _is_descriptor(each, target):
            self._findings.command(f"{sign}{target}")
            return f"{each.descriptor}{sign}{target}"
        sign = "> " if sign == ">&" else f"{sign} ".replace("& ", "&")
        if target not in _NOWHERE:
            self._findings.effects[f"{sign}{target}"] = None
        where = placed(target, self._scope.cwd, moved=self._scope.moved)
        for path in filter(None, dict.fromkeys((target, where))):
            self._findings.command(f"{sign}{path}")
        return f"{each.descriptor}{sign}{target}"

    def _rows(self) -> Iterable[tuple[str, ...]]:
        """What they may be together."""
        shown = self._shown
        if not shown:
            return ()
        if prod(map(len, shown)) <= self._limits.values:
            return product(*shown)
        if self._limits.strict:
            return (tuple(one for each in shown for one in each),)
        places = range(max(map(len, shown)))
        return (tuple(each[place % len(each)] for each in shown) for place in places)

    def _write(self, target: str, output: OutputTexts) -> None:
        """Remember what is written to a file, by its name or how that is written."""
        is_known = self._limits.guesses or not target.startswith(UNKNOWN)
        scope, place = self._scope, self._scope.place(target)
        if self._limits.writes:
            old = scope.files.get(place)
            new = output if old is None else _chained(old, output, self._limits)
            scope.files[place] = new
            scope.origins[place] = self._form
        if is_known and target != place and is_odd(target):
            self._findings.command(f"> {place}")


def _is_descriptor(redirection: Redirection, target: str) -> bool:
    """Whether `>&6`, `<&-` and their like name what is open already, and no file."""
    return redirection.operator[-1] == "&" and bool(_DESCRIPTOR.fullmatch(target))


def _chained(old: OutputTexts, new: OutputTexts, limits: Limits) -> OutputTexts:
    """What is in a file that was written before: the old, the new, or both."""
    writes = old.writes + 1
    if writes > limits.writes and not limits.strict:
        return OutputTexts()

    def texts() -> tuple[str, ...]:
        if writes > limits.writes:
            raise TooComplex("a file is written too often before it is run")
        both = tuple(
            one + two
            for one in old.texts()
            for two in new.texts()
            if len(one) + len(two) <= MOST_BYTES
        )
        return tuple(dict.fromkeys((*new.texts(), *both, *old.texts())))[:_MOST_TEXTS]

    chained = OutputTexts.made(texts, old, new)
    chained.writes = writes
    return chained
