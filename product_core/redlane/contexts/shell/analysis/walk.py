"""Walks what the reader found and collects every command that may run.

Both branches of a condition count, loops are walked twice, functions where they are
called and once more at the end: what is found is more than what runs, not less.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from redlane.contexts.shell.analysis.command import Command
from redlane.contexts.shell.analysis.findings import Findings
from redlane.contexts.shell.analysis.forms import (
    group_form,
    pipeline_form,
    simple_form,
)
from redlane.contexts.shell.analysis.functions import (
    call_state,
    define,
    show_fork_bomb,
)
from redlane.contexts.shell.analysis.kept_scripts import KeptScripts
from redlane.contexts.shell.analysis.loops import set_variable, walk_rounds
from redlane.contexts.shell.analysis.outputs import one_by_one
from redlane.contexts.shell.analysis.script_files import walk_script
from redlane.contexts.shell.expansion.fields import Fields
from redlane.contexts.shell.expansion.limits import LITERAL, STRICT, Budget, Limits
from redlane.contexts.shell.expansion.scope import NOTHING, OutputTexts, Scope, Value
from redlane.contexts.shell.expansion.scripts import MOST_BYTES, Script, read_script
from redlane.contexts.shell.grammar.expansions import MOST_NESTED, TooComplex
from redlane.contexts.shell.grammar.reader import read
from redlane.contexts.shell.grammar.syntax import (
    Group,
    Pipeline,
    Simple,
    Substitution,
)
from redlane.contexts.shell.knowledge.code import commands_in_code
from redlane.contexts.shell.knowledge.inner import Code, File, Inner, Text, Words

__all__ = ["Analysis"]

_LOOPS = frozenset({"for", "while", "until", "select"})
_CERTAIN = frozenset({"", "{", "(("})


class Analysis:
    """One walk over a text; what it finds goes into `findings`."""

    def __init__(
        self,
        findings: Findings,
        limits: Limits = STRICT,
        budget: Budget | None = None,
        depth: int = 0,
        active: frozenset[str] = frozenset(),
        following: Budget | None = None,
        kept: KeptScripts | None = None,
    ) -> None:
        self.findings = findings
        self.limits = limits
        self.budget = budget or Budget.of_command()
        self.following = following or Budget.to_follow_scripts()
        self._kept = kept
        self._is_run = True
        self.depth = depth
        self._active = set(active)
        self._calls: dict[int, int] = {}
        self._called: dict[tuple[object, ...], tuple[Group, OutputTexts]] = {}
        self._met: set[tuple[Fields, str | None]] = set()
        self._later: list[tuple[Group | Text, Scope]] = []
        self._postponed: dict[str | int, Group | Text] = {}

    def text(self, text: str, scope: Scope) -> None:
        """Walk the text that was given, then all that it put off."""
        self.budget.allow(len(text))
        self._pipelines(read(text, self.depth), scope, NOTHING)
        self._finish()

    def text_as_script(self, text: str, scope: Scope) -> None:
        """Walk the text that was given as a script on disk is walked."""
        walk_script(self, Script(text, text, ()), scope)

    def _finish(self) -> None:
        while self._later:
            what, where = self._later.pop()
            # A function that was never called has run nothing, if calls were followed.
            self._is_run = isinstance(what, Text) or not self.limits.calls
            where = where.calling(())
            if isinstance(what, Text):
                self._inner(Text(what.text, what.parameters), where, NOTHING)
            else:
                where.parameters = (None,)
                self._redirected_body(what, where, NOTHING)

    def note_unknown(self, words: Mapping[int, object]) -> None:
        """Note words that are not known, in what is run."""
        if words and self._is_run:
            self.findings.is_open = self.findings.is_guessed = True
            if not self.limits.guesses:
                self.findings.unknown.update(words)

    def note_open(self, *, guessed: bool = True) -> None:
        """Note that more may run, or something else than was found."""
        self.findings.is_open |= self._is_run
        self.findings.is_guessed |= self._is_run and guessed

    def _pipelines(
        self, pipelines: list[Pipeline], scope: Scope, stdin: OutputTexts
    ) -> OutputTexts:
        """Walk a list; what comes out of it is what comes out of its parts."""
        outputs = []
        for pipeline in pipelines:
            scope.uncertain += pipeline.conditional
            outputs.append(self._pipeline(pipeline, scope, stdin))
            scope.uncertain -= pipeline.conditional
        return one_by_one(outputs)

    def _pipeline(
        self, pipeline: Pipeline, scope: Scope, stdin: OutputTexts
    ) -> OutputTexts:
        forms = []
        is_piped = len(pipeline.stages) > 1
        is_forked = is_piped or pipeline.background
        place = scope.cwd, scope.moved
        scope.uncertain += is_forked
        for stage in pipeline.stages:
            if stdin is NOTHING:
                stdin = scope.streams.get("0", stdin)
            if isinstance(stage, Simple):
                stdin, form = Command(self, stage, scope, stdin).run()
                forms.append(form)
            else:
                stdin = self._group(stage, scope, stdin)
                # A form has those of all groups within: none is made for nothing.
                forms.append(group_form(stage) if is_piped else "")
        scope.uncertain -= is_forked
        if is_forked:
            scope.cwd, scope.moved = place
        if is_piped:
            self.findings.command(" | ".join(forms))
        return stdin

    def _group(self, group: Group, scope: Scope, stdin: OutputTexts) -> OutputTexts:
        if group.function:
            define(group, scope)
            self._postpone(group, id(group), scope)
            show_fork_bomb(group, self.findings)
            return NOTHING
        return self._redirected_body(group, scope, stdin)

    def _redirected_body(
        self, group: Group, scope: Scope, stdin: OutputTexts
    ) -> OutputTexts:
        """Walk a compound command, or a function's body, with its redirections."""
        redirections = Simple(redirections=group.redirections)
        frame = Command(self, redirections, scope, stdin)
        output = self._group_body(group, scope, frame.redirected())
        return frame.written(output, group.opener)

    def _group_body(
        self, group: Group, scope: Scope, stdin: OutputTexts
    ) -> OutputTexts:
        certain = group.function or group.opener in _CERTAIN
        place = scope.cwd, scope.moved
        scope.uncertain += not certain
        if group.variable:
            self.findings.assigned[group.variable] = None
        if group.opener == "((" or (group.opener == "for" and not group.variable):
            self.note_open()
        if group.opener == "((":
            words = ("let", simple_form(Simple(words=group.values)))
            self.findings.command_words(words, in_script=not self.limits.guesses)
        before: tuple[Value, ...] = ()
        if group.values:
            found = Command(self, Simple(), scope, NOTHING).meanings(group.values)
            if group.variable:
                before = set_variable(group.variable, found, scope)
        output = self._body(group, scope, stdin)
        if before:
            scope.assign(group.variable, before)
        scope.uncertain -= not certain
        if group.opener == "(":
            scope.cwd, scope.moved = place
        return output

    def _body(self, group: Group, scope: Scope, stdin: OutputTexts) -> OutputTexts:
        walk = partial(self._pipelines, group.body, scope, stdin)
        if group.opener not in _LOOPS:
            return walk()
        output, is_over = walk_rounds(walk, scope, self.limits.loops)
        if not is_over:
            self._left_out(group)
        return output

    def substitute(
        self, part: Substitution, scope: Scope, stdin: OutputTexts = NOTHING
    ) -> OutputTexts:
        """Walk the commands of a substitution; its value is what they print."""
        self._enter()
        output = self._pipelines(part.body, scope.subshell(), stdin)
        self.depth -= 1
        if part.sign != "$":
            place = scope.place(part.source)
            scope.files[place] = output
            scope.origins[place] = " ; ".join(pipeline_form(each) for each in part.body)
        return output

    def has_met(self, argv: Fields, directory: str | None) -> bool:
        """Whether a command was walked before, where scripts are read literally.

        An assignment is never the same: what it is given may be another value.
        """
        if self.limits.calls or "=" in argv[0]:
            return False
        if (argv, directory) in self._met:
            return True
        self._met.add((argv, directory))
        return False

    def call(
        self, name: str, argv: Fields, scope: Scope, stdin: OutputTexts
    ) -> OutputTexts:
        """Walk the body of a function for one call of it; a recursion once.

        A call that can find nothing new is not walked again.
        """
        key = f"function {name}"
        group = scope.functions[name]
        walked = self._calls.get(id(group), 0)
        if key in self._active or not self.limits.calls:
            return self._left_out(group)
        state = (id(group), *call_state(name, argv, scope), stdin)
        if state in self._called:
            return self._called[state][1]
        if walked >= self.limits.calls:
            return self._left_out(group)
        self._calls[id(group)] = walked + 1
        self._active.add(key)
        self._enter()
        output = self._redirected_body(group, scope.calling(argv[1:]), stdin)
        self.depth -= 1
        self._active.discard(key)
        self._called[state] = group, output
        return output

    def _left_out(self, what: object) -> OutputTexts:
        """Nothing, for what is not walked; in a script it may run anything."""
        if self.limits.guesses:
            self.note_open()
        else:
            self.findings.leave_open(what)
        return NOTHING

    def _inner(self, inner: Inner, scope: Scope, stdin: OutputTexts) -> OutputTexts:
        """Walk one thing that a command runs."""
        self._enter()
        output = NOTHING
        if isinstance(inner, Words):
            output = Command(self, Simple(), scope, stdin).words(inner.argv)
        elif isinstance(inner, Text):
            output = self._text(inner, scope, stdin)
        elif isinstance(inner, File):
            self._file(inner, scope, stdin)
        else:
            self._code(inner, scope, stdin)
        self.depth -= 1
        return output

    def _text(self, inner: Text, scope: Scope, stdin: OutputTexts) -> OutputTexts:
        if inner.later:
            self._postpone(inner, inner.text, scope)
            return NOTHING
        if not inner.text.strip():
            return NOTHING
        if inner.text in self._active:
            return self._left_out(inner)
        if self.limits.calls and len(inner.text) > self.limits.longest:
            raise TooComplex("a text in a script is too long to be followed")
        if not self.limits.calls and inner.text in self.findings.strings:
            return NOTHING
        if len(inner.text) > MOST_BYTES:
            raise TooComplex(f"a command string is longer than {MOST_BYTES} bytes")
        self.findings.string(inner.text)
        if inner.parameters is not None:
            scope = scope.child(inner.parameters[0], inner.parameters[1:])
        self._active.add(inner.text)
        output = self._pipelines(read(inner.text, self.depth), scope, stdin)
        self._active.discard(inner.text)
        return output

    def _file(self, inner: File, scope: Scope, stdin: OutputTexts) -> None:
        """Walk a script: what the text wrote to it, or what is on disk."""
        place = scope.place(inner.path)
        parameters = None if inner.shared else (inner.path, *inner.parameters)
        if place in scope.origins:
            self.findings.command(f"{scope.origins[place]} | sh")
        if place in scope.files:
            written = scope.files[place]
            for text in written.texts():
                self._text(Text(text, parameters), scope, stdin)
            if not (written.is_exact and written.texts()):
                self._left_out(inner)
        script = read_script(inner.path, scope.cwd, scope.disk)
        if script is None:
            return
        if parameters is not None:
            scope = scope.child(parameters[0], parameters[1:])
            scope.is_script = not inner.is_startup
        if script.path in self._active:
            self._left_out(inner)
        elif not self._is_kept(script, scope, stdin, shared=inner.shared):
            walk_script(self, script, scope, stdin)

    def _is_kept(
        self, script: Script, scope: Scope, stdin: OutputTexts, *, shared: bool
    ) -> bool:
        """Whether what a script comes to is kept, and was added to what is found."""
        if shared or stdin is not NOTHING or self.limits is LITERAL:
            return False
        return self._kept is not None and self._kept.walk(self, script, scope)

    def inside(self, script: Script, limits: Limits, budget: Budget) -> "Analysis":
        """A walk inside a script, within limits of its own."""
        active = frozenset({*self._active, script.path})
        return Analysis(
            *(self.findings, limits, budget, self.depth, active),
            following=self.following,
            kept=self._kept,
        )

    def apart(self, findings: Findings) -> "Analysis":
        """A walk that begins with nothing."""
        return Analysis(findings)

    def script(
        self, pipelines: list[Pipeline], scope: Scope, stdin: OutputTexts
    ) -> None:
        """Walk a script within the limits of this walk, and all that it puts off."""
        outer = scope.most_values, scope.longest
        scope.most_values, scope.longest = self.limits.values, self.limits.longest
        try:
            self._pipelines(pipelines, scope, stdin)
            self._finish()
        finally:
            scope.most_values, scope.longest = outer

    def _code(self, inner: Code, scope: Scope, stdin: OutputTexts) -> None:
        self.findings.string(inner.text)
        self.findings.command(f"{inner.language} -c {inner.text}")
        for each in commands_in_code(inner):
            self._inner(each, scope, stdin)

    def run_inner(
        self, found: Iterable[Inner], scope: Scope, stdin: OutputTexts
    ) -> OutputTexts:
        """Walk all that a command runs, and tell what that prints."""
        return one_by_one([self._inner(each, scope, stdin) for each in found])

    def run_program(
        self, path: str, run: Inner, scope: Scope, stdin: OutputTexts
    ) -> None:
        """Walk a script that is named by its path as a command; not inside itself."""
        key = f"program {path}"
        if key not in self._active:
            self._active.add(key)
            self._inner(run, scope, stdin)
            self._active.discard(key)

    def expand_alias(self, name: str, text: str, scope: Scope) -> None:
        """Walk what an alias and the words behind it come to; not inside itself."""
        key = f"alias {name}"
        if key not in self._active:
            self._active.add(key)
            self._inner(Text(text), scope, NOTHING)
            self._active.discard(key)

    def run_output(self, part: Substitution, scope: Scope, stdin: OutputTexts) -> None:
        """Walk what a substitution prints, because that is run as a command."""
        output = self.substitute(part, scope)
        known = output.texts() if output.is_exact or self.limits.guesses else ()
        for text in known:
            self._inner(Text(text), scope, stdin)
        origin = " ; ".join(pipeline_form(each) for each in part.body)
        self.findings.command(f"{origin} | sh")

    def _postpone(self, what: Group | Text, key: str | int, scope: Scope) -> None:
        """Walk something at the end, once: it may put itself off again."""
        if key not in self._postponed:
            self._postponed[key] = what
            self._later.append((what, scope))

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise TooComplex(f"commands are nested more than {MOST_NESTED} deep")
