"""Whether a home would load as it would be: nothing is installed that breaks it."""

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from redlane.model.problem import Finding
from redlane.paths import Paths
from redlane.plugins import Plugins
from redlane.policies.check import compile_errors
from redlane.policies.loading import load
from redlane.policies.sources import read_sources

__all__ = ["Outcome", "outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would be wrong that is not now, and whether the legacy file would count."""

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    is_legacy_lost: bool


def outcome(
    paths: Paths,
    staged: Path,
    roles: Mapping[str, bytes],
    gone: Collection[str],
    plugins: Plugins,
) -> Outcome:
    """How a home would load with `staged` in the place of its `policies/hub`.

    `roles` are written, and `gone` are removed, by their paths within the home.
    """
    with _home_to_be(paths, staged, roles, gone) as to_be:
        now, then = _findings(paths, paths, plugins), _findings(to_be, paths, plugins)
        lost = _reads_legacy(paths) and not _reads_legacy(to_be)
    return Outcome(_new(then[0], now[0]), _new(then[1], now[1]), lost)


@contextmanager
def _home_to_be(
    paths: Paths, staged: Path, roles: Mapping[str, bytes], gone: Collection[str]
) -> Iterator[Paths]:
    """A home of links to what stays, and to what comes."""
    with tempfile.TemporaryDirectory(prefix="redlane-") as made:
        home = Path(made)
        for each in _entries(paths.home):
            if each not in (paths.policies, paths.roles):
                (home / each.name).symlink_to(each)
        for directory in (paths.policies, paths.roles):
            (home / directory.name).mkdir()
            for each in _entries(directory):
                name = f"{directory.name}/{each.name}"
                if each != paths.hub_policies and name not in {*roles, *gone}:
                    (home / name).symlink_to(each)
        for name, data in roles.items():
            (home / name).write_bytes(data)
        (home / "policies" / "hub").symlink_to(staged)
        yield replace(paths, home=home)


def _entries(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return [directory.absolute() / each for each in os.listdir(directory)]  # noqa: PTH208  # names


def _findings(
    paths: Paths, named: Paths, plugins: Plugins
) -> tuple[list[Finding], list[Finding]]:
    """Errors and warnings, with the files named as they are in the other home."""
    loaded = load(paths, plugins)
    errors = [*loaded.errors, *compile_errors(loaded)]
    return _renamed(errors, paths, named), _renamed(loaded.warnings, paths, named)


def _new(then: Collection[Finding], now: Collection[Finding]) -> tuple[Finding, ...]:
    """What is not found yet, in whatever words the hint to it is."""
    known = {_without_hint(each) for each in now}
    return tuple(each for each in then if _without_hint(each) not in known)


def _without_hint(finding: Finding) -> Finding:
    return replace(finding, message=finding.message.partition("; did you mean")[0])


def _renamed(found: Collection[Finding], paths: Paths, named: Paths) -> list[Finding]:
    here, there = str(paths.home), str(named.home)
    return [
        replace(
            each,
            file=each.file.replace(here, there),
            message=each.message.replace(here, there),
        )
        for each in found
    ]


def _reads_legacy(paths: Paths) -> bool:
    sources = read_sources(paths)
    legacy = str(paths.legacy_policies)
    return any(each.file == legacy for each in (*sources.policies, *sources.roles))
