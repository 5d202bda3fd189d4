"""The distributions that a site-packages directory holds, and what they depend on.

Everything is read from their metadata, by the standard library alone: a build must not
need more than what it packages.
"""

import platform
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path
from typing import cast

from markers import holds

__all__ = ["Installed", "canonical", "installed", "marker_environment"]

_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[(?P<extras>[^]]*)\])?"
    r"(?P<versions>[^;]*)(?:;(?P<marker>.*))?$",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Installed:
    """One distribution; `name` is canonical, `title` as its author writes it."""

    name: str
    title: str
    version: str
    metadata: Message
    directory: Path
    """Its .dist-info."""
    places: tuple[str, ...]
    """What it put at the top of site-packages, packages and modules."""

    def requirements(
        self, environment: Mapping[str, str], extras: Iterable[str] = ()
    ) -> dict[str, frozenset[str]]:
        """The canonical names that it needs here, with the extras asked of them."""
        needed: dict[str, frozenset[str]] = {}
        for line in self.metadata.get_all("Requires-Dist") or ():
            match = _REQUIREMENT.match(line)
            if match is None:
                raise ValueError(f"{self.title}: cannot read Requires-Dist: {line}")
            if not _wanted(match["marker"], environment, extras):
                continue
            asked = frozenset(re.findall(r"[\w.-]+", match["extras"] or ""))
            name = canonical(match["name"])
            needed[name] = needed.get(name, frozenset()) | asked
        return needed


def canonical(name: str) -> str:
    """The name under which package indexes compare."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(site: Path) -> list[Installed]:
    """Every distribution in `site`, by name; two of one name are an error."""
    found: dict[str, Installed] = {}
    for directory in sorted(site.glob("*.dist-info")):
        each = _read(directory)
        if each.name in found:
            raise ValueError(f"{site}: {each.name} is installed twice")
        found[each.name] = each
    if not found:
        raise ValueError(f"{site}: no distribution is installed there")
    return [found[name] for name in sorted(found)]


def _read(directory: Path) -> Installed:
    distribution = PathDistribution(directory)
    # A message, whatever the protocol in its place says: `get` does not complain.
    metadata = cast("Message", distribution.metadata)
    title, version = metadata.get("Name"), metadata.get("Version")
    if not title or not version:
        raise ValueError(f"{directory}: METADATA has no name or no version")
    return Installed(
        canonical(title),
        title,
        version,
        metadata,
        directory,
        _places(distribution, directory),
    )


def _places(distribution: Distribution, directory: Path) -> tuple[str, ...]:
    """The first part of every path in RECORD that is in site-packages and is there."""
    tops = {Path(file).parts[0] for file in distribution.files or ()}
    kept = {top for top in tops if (directory.parent / top).exists()}
    return tuple(sorted(kept - {"..", "__pycache__", directory.name}))


def _wanted(
    marker: str | None, environment: Mapping[str, str], extras: Iterable[str]
) -> bool:
    if marker is None or not marker.strip():
        return True
    return any(
        holds(marker, {**environment, "extra": extra}) for extra in ("", *extras)
    )


def marker_environment() -> dict[str, str]:
    """What markers may ask of this interpreter: the one that the packages are for."""
    return {
        "implementation_name": sys.implementation.name,
        "implementation_version": platform.python_version(),
        "os_name": "posix",
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": "",
        "platform_system": platform.system(),
        "platform_version": "",
        "python_full_version": platform.python_version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    }
