"""Walks one simple command: its words, assignments, redirections and what it runs."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import dropwhile

from redlane.contexts.shell.analysis.aliases import expand_alias, note_element
from redlane.contexts.shell.analysis.files import (
    feed_processes,
    file_stream,
    operands_stream,
    programs_of_file,
    too_much,
)
from redlane.contexts.shell.analysis.forms import placed_forms, plain_form
from redlane.contexts.shell.analysis.redirections import UNKNOWN, Redirections
from redlane.contexts.shell.analysis.started_scripts import started_scripts
from redlane.contexts.shell.analysis.unknown import runs_unknown
from redlane.contexts.shell.analysis.walker import Walker
from redlane.contexts.shell.expansion.fields import Expander, Fields
from redlane.contexts.shell.expansion.parameters import elements_of
from redlane.contexts.shell.expansion.scope import (
    NOTHING,
    OutputTexts,
    Scope,
    Value,
    added,
)
from redlane.contexts.shell.grammar.expansions import TooManyMeanings
from redlane.contexts.shell.grammar.syntax import (
    Assignment,
    Simple,
    Substitution,
    Word,
)
from redlane.contexts.shell.knowledge.effects import (
    DECLARES,
    MOVES,
    WRITERS,
    apply_effect,
    is_unsure,
)
from redlane.contexts.shell.knowledge.known import ANY_PROGRAM, is_odd, spellings
from redlane.contexts.shell.knowledge.output import is_exact, known_output
from redlane.contexts.shell.knowledge.unwrap import unwrapper
from redlane.contexts.shell.knowledge.values import (
    commands_in_values,
    evaluates,
    is_worked_out,
)
from redlane.contexts.shell.knowledge.variables import unwrap_assignment
from redlane.contexts.shell.knowledge.written import written_programs

__all__ = ["Command"]

_PRINTERS = frozenset({"echo", "printf", "test", "[", ":"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)(\[.*?\])?(\+?)=", re.DOTALL)
_EVALUATED = re.compile(r"\{?[A-Za-z_]\w*\[.*(?:\$\(|`)", re.DOTALL)
"""A variable's name, or a descriptor's, with commands in its subscript."""

_INPUTS = frozenset({"<", "<>"})
_HERE = frozenset({"<<", "<<-"})
_LOADS = ("enable", "-f")
_HANDLER = "command_not_found_handle"
_LONGEST_VALUE = 64 * 1024
_MOST_WORDS = 64
_MOST_GUESSED = 4
_READS_FILES = frozenset({"cat", "head", "tail", "tac", "rev", "base64", "xxd", "sed"})


class Command:
    """A simple command in its scope, with the input that is known."""

    __slots__ = (
        *("_cache", "_expander", "_is_sure", "_prints_too_much"),
        *("_guessed", "_scope", "_simple", "_stdin", "_walker"),
    )

    def __init__(
        self, walker: Walker, simple: Simple, scope: Scope, stdin: OutputTexts
    ) -> None:
        self._walker = walker
        self._simple = simple
        self._scope = scope
        self._stdin = stdin
        self._expander: Expander | None = None
        self._is_sure = True
        self._guessed = 0
        self._prints_too_much = False
        self._cache: dict[int, tuple[str, ...]] = {}

    def run(self) -> tuple[OutputTexts, str]:
        """Walk the command; what it prints, and its normal form."""
        simple = self._simple
        self._walker.budget.step()
        meanings = self.meanings(simple.words)
        before = self._assign() if simple.assignments else ""
        self.redirected()
        if not simple.words:
            written = self.written(NOTHING, "")
            self._note_unknown()
            return written, ""
        output, form = NOTHING, ""
        word = simple.words[0]
        if isinstance(word, tuple) and isinstance(word[0], Substitution):
            self._walker.run_output(word[0], self._scope, self._stdin)
        if evaluates(simple.words):
            texts = (*simple.words, *(each.target for each in simple.redirections))
            self._run_values(texts)
        for argv in map(self._as_program, meanings):
            if before and argv:
                self._walker.findings.simple((before, *argv))
            output = self.words(argv)
            form = form or plain_form(argv)
        feed_processes(simple, self._walker, self._scope, self._stdin, output)
        output = self.written(output, form)
        self._note_unknown()
        return output, form

    def _note_unknown(self) -> None:
        if self._expander is None:
            return
        walker, unknown = self._walker, self._expander.unknown
        walker.note_unknown(unknown)
        if unknown and self._simple.words and walker.limits.guesses:
            told = runs_unknown(self._simple, unknown)
            if told is not None:
                walker.findings.command(told)

    def _as_program(self, argv: Fields) -> Fields:
        """`enable -f FILE NAME` in a script runs code of a file, as `FILE NAME` does.

        What that starts is asked about where it runs. Typed or sourced, it would be
        part of the shell that runs the next command, too.
        """
        if not self._scope.is_script or argv[:2] != _LOADS:
            return argv
        self._walker.findings.leave_open(self._simple)
        return argv[2:]

    def words(self, argv: Fields) -> OutputTexts:
        """Walk a command whose words are known."""
        form = " ".join(argv)
        if not form.strip():
            return NOTHING
        if self._stdin is NOTHING and self._walker.has_met(argv, self._scope.cwd):
            self._take_effect(argv, argv[0].rpartition("/")[2])
            return self._output(argv, NOTHING)
        self._walker.budget.step()
        self._show(argv)
        self._run_values(each for each in argv if _EVALUATED.match(each))
        if argv[0] in self._scope.functions or argv[0] in DECLARES:
            self._run_values(argv[1:])
        expand_alias(argv, self._walker, self._scope)
        assignment = _ASSIGNMENT.match(argv[0])
        if assignment:
            self._walker.findings.assigned[assignment[1]] = None
            self._walker.findings.effects[argv[0]] = None
            name = assignment[1] + (assignment[2] or "")
            self._scope.exported.add(name)
            self._set(name, (argv[0][assignment.end() :],), lasting=False)
            return self.words(argv[1:])
        if argv[0].startswith(UNKNOWN):
            self._behind_unknown(argv)
        meanings = [argv]
        if is_odd(form):
            meanings += spellings(argv)
            for each in meanings[1:]:
                self._walker.findings.simple(each)
        named = "/" in argv[0] or argv[0].startswith(UNKNOWN)
        if named or self._scope.links or "PATH" in self._scope.assigned:
            meanings += programs_of_file(
                *(argv, self._walker, self._scope, self._stdin), is_sure=self._is_sure
            )
        inner = NOTHING
        for each in reversed(dict.fromkeys(meanings)):
            in_script = not self._walker.limits.guesses
            self._walker.findings.command_words(each, in_script=in_script)
            inner = self._unwrap(each)
        return self._output(argv, inner)

    def _show(self, argv: Fields) -> None:
        """Show the command as patterns see it."""
        scope, findings = self._scope, self._walker.findings
        for each in (argv, *started_scripts(argv, scope.cwd, scope.disk)):
            findings.simple(each)
        for form in placed_forms(argv, scope.cwd, moved=scope.moved):
            findings.command(form)

    def _behind_unknown(self, argv: Fields) -> None:
        """Walk what follows words that are not known: `$SUDO rm`, but also `$CAT file`.

        In a script a file there is no script, unless it says so itself.
        """
        if self._walker.limits.guesses:
            self._as_any_program(argv)
        before, self._is_sure = self._is_sure, self._walker.limits.guesses
        self.words(tuple(dropwhile(_is_unknown, argv)))
        self._is_sure = before

    def _as_any_program(self, argv: Fields) -> None:
        """Show a command whose program is not known as any that it could be."""
        base = argv[0].rpartition("/")[2]
        if len(argv) == 1 or argv[0] == "$" or (base and not _is_unknown(base)):
            return
        self._guessed += 1
        if self._guessed > _MOST_GUESSED:
            return
        for program in ANY_PROGRAM:
            self._show((program, *argv[1:]))

    def redirected(self) -> OutputTexts:
        """Take the redirections into account; the input that is known then."""
        for each in self._simple.redirections:
            if each.descriptor.startswith("{"):
                self._walker.findings.assigned[each.descriptor.strip("{}\\\n")] = None
            before = self._stdin
            if each.operator in _HERE:
                texts = self._texts(each.target)
                self._walker.findings.effects |= {f"<< {one}": None for one in texts}
                self._stdin = OutputTexts.of(*texts)
            elif each.operator == "<<<":
                lines = (text + "\n" for text in self._texts(each.target))
                self._stdin = OutputTexts.of(*lines)
            elif each.operator in _INPUTS:
                texts = self._texts(each.target)
                self._stdin = file_stream(texts, self._walker, self._scope)
            elif each.operator == "<&" and isinstance(each.target, str):
                self._stdin = self._scope.streams.get(each.target, self._stdin)
            if self._stdin is not before and self._simple.words == ["exec"]:
                self._scope.streams[each.descriptor or "0"] = self._stdin
        return self._stdin

    def written(self, output: OutputTexts, form: str) -> OutputTexts:
        """Show what is redirected where, and remember what is written to files.

        What is redirected may not come out any more.
        """
        if not self._simple.redirections:
            return output
        walker = self._walker
        shown = Redirections(walker.findings, walker.limits, self._scope, form)
        for each in self._simple.redirections:
            if each.operator not in _HERE:
                shown.take(each, self._targets(each.target), output)
        return shown.remaining(output)

    def meanings(self, words: list[Word]) -> list[Fields]:
        """Each list of fields that the words may come to."""
        for word in words:
            if not isinstance(word, str):
                return self._expanded(words)
        return [tuple(str(word) for word in words)]

    def _expanded(self, words: list[Word]) -> list[Fields]:
        """The same for words that are not all known at once.

        Of what a command prints some meanings are enough, until somebody runs it.
        """
        try:
            return self._expansion().commands(words)
        except TooManyMeanings:
            if not isinstance(words[0], str) or words[0] not in _PRINTERS:
                raise
        self._prints_too_much = True
        walker = self._walker
        some = replace(walker.limits, strict=False)
        return Expander(self._scope, self._outputs, some, walker.budget).commands(words)

    def _texts(self, word: Word) -> tuple[str, ...]:
        return (word,) if isinstance(word, str) else self._expansion().texts(word)

    def _targets(self, word: Word) -> tuple[str, ...]:
        return (word,) if isinstance(word, str) else self._expansion().target(word)

    def _expansion(self) -> Expander:
        if self._expander is None:
            walker = self._walker
            self._expander = Expander(
                self._scope, self._outputs, walker.limits, walker.budget
            )
        return self._expander

    def _outputs(self, part: Substitution) -> tuple[str, ...]:
        """What a substitution prints; it is walked once for all the meanings."""
        known = self._cache.get(id(part))
        if known is None:
            output = self._walker.substitute(part, self._scope)
            if not output.is_exact:
                self._walker.note_open()
            is_known = output.is_exact or self._walker.limits.guesses
            known = output.texts() if is_known else ()
            longest = min(self._walker.limits.longest, _LONGEST_VALUE)
            if any(len(text) > longest for text in known):
                known = ()
            self._cache[id(part)] = known
        return known

    def _assign(self) -> str:
        """Put the assignments into the scope; their normal form."""
        shown = []
        lasting = not self._simple.words
        for each in self._simple.assignments:
            values = self._values(each)
            self._run_values(
                each.value if isinstance(each.value, list) else (each.value,)
            )
            sign = "+=" if each.appends else "="
            if is_worked_out(each.name):
                self._walker.note_open()
            self._walker.findings.assigned[each.name.partition("[")[0]] = None
            note_element(each.name, (text for text, _ in values), self._scope)
            for text, value in values:
                self._walker.findings.effects[f"{each.name}{sign}{text}"] = None
                if value is not None or "/" in text:
                    shown.append(f"{each.name}{sign}{text}")
                    self._walker.findings.command(shown[-1])
            known = tuple(value for _, value in values)
            if not lasting:
                self._scope.exported.add(each.name)
            self._set(each.name, known, lasting=lasting, appends=each.appends)
        return " ".join(shown)

    def _run_values(self, texts: Iterable[object]) -> None:
        self._walker.run_inner(commands_in_values(texts), self._scope, NOTHING)

    def _values(self, assignment: Assignment) -> tuple[tuple[str, Value], ...]:
        """Each value as text, and as far as it is known."""
        if isinstance(assignment.value, list):
            meanings = self.meanings(assignment.value)
            return tuple((" ".join(each), elements_of(each)) for each in meanings)
        if isinstance(assignment.value, str):
            return ((assignment.value, assignment.value),)
        return self._expansion().values(assignment.value)

    def _set(
        self,
        name: str,
        values: tuple[Value, ...],
        *,
        lasting: bool,
        appends: bool = False,
    ) -> None:
        scope = self._scope
        for value in values:
            if isinstance(value, str) and value:
                found = unwrap_assignment(name, value)
                self._walker.run_inner(found, scope, NOTHING)
        base, bracket, key = name.partition("[")
        if appends:
            old = scope.variables.get(base, ("",))
            values = tuple(added(one, two) for one in old for two in values)
        scope.uncertain += not lasting
        if bracket:
            scope.assign_element(base, key.removesuffix("]"), values)
        else:
            scope.assign(base, values)
        scope.uncertain -= not lasting

    def _unwrap(self, argv: Fields) -> OutputTexts:
        """Walk what the command runs; what that prints, the command prints."""
        name = argv[0].rpartition("/")[2]
        unwrap = unwrapper(name)
        output = NOTHING
        if unwrap is not None:
            found = (*unwrap(argv, self._stdin), *written_programs(argv, self._scope))
            output = self._walker.run_inner(found, self._scope, self._stdin)
        self._take_effect(argv, name)
        return output

    def _take_effect(self, argv: Fields, name: str) -> None:
        if is_unsure(argv, name):
            self._walker.note_open(guessed=name not in MOVES)
        if self._walker.limits.writes or name not in WRITERS:
            apply_effect(argv, name, self._scope, self._stdin)

    def _output(self, argv: Fields, inner: OutputTexts) -> OutputTexts:
        if argv[0] in self._scope.functions:
            return self._walker.call(argv[0], argv, self._scope, self._stdin)
        if _HANDLER in self._scope.functions and "/" not in argv[0]:
            self._walker.call(_HANDLER, (_HANDLER, *argv), self._scope, self._stdin)
        name = argv[0].rpartition("/")[2]
        stdin = self._stdin
        if name in _READS_FILES:
            stdin = operands_stream(argv, self._walker, self._scope, stdin)
        output = OutputTexts.made(
            lambda: (*known_output(argv, name, stdin.texts), *inner.texts()),
            *(stdin, inner),
        )
        output.is_exact = output.is_exact and is_exact(argv, name)
        if self._prints_too_much:
            output = OutputTexts(too_much)
        output.words = (*argv, *self._stdin.words)[:_MOST_WORDS]
        return output


def _is_unknown(word: str) -> bool:
    """Whether a word is what an expansion was kept as."""
    return word.startswith(UNKNOWN)
