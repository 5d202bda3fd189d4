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
from redlane.policies.loaded import Loaded
from redlane.policies.loading import load
from redlane.policies.sources import read_sources
from redlane.policy_tests.cases import cases_of
from redlane.policy_tests.running import Result, run_cases
from redlane.policy_tests.selecting import own_cases, quick_cases
from redlane.sharing.planning import Plan

__all__ = ["Outcome", "outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would be wrong that is not now, and whether the legacy file would count.

    `failed` are tests of the policies that come, which they carry themselves, and
    `is_partial` tells that some of them were not run. `named` are roles that name a
    policy already which only comes now.
    """

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    failed: tuple[Result, ...]
    named: tuple[tuple[str, str], ...]
    is_legacy_lost: bool = False
    is_partial: bool = False


def outcome(
    paths: Paths, staged: Path, plan: Plan, plugins: Plugins, *, may_start: bool = False
) -> Outcome:
    """How a home would load with `staged` in the place of its `policies/hub`.

    Tests that start programs or ask models are run where that is allowed.
    """
    roles = {k: data for k, data in plan.files.items() if k.startswith("roles/")}
    arriving = [name for each in plan.changes for name in each.arriving]
    with _home_to_be(paths, staged, roles, plan.gone) as to_be:
        now, then = load(paths, plugins), load(to_be, plugins)
        cases, wrong = cases_of(read_sources(to_be).policies)
        cases = own_cases(cases, arriving)
        chosen = cases if may_start else quick_cases(cases, then.ruleset)
        results = run_cases(then.ruleset, chosen)
        wrong = [each for each in wrong if each.subject in arriving]
        errors = _renamed(_errors(then), to_be, paths)
        warnings = _renamed([*then.warnings, *wrong], to_be, paths)
        lost = _reads_legacy(paths) and not _reads_legacy(to_be)
    return Outcome(
        _new(errors, _errors(now)),
        _new(warnings, now.warnings),
        tuple(_moved(each, to_be, paths) for each in results if not each.passed),
        tuple(_naming(paths, {name for each in plan.changes for name in each.added})),
        lost,
        is_partial=len(chosen) < len(cases),
    )


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


def _errors(loaded: Loaded) -> list[Finding]:
    return [*loaded.errors, *compile_errors(loaded)]


def _new(then: Collection[Finding], now: Collection[Finding]) -> tuple[Finding, ...]:
    """What is not found yet, in whatever words the hint to it is."""
    known = {_without_hint(each) for each in now}
    return tuple(each for each in then if _without_hint(each) not in known)


def _without_hint(finding: Finding) -> Finding:
    return replace(finding, message=finding.message.partition("; did you mean")[0])


def _moved(result: Result, paths: Paths, named: Paths) -> Result:
    """The same, with its file named as it is in the other home."""
    file = result.case.file.replace(str(paths.home), str(named.home))
    return replace(result, case=replace(result.case, file=file))


def _renamed(found: Collection[Finding], paths: Paths, named: Paths) -> list[Finding]:
    """With the files named as they are in the other home."""
    here, there = str(paths.home), str(named.home)
    return [
        replace(
            each,
            file=each.file.replace(here, there),
            message=each.message.replace(here, there),
        )
        for each in found
    ]


def _naming(paths: Paths, added: Collection[str]) -> Iterator[tuple[str, str]]:
    """The roles of a home, as they are, that name any of these, and which."""
    for entry in read_sources(paths).roles:
        role = entry.value if isinstance(entry.value, dict) else {}
        policies = role.get("policies")
        for each in policies if isinstance(policies, list) else ():
            if isinstance(each, str) and each in added:
                yield str(role.get("name")), each


def _reads_legacy(paths: Paths) -> bool:
    sources = read_sources(paths)
    legacy = str(paths.legacy_policies)
    return any(each.file == legacy for each in (*sources.policies, *sources.roles))
