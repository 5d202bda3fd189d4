"""Scripts behind their interpreters, which are what their own names say.

The kernel starts a script as its interpreter with a file: `npm publish` is asked about
as `node /usr/bin/npm publish`.
"""

from collections.abc import Iterator

from redlane.contexts.shell.expansion.disk import Disk
from redlane.contexts.shell.expansion.scripts import interpreter_of_file
from redlane.contexts.shell.knowledge.code import interpreter_of
from redlane.contexts.shell.knowledge.shells import SHELLS

__all__ = ["started_scripts"]

Fields = tuple[str, ...]
_PLACES = (1, 2)
"""Behind the interpreter, and what its `#!` line has besides."""


def started_scripts(argv: Fields, cwd: str | None, disk: Disk) -> Iterator[Fields]:
    """What a script is started by, path and name, where `argv` is its interpreter's."""
    name = _base(argv[0])
    if name not in SHELLS and interpreter_of(name) is None:
        return
    for place in _PLACES:
        words = argv[place:]
        if words and not words[0].startswith("-"):
            line = " ".join(interpreter_of_file(words[0], cwd, disk)).split()
            if {name, *argv[1:place]} <= {*line, *map(_base, line)}:
                yield words
                yield (_base(words[0]), *words[1:])


def _base(path: str) -> str:
    return path.rpartition("/")[2]
