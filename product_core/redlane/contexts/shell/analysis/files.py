"""What files come to: those that are run as commands, and those that are read."""

from collections.abc import Iterable
from contextlib import suppress

from redlane.contexts.shell.analysis.redirections import UNKNOWN
from redlane.contexts.shell.analysis.walker import Walker
from redlane.contexts.shell.expansion.disk import UnreadableError
from redlane.contexts.shell.expansion.fields import Fields
from redlane.contexts.shell.expansion.scope import OutputTexts, Scope
from redlane.contexts.shell.expansion.scripts import (
    read_text,
    real_name,
    script_words,
)
from redlane.contexts.shell.grammar.expansions import TooManyMeanings
from redlane.contexts.shell.grammar.syntax import Simple, Substitution, parts_of
from redlane.contexts.shell.knowledge.inner import File, Words
from redlane.contexts.shell.knowledge.written import found_in_path

__all__ = [
    "feed_processes",
    "file_stream",
    "operands_stream",
    "programs_of_file",
    "too_much",
]


def programs_of_file(
    argv: Fields, walker: Walker, scope: Scope, stdin: OutputTexts, *, is_sure: bool
) -> list[Fields]:
    """What a command named by a path is: a copy, a link, or a script."""
    name, rest = argv[0], argv[1:]
    found: list[Fields] = []
    source = scope.links.get(scope.place(name))
    if source is not None:
        found += [(source, *rest), (source.rpartition("/")[2], *rest)]
    words: Fields = ()
    if "/" in name:
        real = real_name(name, scope.cwd, scope.disk)
        if real is not None:
            found.append((real, *rest))
        words = script_words(name, scope.cwd, scope.disk, may_be_sh=is_sure)
    is_path = "/" in name or name.startswith(UNKNOWN)
    if words or (is_path and scope.place(name) in scope.files):
        run = Words((*words, *rest)) if words else File(name, rest)
        walker.run_program(scope.place(name), run, scope, stdin)
    for path in found_in_path(name, scope):
        walker.run_program(path, File(path, rest), scope, stdin)
    for each in found:
        walker.findings.simple(each)
    return found


def operands_stream(
    argv: Fields, walker: Walker, scope: Scope, stdin: OutputTexts
) -> OutputTexts:
    """What is in the files that a command names, or else its input."""
    operands = [each for each in argv[1:] if not each.startswith("-")]
    files = file_stream(operands, walker, scope)
    return OutputTexts.made(lambda: files.texts() or stdin.texts(), stdin)


def feed_processes(
    simple: Simple, walker: Walker, scope: Scope, stdin: OutputTexts, out: OutputTexts
) -> None:
    """Walk what stands in `>(…)` with what a command writes there.

    That is its output where it is redirected, and its input where it only copies that.
    """
    fed = [(each.target, out) for each in simple.redirections]
    for word, text in (*fed, *((each, stdin) for each in simple.words)):
        for part in parts_of(word):
            if isinstance(part, Substitution) and part.sign == ">":
                walker.substitute(part, scope, text)


def too_much() -> tuple[str, ...]:
    """In place of what is printed, where somebody asks for it; raises."""
    raise TooManyMeanings("what is printed has too many possible meanings")


def file_stream(paths: Iterable[str], walker: Walker, scope: Scope) -> OutputTexts:
    """What is in files: what the text wrote to them, or what is on disk."""
    cwd = scope.cwd
    guesses = walker.limits.guesses
    known = {path: scope.files.get(scope.place(path)) for path in paths}

    def texts() -> tuple[str, ...]:
        found: list[str] = []
        for path, stream in known.items():
            if stream is not None:
                found += stream.texts()
                continue
            # Until the text runs, something else may be in it.
            walker.note_open()
            if guesses:
                found += read_text(path, cwd, scope.disk)
            else:
                with suppress(UnreadableError):
                    found += read_text(path, cwd, scope.disk)
        return tuple(found)

    return OutputTexts(texts)
