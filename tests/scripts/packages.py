"""The packages whose scripts are judged, as corpus.json pins them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["PINS", "Package", "pinned", "written"]

PINS = Path(__file__).with_name("corpus.json")


@dataclass(frozen=True, slots=True)
class Package:
    """A package, where it comes from, and its archives by SHA-256.

    `origin` is `npm`, `pypi`, or the release of Debian whose source package it is.
    """

    origin: str
    name: str
    version: str
    files: Mapping[str, str]

    def __str__(self) -> str:
        """How people are told of it."""
        return f"{self.name} {self.version} of {self.origin}"

    @property
    def directory(self) -> str:
        """What its directory of the corpus is called."""
        return f"{self.origin}-{self.name.replace('/', '-')}"


def pinned() -> tuple[Package, ...]:
    """Every package of the corpus, by its name."""
    return tuple(Package(**each) for each in json.loads(PINS.read_text("utf-8")))


def written(packages: Iterable[Package]) -> str:
    """The text of corpus.json for these packages."""
    ordered = sorted(packages, key=lambda each: (each.name, each.origin))
    return json.dumps(list(map(asdict, ordered)), indent=2) + "\n"
