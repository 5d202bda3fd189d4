"""The starter policies carry tests, and these would notice a policy that is gone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from core.test_starter import starter

from redlane.cli.starter import STARTER, write_starter
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load
from redlane.policies.sources import read_sources
from redlane.policy_tests.cases import Case, cases_of
from redlane.policy_tests.mutants import Mutant, survivors
from redlane.policy_tests.running import Result, covered, run_cases

MODEL_POLICY = "inbound-model"
FEWEST_MATCHES, FEWEST_OTHERS = 3, 2
UNNOTICED = {
    ("shell-remove-all-here", "strict"),
    ("shell-remove-places", "strict"),
    ("shell-remove-remote-branch", "strict"),
    ("shell-send-home", "strict"),
}
"""`strict` holds all that these policies hold there, by ones that hold more."""


def paths(home: Path) -> Paths:
    return Paths(home, home / "none.json", home, home / "none.sock")


def carried_in(home: Path) -> Mapping[str, Sequence[Case]]:
    """The tests that the policies of a home carry, by the policy; all are tests."""
    cases, wrong = cases_of(read_sources(paths(home)).policies)
    assert not wrong
    carried: dict[str, list[Case]] = defaultdict(list)
    for each in cases:
        carried[each.policy].append(each)
    return carried


@cache
def carried() -> Mapping[str, Sequence[Case]]:
    return carried_in(STARTER)


@cache
def results() -> Sequence[Result]:
    cases = [case for cases in carried().values() for case in cases]
    return run_cases(starter().ruleset, cases)


def memberships(name: str) -> list[Mutant]:
    """A policy taken out of each of its roles in turn.

    `mutants_of` has these too, behind thousands of patterns that take seconds to try.
    """
    policy = starter().ruleset.policies[name]
    return [Mutant(name, "without it", policy, role) for role in roles_of(name)]


def roles_of(name: str) -> set[str]:
    roles = starter().ruleset.roles.values()
    return {role.name for role in roles if name in role.policies}


def is_whole(cases: Sequence[Case], roles: set[str]) -> bool:
    """Whether tests of one policy are of all three kinds, and of all its roles."""
    matching = [each for each in cases if each.matches]
    others = [each for each in cases if each.matches is False]
    return (
        len(matching) >= FEWEST_MATCHES
        and len(others) >= FEWEST_OTHERS
        and {each.role for each in cases if each.matches is None} == roles
    )


def test_every_policy_carries_tests_of_each_kind() -> None:
    ruleset = starter().ruleset
    lacking = [
        name
        for name in ruleset.policies
        if not is_whole(carried().get(name, ()), roles_of(name))
    ]
    assert ruleset.policies
    assert not lacking


def test_all_pass() -> None:
    assert not [each for each in results() if not each.passed]


def test_every_policy_is_reached() -> None:
    assert covered(results()) == set(starter().ruleset.policies)


def test_each_policy_is_missed_by_its_own_tests_in_each_of_its_roles() -> None:
    ruleset = starter().ruleset
    unnoticed = {
        (name, each.role)
        for name, cases in carried().items()
        for each, survived in survivors(ruleset, cases, memberships(name))
        if survived
    }
    assert unnoticed == UNNOTICED


@pytest.mark.slow
def test_the_policy_of_the_model_carries_tests_that_pass(tmp_path: Path) -> None:
    write_starter(tmp_path, replace=False, with_model=True)
    cases = carried_in(tmp_path)[MODEL_POLICY]

    ruleset = load(paths(tmp_path), find_plugins()).ruleset
    run_cases(ruleset, cases[:1])  # which starts the model, and may take too long
    found = run_cases(ruleset, cases)

    assert is_whole(cases, {"developer", "strict"})
    assert not [each for each in found if not each.passed]
    assert covered(found) == {MODEL_POLICY}
