"""What each field of a role may hold (policy format: Role, Errors)."""

from typing import Any

import pytest
from spec.cases import simple
from spec.redlane_home import Checked, Home

WRONG: dict[str, tuple[Any, str]] = {
    "name-absent": ({"policies": []}, "name"),
    "name-null": ({"name": None, "policies": []}, "name"),
    "name-number": ({"name": 1, "policies": []}, "name"),
    "name-empty": ({"name": "", "policies": []}, "name"),
    "policies-absent": ({"name": "r1"}, "policies"),
    "policies-null": ({"name": "r2", "policies": None}, "policies"),
    "policies-string": ({"name": "r3", "policies": "p"}, "policies"),
    "policies-object": ({"name": "r4", "policies": {"p": 1}}, "policies"),
    "policies-element": ({"name": "r5", "policies": ["p", 1]}, "policies"),
    "policies-null-element": ({"name": "r6", "policies": [None]}, "policies"),
    "dynamic-string": (
        {"name": "r7", "policies": [], "is_dynamic": "no"},
        "is_dynamic",
    ),
    "dynamic-number": ({"name": "r8", "policies": [], "is_dynamic": 0}, "is_dynamic"),
    "dangling": ({"name": "r9", "policies": ["p", "nowhere"]}, "nowhere"),
    "dangling-case": ({"name": "r10", "policies": ["P"]}, "P"),
    "near-miss-policies": (
        {"name": "r11", "policies": [], "polices": ["p"]},
        "policies",
    ),
    "near-miss-only": ({"name": "r12", "polices": ["p"]}, "policies"),
    "near-miss-name": ({"nmae": "r13", "policies": []}, "name"),
    "near-miss-dynamic": (
        {"name": "r14", "policies": [], "isdynamic": True},
        "is_dynamic",
    ),
    "no-object": ("role", ""),
    "array-of-strings": (["role"], ""),
}
RIGHT: dict[str, Any] = {
    "ok": {"name": "ok1", "policies": ["p"]},
    "ok-empty": {"name": "ok2", "policies": []},
    "ok-dynamic-false": {"name": "ok3", "policies": [], "is_dynamic": False},
    "ok-dynamic-null": {"name": "ok4", "policies": [], "is_dynamic": None},
    "ok-extras": {"name": "ok5", "policies": [], "description": "d", "$schema": "s"},
    "ok-array": [{"name": "ok6", "policies": ["p"]}, {"name": "ok7", "policies": []}],
    "ok-empty-array": [],
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    home = Home(tmp_path_factory.mktemp("roles"))
    home.policies({"id": "p", **simple("Block", "x")})
    for name, (role, _) in WRONG.items():
        home.write(f"roles/{name}.json", role)
    for name, role in RIGHT.items():
        home.write(f"roles/{name}.json", role)
    return home.check()


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_role_is_an_error(checked: Checked, name: str) -> None:
    role, word = WRONG[name]
    errors = checked.errors_in(f"{name}.json")

    assert errors
    assert any(word in each["message"] for each in errors), errors
    if isinstance(role, dict) and isinstance(role.get("name"), str):
        assert {each["subject"] for each in errors} == {role["name"]}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_role_is_no_problem(checked: Checked, name: str) -> None:
    assert not checked.errors_in(f"{name}.json")
    assert not checked.warnings_in(f"{name}.json")


def test_an_unknown_field_of_a_role_is_a_warning(home: Home) -> None:
    home.role("r", owner="me")

    checked = home.check()

    assert checked.code == 0
    assert [each["subject"] for each in checked.warnings] == ["r"]
    assert "owner" in checked.warnings[0]["message"]


def test_each_dangling_reference_is_told(home: Home) -> None:
    home.role("r", "one", "two")

    messages = " ".join(each["message"] for each in home.check().errors)

    assert "one" in messages
    assert "two" in messages


@pytest.mark.parametrize("same_file", [True, False], ids=["one-file", "two-files"])
def test_a_duplicate_role_name_is_an_error(home: Home, *, same_file: bool) -> None:
    twin = {"name": "twin", "policies": []}
    if same_file:
        home.write("roles/a.json", [twin, twin])
    else:
        home.write("roles/a.json", twin)
        home.write("roles/b.json", twin)

    checked = home.check()

    assert checked.code == 1
    assert {each["subject"] for each in checked.errors} == {"twin"}


def test_a_role_that_names_a_broken_policy_cannot_be_used(home: Home) -> None:
    home.policies(
        {"id": "broken", **simple("Block")}, {"id": "p", **simple("Flag", "x")}
    )
    home.role("agent", "p", "broken")

    ran = home.validate("x", "agent", "Network")

    assert ran.code == 2
    assert ran.out == ""
