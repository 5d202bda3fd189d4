#!/usr/bin/env python3
"""Writes the manual pages of whatever of Redlane an interpreter has.

    man_pages.py PYTHON OUTDIR

Commands, options and tables come from the programs themselves; what these cannot say
stands in `manual/`. The date is that of SOURCE_DATE_EPOCH, so that two builds agree.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from manual.files import file_pages
from manual.pages import Edition, program_pages, render

__all__ = ["main", "write_pages"]

TEXTS = Path(__file__).with_name("manual")
PROGRAMS = ("redlane", "redlane-hub")


def write_pages(python: str, place: Path, date: str) -> list[str]:
    """Write the pages of each program that `python` has; returns their names."""
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for program in PROGRAMS:
        described = _describe(python, program)
        if described is None:
            continue
        edition = Edition(program, described["version"], date)
        for name, text in _pages(described, edition):
            (place / name).write_text(text, encoding="ascii")
            written.append(name)
    return sorted(written)


def _describe(python: str, program: str) -> dict[str, Any] | None:
    # -P keeps this directory out of the import path of a foreign interpreter.
    command = [python, "-P", str(TEXTS / "describe.py"), program]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"man_pages: {python} cannot describe {program}: see above")
    described: dict[str, Any] | None = json.loads(done.stdout)
    return described


def _pages(described: dict[str, Any], edition: Edition) -> Iterator[tuple[str, str]]:
    notes = tomllib.loads((TEXTS / f"{edition.program}.toml").read_text("utf-8"))
    pages = [*program_pages(described["command"], notes)]
    pages += file_pages(described["tables"], notes)
    for page in pages:
        yield page.file, render(page, edition)
    for source in sorted(TEXTS.glob(f"{edition.program}-*.[0-9].in")):
        text = source.read_text("ascii")
        text = text.replace("@DATE@", edition.date).replace(
            "@VERSION@", edition.version
        )
        yield source.stem, text


def _date() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return moment.strftime("%Y-%m-%d")


def main(arguments: list[str]) -> int:
    """Write the pages, or say what is wrong; no page at all is wrong, too."""
    if len(arguments) != 2:  # noqa: PLR2004  # the two of the usage
        sys.stderr.write("usage: man_pages.py PYTHON OUTDIR\n")
        return 2
    python, place = arguments
    if not write_pages(python, Path(place), _date()):
        sys.stderr.write(f"man_pages: {python} has neither redlane nor redlane-hub\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
