"""The units of the shell wrapper's programs know each other one way only.

A unit is a source and the header of its name. What it calls it has to include: the
tests compile with `-Werror`.
"""

import re
from graphlib import TopologicalSorter
from pathlib import Path

from architecture.sources import refuse, relative, tracked

INCLUDE = re.compile(r'^#include "(\w+)\.h"$', re.MULTILINE)
EXTERN = re.compile(r"^extern (?!char \*\*environ;)", re.MULTILINE)


def files() -> list[Path]:
    return tracked("product_core/redlane/wrapper/*.[ch]")


def test_includes_have_no_circle() -> None:
    known: dict[str, set[str]] = {}
    for path in files():
        included = set(INCLUDE.findall(path.read_text()))
        known.setdefault(path.stem, set()).update(included - {path.stem})
    assert {"bytes", "message"} <= set(known)
    order = [*TopologicalSorter(known).static_order()]  # a CycleError names the circle
    assert set(order) == set(known)


def test_units_declare_in_their_headers_what_others_call() -> None:
    refuse(
        relative(path)
        for path in files()
        if path.suffix == ".c" and EXTERN.search(path.read_text())
    )
