"""Whether a home would load as it would be: nothing is installed that breaks it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from redlane.model.problem import Finding
from redlane.paths import Paths
from redlane.plugins import Plugins
from redlane.policies.check import compile_errors
from redlane.policies.files import Overlay
from redlane.policies.loaded import Loaded
from redlane.policies.loading import load_sources
from redlane.policies.ruleset import RuleSet
from redlane.policies.sources import Sources, read_sources
from redlane.policy_tests.cases import Case, cases_of
from redlane.policy_tests.selecting import own_cases, quick_cases
from redlane.sharing.changes import Change
from redlane.sharing.installing import require_own
from redlane.sharing.planning import Plan

if TYPE_CHECKING:
    from redlane.policy_tests.running import Result

__all__ = ["Outcome", "as_planned", "outcome", "outcome_of"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would be wrong that is not now, and whether the legacy file would count.

    `failed` are tests of the policies that come, which they carry themselves, and
    `is_partial` tells that some of them were not run. `named` are roles that name a
    policy already which only comes now. `seen` is what the home held.
    """

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    failed: "tuple[Result, ...]"
    named: tuple[tuple[str, str], ...]
    is_legacy_lost: bool = False
    is_partial: bool = False
    seen: Sources | None = field(default=None, compare=False)


def outcome(
    paths: Paths, plan: Plan, plugins: Plugins, *, may_start: bool = False
) -> Outcome:
    """How a home would load as the plan would leave it; nothing is written.

    Tests that start programs or ask models are run where that is allowed. Raises
    RefusedError for a file among those of the hub that is none of them.
    """
    require_own(paths, plan)
    overlay = as_planned(paths, plan)
    return outcome_of(paths, overlay, plan.changes, plugins, may_start=may_start)


def outcome_of(
    paths: Paths,
    overlay: Overlay,
    changes: Collection[Change],
    plugins: Plugins,
    *,
    may_start: bool = False,
) -> Outcome:
    """The same of any change of a home: its files as they would be, and policies."""
    arriving = [name for each in changes for name in each.arriving]
    seen, to_be = read_sources(paths), read_sources(paths, overlay)
    now, then = (load_sources(each, paths, plugins) for each in (seen, to_be))
    cases, wrong = cases_of(to_be.policies)
    cases = own_cases(cases, arriving)
    chosen = cases if may_start else quick_cases(cases, then.ruleset)
    results = _results(then.ruleset, chosen)
    wrong = [each for each in wrong if each.subject in arriving]
    added = {name for each in changes for name in each.added}
    return Outcome(
        _new(_errors(then), _errors(now)),
        _new([*then.warnings, *wrong], now.warnings),
        tuple(each for each in results if not each.passed),
        tuple(_naming(seen, added)),
        _reads_legacy(seen, paths) and not _reads_legacy(to_be, paths),
        is_partial=len(chosen) < len(cases),
        seen=seen,
    )


def _results(ruleset: RuleSet, cases: Sequence[Case]) -> "list[Result]":
    if not cases:
        return []
    from redlane.policy_tests.running import run_cases  # noqa: PLC0415  # much to load

    return run_cases(ruleset, cases)


def as_planned(paths: Paths, plan: Plan) -> Overlay:
    """The files of a home as the plan would leave them."""
    former = (each for each in plan.former if each not in plan.lock.files)
    files = {**dict.fromkeys((*former, *plan.gone)), **plan.files}
    return Overlay({paths.home / path: data for path, data in files.items()})


def _errors(loaded: Loaded) -> list[Finding]:
    return [*loaded.errors, *compile_errors(loaded)]


def _new(then: Collection[Finding], now: Collection[Finding]) -> tuple[Finding, ...]:
    """What is not found yet, in whatever words the hint to it is."""
    known = {_without_hint(each) for each in now}
    return tuple(each for each in then if _without_hint(each) not in known)


def _without_hint(finding: Finding) -> Finding:
    return replace(finding, message=finding.message.partition("; did you mean")[0])


def _naming(sources: Sources, added: Collection[str]) -> Iterator[tuple[str, str]]:
    """The roles that name any of these, and which."""
    for entry in sources.roles:
        role = entry.value if isinstance(entry.value, dict) else {}
        policies = role.get("policies")
        for each in policies if isinstance(policies, list) else ():
            if isinstance(each, str) and each in added:
                yield str(role.get("name")), each


def _reads_legacy(sources: Sources, paths: Paths) -> bool:
    legacy = str(paths.legacy_policies)
    return any(each.file == legacy for each in (*sources.policies, *sources.roles))
