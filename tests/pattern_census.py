"""Every regular expression of the standard library's dialect that Redlane compiles.

As a program it writes that census; or reads spellings, each with texts, and writes what
they find, so that two versions of Python can be asked the same.
"""

import importlib
import json
import pkgutil
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["Spelling", "census", "findings"]

_LAZY = (("redlane.decoding.binary_text", "_runs", (12,)),)
"""What is compiled when it is first used: a module, a function and its arguments."""

Spelling = tuple[str, bool, int]
"""A pattern (of bytes as Latin-1), whether it is of bytes, and its flags."""


def census() -> list[Spelling]:
    """What is compiled while all of Redlane is imported, each once."""
    compiler: Any = re._compiler  # type: ignore[attr-defined]  # all of `re` ends there
    compiled, found = compiler.compile, {}

    def compile_and_tell(pattern: Any, flags: int = 0) -> Any:
        made = compiled(pattern, flags)
        if _caller().partition(".")[0].startswith("redlane"):
            is_bytes = isinstance(made.pattern, bytes)
            text = made.pattern.decode("latin-1") if is_bytes else made.pattern
            found[text, is_bytes, made.flags] = None
        return made

    compiler.compile = compile_and_tell
    for name in _modules():
        importlib.import_module(name)
    for module, function, arguments in _LAZY:
        getattr(importlib.import_module(module), function)(*arguments)
    compiler.compile = compiled
    return list(found)


def _caller() -> str:
    """The module that has called `re`."""
    depth = 2
    while sys._getframe(depth).f_globals["__name__"].partition(".")[0] == "re":
        depth += 1
    return str(sys._getframe(depth).f_globals["__name__"])


def _modules() -> Iterator[str]:
    root = Path(__file__).parents[1]
    for directory in ("product_core", "hub", *map(str, root.glob("plugins/*"))):
        for top in pkgutil.iter_modules([str(root / directory)]):
            if top.name.startswith("redlane"):
                yield top.name
                path = getattr(importlib.import_module(top.name), "__path__", ())
                for each in pkgutil.walk_packages(path, f"{top.name}."):
                    if not each.name.endswith("__main__"):
                        yield each.name


def findings(spelling: Spelling, texts: Sequence[str]) -> list[int]:
    """Where a pattern and its groups stand in each text, and if it is all: a digest."""
    text, is_bytes, flags = spelling
    pattern: Any = re.compile(
        text.encode("latin-1") if is_bytes else text, flags & ~re.UNICODE.value
    )
    groups = range(pattern.groups + 1)
    found = []
    for each in texts:
        subject: Any = each.encode() if is_bytes else each
        matches = pattern.finditer(subject)
        spans = [[match.span(group) for group in groups] for match in matches]
        is_all = pattern.fullmatch(subject) is not None
        found.append(zlib.crc32(repr((spans, is_all)).encode()))
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["census"]:
        json.dump(census(), sys.stdout)
    else:
        asked = json.load(sys.stdin)
        json.dump([findings(tuple(each), given) for each, given in asked], sys.stdout)
