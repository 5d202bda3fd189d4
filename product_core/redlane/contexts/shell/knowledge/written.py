"""Programs that the same text wrote to files before it ran them."""

from collections.abc import Iterable, Iterator, Sequence

from redlane.contexts.shell.expansion.scope import Scope
from redlane.contexts.shell.knowledge.code import interpreter_of
from redlane.contexts.shell.knowledge.inner import Code, Inner
from redlane.contexts.shell.knowledge.tools import unwrap_make

__all__ = ["found_in_path", "written_programs"]

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


def written_programs(argv: Sequence[str], scope: Scope) -> Iterable[Inner]:
    """What an interpreter or make is told to run by a file that the text wrote."""
    if not scope.files:
        return
    name = argv[0].rpartition("/")[2]
    if name in ("make", "gmake"):
        for path in (*argv[1:], *_MAKEFILES):
            stream = scope.files.get(scope.place(path))
            if stream is not None:
                yield from unwrap_make(("make", "-"), stream)
        return
    language = interpreter_of(name)
    if language is not None:
        for path in (*argv[1:], *(f"{each}.py" for each in argv[1:])):
            stream = scope.files.get(scope.place(path))
            for text in stream.texts() if stream else ():
                yield Code(language[0], text)


def found_in_path(name: str, scope: Scope) -> Iterator[str]:
    """Files of this name that the text wrote, where it also changes PATH."""
    if "PATH" in scope.assigned and "/" not in name:
        for path in tuple(scope.files):
            if path.rpartition("/")[2] == name:
                yield path
