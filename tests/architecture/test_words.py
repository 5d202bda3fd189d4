"""Names are the field's words; the few of the house's own are in its glossary."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from architecture.sources import parsed, refuse, relative, tracked

SOURCES = tracked("product_core/*.py", "plugins/*.py", "hub/*.py")
PAGE = Path(__file__).parents[2] / "ARCHITECTURE.md"
PRIVATE = frozenset(
    {
        *("armour", "bench", "carrier", "companion", "courier", "crowd", "desk"),
        *("docket", "door", "errand", "knock", "patience", "road", "shelf"),
        *("standing", "visitor"),
    }
)
"""Words that a stranger would have to be told, where the field has one of its own."""


def names(tree: ast.AST) -> Iterator[str]:
    """What is defined: classes, functions, arguments and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def words(name: str) -> set[str]:
    found = re.findall(r"[A-Z]?[a-z]+", name)
    return {each.lower() for each in found} | {
        each.lower().rstrip("s") for each in found
    }


def test_names_are_the_fields_words() -> None:
    refuse(
        f"{relative(path)}: {name}"
        for path in SOURCES
        for name in sorted({path.stem, *names(parsed(path))})
        if words(name) & PRIVATE
    )


def glossary() -> set[str]:
    _, _, table = PAGE.read_text("utf-8").partition("## Words of the house")
    return set(re.findall(r"^\| ([a-z ]+) \|", table, re.MULTILINE)) - {"word"}


def test_words_of_the_glossary_are_in_the_code() -> None:
    used = {word for path in SOURCES for n in names(parsed(path)) for word in words(n)}
    assert glossary()
    refuse(f"{word}: nothing is called so" for word in glossary() - used)
