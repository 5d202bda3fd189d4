"""Prints the part of the lock that some distributions of ours need, hashes included.

    locked.py [--without NAME]… [--beyond DIRECTORY]… [--name NAME]… [DIRECTORY]…

Nothing is resolved: the lock says for each release what wants it ("via"), and this
follows those words down from what the pyproject.toml of each DIRECTORY names. What the
distributions of --beyond need is there already, and left out.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Pin", "closure", "main", "needed", "read_lock"]

ROOT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Pin:
    """One release of the lock: its lines as they stand, and who wants it."""

    name: str
    text: str
    wanted_by: frozenset[str]


def read_lock(text: str) -> dict[str, Pin]:
    """The releases of a lock, by normal name."""
    pins = {}
    for block in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE):
        lines = block.splitlines()
        if not lines:
            continue
        comments = [line.strip(" #") for line in lines if line.lstrip().startswith("#")]
        wanted_by = {_normal(line.removeprefix("via ")) for line in comments}
        wanted = [line for line in lines if not line.lstrip().startswith("#")]
        name = _name(block)
        pins[name] = Pin(name, "\n".join(wanted), frozenset(wanted_by))
    return pins


def closure(pins: Mapping[str, Pin], roots: set[str]) -> Iterator[Pin]:
    """What the roots are and want, and what that wants, in the lock's order."""
    names = set(roots)
    while more := {pin.name for pin in pins.values() if pin.wanted_by & names} - names:
        names |= more
    return (pin for pin in pins.values() if pin.name in names)


def _roots(directory: Path) -> tuple[str, set[str]]:
    """The name of a distribution of ours, and the names that it requires."""
    text = (directory / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    return _normal(project["name"]), set(map(_name, project.get("dependencies", ())))


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    if found is None:
        raise SystemExit(f"locked.py: {requirement!r} names no distribution")
    return _normal(found[0])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(
    pins: Mapping[str, Pin], directories: Iterable[Path], names: Iterable[str] = ()
) -> dict[str, Pin]:
    """What distributions of ours need; one line of complaint when the lock lacks it."""
    found = [_roots(directory) for directory in directories]
    ours = {name for name, _ in found}
    roots = set(names).union(*(wanted for _, wanted in found))
    if missing := roots - pins.keys() - ours - {"redlane"}:
        raise SystemExit(f"locked.py: not in the lock: {', '.join(sorted(missing))}")
    return {pin.name: pin for pin in closure(pins, roots)}


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", action="append", default=[], type=_normal)
    parser.add_argument("--beyond", action="append", default=[], type=Path)
    parser.add_argument("--name", action="append", default=[], type=_normal)
    parser.add_argument("directory", nargs="*", type=Path)
    given = parser.parse_args()
    pins = read_lock((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    for name in given.without:
        pins.pop(name, None)
    there = needed(pins, given.beyond)
    for name, pin in needed(pins, given.directory, given.name).items():
        if name not in there:
            sys.stdout.write(f"{pin.text}\n")


if __name__ == "__main__":
    main()
