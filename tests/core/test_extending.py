"""Roles that extend others: what each comes to, and what cannot be told."""

from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, simple
from hypothesis import given
from hypothesis import strategies as st

from redlane.model.policy import Role
from redlane.policies.extending import extend
from redlane.policies.parsing import ParsedRole
from redlane.policies.sources import Entry

BASE = {
    "name": "base",
    "policies": ["a", "b"],
    "egress": "proxy",
    "writable": ["@work"],
    "hidden": ["@keys"],
    "namespaces": "allow",
    "description": "the first",
}
OTHER = {"name": "other", "policies": ["b", "c"]}


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    home = PolicyHome(tmp_path)
    home.policies(*(simple(each) for each in "abcd"))
    home.write("roles/base.json", BASE)
    home.write("roles/other.json", OTHER)
    return home


def loaded_role(home: PolicyHome, role: dict[str, Any]) -> Role:
    home.write("roles/mine.json", {"name": "mine", **role})
    loaded = home.load()
    assert not loaded.errors, loaded.errors
    return loaded.ruleset.roles["mine"]


@pytest.mark.parametrize(
    ("extends", "policies", "comes_to"),
    [
        ("other", [], {"b", "c"}),
        ("other", ["d"], {"b", "c", "d"}),
        ("other", ["b"], {"b", "c"}),
        ("other", ["-b"], {"c"}),
        ("other", ["d", "-c", "-b"], {"d"}),
        (["other"], ["-c"], {"b"}),
        (["other", "other"], ["-b", "-b"], {"c"}),
    ],
)
def test_policies_add_and_take_away(
    home: PolicyHome, extends: object, policies: list[str], comes_to: set[str]
) -> None:
    role = loaded_role(home, {"extends": extends, "policies": policies})
    assert set(role.policies) == comes_to
    rules = home.load().ruleset.rules("mine")
    assert rules is not None
    assert {each.id for each in rules.policies.values()} == comes_to


def test_several_come_together_and_each_extends_on(home: PolicyHome) -> None:
    home.role("more", "d")
    home.write("roles/on.json", {"name": "on", "extends": "other", "policies": ["-c"]})
    role = loaded_role(home, {"extends": ["more", "on"], "policies": ["a"]})
    assert set(role.policies) == {"a", "b", "d"}


def test_what_it_does_not_say_of_sessions_is_as_there(home: PolicyHome) -> None:
    role = loaded_role(home, {"extends": "base", "policies": [], "hidden": ["@cloud"]})
    assert (role.writable, role.leaves_by_proxy) == (("@work",), True)
    assert (role.hidden, role.namespaces) == (("@cloud",), True)
    assert role.description is None


def test_what_is_extended_changes_nothing_of_its_own(home: PolicyHome) -> None:
    loaded_role(home, {"extends": "base", "policies": ["c", "-a"]})
    assert home.load().ruleset.roles["base"].policies == ("a", "b")


ERRORS = {
    "unknown": (
        {"extends": "oter", "policies": []},
        "`extends`: there is no role 'oter'; did you mean 'other'?",
    ),
    "itself": (
        {"extends": "mine", "policies": []},
        "`extends` goes round in a circle: 'mine' -> 'mine'",
    ),
    "a circle": (
        {"extends": "round", "policies": []},
        "`extends` goes round in a circle: 'mine' -> 'round' -> 'mine'",
    ),
    "not there": (
        {"extends": "other", "policies": ["-a"]},
        "`policies`: there is no 'a' to take away",
    ),
    "two that differ": (
        {"extends": ["base", "other"], "policies": []},
        "`hidden`: the roles that it extends differ in it, so it has to say",
    ),
    "a broken one": (
        {"extends": "broken", "policies": []},
        "`extends`: the role 'broken' has errors",
    ),
    "a number": ({"extends": 1, "policies": []}, "`extends` must be"),
    "a missing policy of it": (
        {"extends": "lacks", "policies": []},
        "no file defines the policy 'nowhere'",
    ),
    "nothing to take from": ({"policies": ["-a"]}, "no file defines the policy '-a'"),
}


@pytest.mark.parametrize(("role", "says"), ERRORS.values(), ids=ERRORS)
def test_what_cannot_be_told_is_an_error(
    home: PolicyHome, role: dict[str, Any], says: str
) -> None:
    home.write("roles/round.json", {"name": "round", "extends": "mine", "policies": []})
    home.write("roles/broken.json", {"name": "broken", "policies": 1})
    home.role("lacks", "nowhere")
    file = home.write("roles/mine.json", {"name": "mine", **role})

    loaded = home.load()

    told = [e.message for e in loaded.errors if e.file == str(file)]
    assert any(says in each for each in told), told
    assert "mine" not in loaded.ruleset.roles
    assert any(says in each.message for each in loaded.problems_of_role("mine"))


def test_a_huge_circle_is_told_at_once() -> None:
    count = 5_000
    roles = [
        ParsedRole(
            Entry("f", "", {}),
            str(n),
            Role(str(n), (), extends=(str((n + 1) % count),)),
            (),
        )
        for n in range(count)
    ]
    taken, findings = extend(roles)
    assert len(findings) == count
    assert not any(each.role for each in taken)
    assert sum(len(each.message) for each in findings) < 200 * count


def test_roles_that_are_not_loaded_can_be_extended(home: PolicyHome) -> None:
    home.write(
        "roles/mine.json", {"name": "mine", "extends": "other", "policies": ["-c"]}
    )
    loaded = home.load(only_roles=frozenset({"mine"}))
    assert not loaded.errors
    assert {*loaded.ruleset.roles} == {"mine"}
    assert loaded.ruleset.roles["mine"].policies == ("b",)


def test_digest_is_of_what_a_role_comes_to(home: PolicyHome) -> None:
    home.write("roles/mine.json", {"name": "mine", "extends": "base", "policies": []})
    only = frozenset({"mine"})
    before = home.load(only_roles=only).ruleset.digest
    home.write("roles/base.json", {**BASE, "hidden": ["@cloud"]})
    assert home.load(only_roles=only).ruleset.digest != before


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 7), max_size=3),
            st.lists(st.sampled_from(["a", "b", "-a", "-b"]), max_size=3),
        ),
        max_size=8,
    )
)
def test_every_role_is_whole_or_says_why(
    drawn: list[tuple[list[int], list[str]]],
) -> None:
    roles = [
        ParsedRole(
            Entry("f", "", {}),
            str(place),
            Role(
                str(place),
                tuple(each for each in names if bases or "-" not in each),
                extends=tuple(map(str, bases)),
            ),
            (),
        )
        for place, (bases, names) in enumerate(drawn)
    ]
    taken, findings = extend(roles)
    lacking = {each.name for each in taken if each.role is None}
    assert lacking == {each.subject for each in findings}
    for each in taken:
        if each.role is not None:
            assert not any(name.startswith("-") for name in each.role.policies)
