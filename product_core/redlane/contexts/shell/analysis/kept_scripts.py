"""Long scripts, each walked once: libtool runs for every file that a build compiles.

What a script comes to depends on its text, on where it stands and on what it is given.
A program that runs it, such as make, gives it other arguments each time: there they
count as not known, and what the script makes of them is judged where it runs. What its
shell opens itself is not, so each is shown as a file that is read and written; with the
full name of a file among them the script is walked with what it is given.
"""

import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain

from redlane.contexts.shell.analysis.findings import Findings
from redlane.contexts.shell.analysis.redirections import Redirections
from redlane.contexts.shell.analysis.script_files import ScriptWalk, walk_script
from redlane.contexts.shell.expansion.remembered import Memory, WatchedDisk
from redlane.contexts.shell.expansion.scope import NOTHING, OutputTexts, Scope
from redlane.contexts.shell.expansion.scripts import Script
from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.grammar.syntax import Redirection

__all__ = ["KeptScripts"]

_LONG = 16 * 1024
_PATH = "PATH"
_BEHIND_SIGN = re.compile(r"=(.+)", re.DOTALL)
_BEHIND_OPTION = re.compile(r"=(.+)|([./~].*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What one script comes to, and what it writes to files."""

    findings: Findings
    files: dict[str, OutputTexts]
    origins: dict[str, str]
    links: dict[str, str]


_MEMORY: Memory[_Kept] = Memory()


class KeptScripts:
    """The long scripts of one command: what is found of the first of them is kept.

    Of the first alone, for what is kept holds all that the script runs, too: scripts
    that run each other would be walked as often as there are pairs of them.
    """

    def __init__(self, is_handed_on: Callable[[], bool]) -> None:
        """`is_handed_on` tells whether a program gave the command to its shell.

        Where that counted `is_relaxed` says so: typed, the same command is another.
        """
        self.is_relaxed = False
        self._is_handed_on = cache(is_handed_on)
        self._taken: tuple[object, ...] = ()

    def walk(self, walk: ScriptWalk, script: Script, scope: Scope) -> bool:
        """Add what a script comes to that runs in `scope`, by memory where it is kept.

        False for one of which nothing is kept: nothing was done. Raises TooComplex as
        the walk does.
        """
        is_fit = scope.is_script and not scope.functions
        if not is_fit or len(script.text) < _LONG:
            return False
        if self._taken or any(_files(scope)):
            return self._taken == self._met(script, scope)
        own = self._on_its_own(scope)
        if own.parameters != scope.parameters:
            self.is_relaxed = True
            _show_places(walk, scope)
        key = (script, *_state(own))
        kept = _MEMORY.recall(key, scope.disk)
        if kept is None:
            kept = _walked(walk, script, own, key)
        else:
            walk.findings.absorb(kept.findings)
        scope.files.update(kept.files)
        scope.origins.update(kept.origins)
        scope.links.update(kept.links)
        self._taken = self._met(script, scope)
        return True

    def _met(self, script: Script, scope: Scope) -> tuple[object, ...]:
        """A script, and all that is known where it runs: the same finds no more."""
        return (script, *_state(self._on_its_own(scope)), *_files(scope))

    def _on_its_own(self, scope: Scope) -> Scope:
        """A scope that is nobody else's, with what the script is given."""
        own = Scope(name=scope.name, cwd=scope.cwd, moved=scope.moved, disk=scope.disk)
        own.is_script = True
        if _PATH in scope.assigned:
            own.assigned[_PATH] = None
        if self._is_handed_on() and not any(map(_is_full, _given(scope))):
            own.parameters = (None,)
        else:
            own.parameters, own.variables = scope.parameters, dict(scope.variables)
        return own


def _given(scope: Scope) -> Iterator[str]:
    """The words that a script is given: its arguments, and values of variables."""
    for values in (*scope.parameters, *chain.from_iterable(scope.variables.values())):
        yield from (values,) if isinstance(values, str) else values or ()


def _is_full(word: str) -> bool:
    return word.startswith(("/", "~"))


def _show_places(walk: ScriptWalk, scope: Scope) -> None:
    """Show what a script is given as files that its shell may read and write.

    Behind an option a full name is only read: most are where a compiler looks.
    """
    shown = Redirections(walk.findings, walk.limits, scope.without_files(), "")
    for word in _given(scope):
        for place in _places(word):
            signs = ("<",) if _is_full(place) else ("<", ">", ">>")
            for sign in signs:
                shown.take(Redirection("", sign, place), (place,), NOTHING)


def _places(word: str) -> Iterator[str]:
    """What may name a file in a word: all of it, or what stands behind an option."""
    is_option = word.startswith("-")
    if word and not is_option:
        yield word
    behind = (_BEHIND_OPTION if is_option else _BEHIND_SIGN).search(word)
    if behind is not None:
        yield next(filter(None, behind.groups()))


def _state(scope: Scope) -> tuple[Hashable, ...]:
    """All that a walk in a scope of its own depends on, the disk apart."""
    values = tuple(scope.variables.items())
    given = (scope.name, scope.cwd, scope.moved, scope.parameters)
    return (*given, tuple(scope.assigned), values)


def _files(scope: Scope) -> tuple[dict[str, object], ...]:
    """All that is known of files that the text writes, as it is now."""
    return dict(scope.files), dict(scope.origins), dict(scope.links)


def _walked(walk: ScriptWalk, script: Script, scope: Scope, key: Hashable) -> _Kept:
    """Walk a script; what was found before a bound was passed still counts."""
    scope.disk = watched = WatchedDisk(scope.disk)
    kept = _Kept(Findings(), scope.files, scope.origins, scope.links)
    kept.findings.assigned = scope.assigned
    try:
        walk_script(walk.apart(kept.findings), script, scope)
    finally:
        walk.findings.absorb(kept.findings)
    with suppress(TooComplex):
        for each in kept.files.values():
            each.texts()
        kept.findings.let_go()
        _MEMORY.keep(key, watched, kept, least=len(script.text))
    return kept
