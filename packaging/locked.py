"""Prints the part of the lock that some distributions of ours need, hashes included.

    locked.py [--series PYTHON] [--without NAME]… [--beyond DIRECTORY]… [--name NAME]…
        [--extra NAME]… [DIRECTORY]…

Nothing is resolved: the lock says for each release what wants it ("via"), and this
follows those words down from what the pyproject.toml of each DIRECTORY names, with what
an --extra of one names. What the distributions of --beyond need is there already, and
left out. Of releases that the lock has for some Pythons only, it is those for PYTHON.
"""

import argparse
import platform
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from installed import marker_environment
from markers import holds

__all__ = ["Pin", "closure", "main", "needed", "read_lock"]

ROOT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_BLOCK = re.compile(
    r"(?P<release>\S+==[^\s;]+)\s*(?:;(?P<marker>[^\\\n]*))?\\\n(?P<rest>.*)", re.DOTALL
)
_MINE = ".".join(platform.python_version_tuple()[:2])


@dataclass(frozen=True, slots=True)
class Pin:
    """One release of the lock: its lines without a marker, and who wants it."""

    name: str
    text: str
    wanted_by: frozenset[str]


def read_lock(text: str, environment: Mapping[str, str]) -> dict[str, Pin]:
    """The releases of a lock whose markers hold, by normal name."""
    pins: dict[str, Pin] = {}
    for block in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE):
        found = _BLOCK.match(block)
        if found is None or not holds(found["marker"] or "'' == ''", environment):
            continue
        name = _name(block)
        if name in pins:
            raise SystemExit(f"locked.py: two releases of {name} for one Python")
        pins[name] = _pin(name, found["release"], found["rest"].splitlines())
    return pins


def _pin(name: str, release: str, lines: list[str]) -> Pin:
    comments = [line.strip(" #") for line in lines if line.lstrip().startswith("#")]
    wanted_by = {_normal(line.removeprefix("via ")) for line in comments}
    hashes = [line for line in lines if not line.lstrip().startswith("#")]
    return Pin(name, "\n".join([f"{release} \\", *hashes]), frozenset(wanted_by))


def closure(pins: Mapping[str, Pin], roots: set[str]) -> Iterator[Pin]:
    """What the roots are and want, and what that wants, in the lock's order."""
    names = set(roots)
    while more := {pin.name for pin in pins.values() if pin.wanted_by & names} - names:
        names |= more
    return (pin for pin in pins.values() if pin.name in names)


def _roots(project: Mapping[str, Any], extras: Iterable[str]) -> set[str]:
    """The names that a distribution of ours requires."""
    optional = project.get("optional-dependencies", {})
    wanted = [project.get("dependencies", ()), *(optional.get(e, ()) for e in extras)]
    return {_name(each) for lines in wanted for each in lines}


def _project(directory: Path) -> dict[str, Any]:
    text = (directory / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    if found is None:
        raise SystemExit(f"locked.py: {requirement!r} names no distribution")
    return _normal(found[0])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(
    pins: Mapping[str, Pin],
    directories: Iterable[Path],
    names: Iterable[str] = (),
    extras: Iterable[str] = (),
) -> dict[str, Pin]:
    """What distributions of ours need; one line of complaint when the lock lacks it."""
    projects = [_project(directory) for directory in directories]
    roots = set(names).union(*(_roots(project, extras) for project in projects))
    known = {each for one in projects for each in one.get("optional-dependencies", {})}
    if unknown := set(extras) - known:
        raise SystemExit(f"locked.py: no such extra: {', '.join(sorted(unknown))}")
    ours = {each for each in roots if each.partition("-")[0] == "redlane"}
    if missing := roots - pins.keys() - ours:
        raise SystemExit(f"locked.py: not in the lock: {', '.join(sorted(missing))}")
    return {pin.name: pin for pin in closure(pins, roots)}


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", default=_MINE)
    parser.add_argument("--without", action="append", default=[], type=_normal)
    parser.add_argument("--beyond", action="append", default=[], type=Path)
    parser.add_argument("--name", action="append", default=[], type=_normal)
    parser.add_argument("--extra", action="append", default=[])
    parser.add_argument("directory", nargs="*", type=Path)
    given = parser.parse_args()
    versions = {"python_version": given.series, "python_full_version": given.series}
    environment = marker_environment() | versions
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = read_lock(text, environment)
    for name in given.without:
        pins.pop(name, None)
    there = needed(pins, given.beyond)
    wanted = needed(pins, given.directory, given.name, given.extra)
    for name, pin in wanted.items():
        if name not in there:
            sys.stdout.write(f"{pin.text}\n")


if __name__ == "__main__":
    main()
