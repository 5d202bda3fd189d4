"""Where policies, roles and settings are found (policy format: File locations)."""

import pytest
from spec.cases import simple
from spec.redlane_home import Home

ONE = {"id": "one", **simple("Block", "one")}
TWO = {"id": "two", **simple("Block", "two")}


def _legacy(home: Home, data: object) -> None:
    home.write(home.legacy, data)


def _blocks(home: Home, *words: str) -> list[str]:
    """Those of `words` that the role `agent` blocks."""
    return [
        word
        for word in words
        if home.verdict(word, "agent", "Network")["verdict"] == "BLOCK"
    ]


def test_an_empty_home_has_no_errors(home: Home) -> None:
    checked = home.check()

    assert (checked.code, checked.policies, checked.roles) == (0, 0, 0)
    assert checked.errors == []


def test_no_redlane_directory_is_no_error(home: Home) -> None:
    home.dir.rmdir()

    checked = home.check()

    assert (checked.code, checked.policies, checked.roles) == (0, 0, 0)


def test_a_policy_file_holds_one_object(home: Home) -> None:
    home.write("policies/a.json", ONE)

    assert home.check().policies == 1


def test_a_policy_file_holds_an_array(home: Home) -> None:
    home.write("policies/a.json", [ONE, TWO])

    assert home.check().policies == 2


def test_all_files_of_the_directory_are_loaded(home: Home) -> None:
    home.write("policies/a.json", ONE)
    home.write("policies/b.json", [TWO])

    assert home.check().policies == 2


@pytest.mark.parametrize(
    "name", ["a.txt", "a.json.bak", "a.json~", "json", "README.md"]
)
def test_only_json_files_are_loaded(home: Home, name: str) -> None:
    home.write(f"policies/{name}", ONE)
    home.write(f"roles/{name}", {"name": "r", "policies": ["one"]})

    checked = home.check()

    assert (checked.code, checked.policies, checked.roles) == (0, 0, 0)


def test_a_role_file_holds_one_role_or_an_array(home: Home) -> None:
    home.write("roles/a.json", {"name": "a", "policies": []})
    home.write("roles/b.json", [{"name": n, "policies": []} for n in ("b", "c")])

    assert home.check().roles == 3


LEGACY_FORMS = {
    "object": ONE,
    "array": [ONE],
    "policies-and-roles": {"policies": [ONE], "roles": []},
    "policies-only": {"policies": [ONE]},
}


@pytest.mark.parametrize("data", LEGACY_FORMS.values(), ids=LEGACY_FORMS.keys())
def test_the_legacy_file_is_loaded_without_directory_policies(
    home: Home, data: object
) -> None:
    _legacy(home, data)
    home.role("agent", "one")

    assert _blocks(home, "one") == ["one"]


def test_the_legacy_file_brings_roles(home: Home) -> None:
    roles = [{"name": "agent", "policies": ["one"]}]
    _legacy(home, {"policies": [ONE], "roles": roles})

    assert _blocks(home, "one") == ["one"]


@pytest.mark.parametrize("kind", ["missing", "empty", "other-files", "empty-array"])
def test_a_directory_without_policies_leaves_the_legacy_file_in_force(
    home: Home, kind: str
) -> None:
    if kind != "missing":
        (home.dir / "policies").mkdir()
    if kind == "other-files":
        home.write("policies/notes.txt", "hello")
    if kind == "empty-array":
        home.write("policies/a.json", [])
    _legacy(home, [ONE])

    assert home.check().policies == 1


def test_the_legacy_file_is_not_loaded_beside_directory_policies(home: Home) -> None:
    home.policies(TWO)
    _legacy(home, [ONE])

    assert home.check().policies == 1


def test_a_broken_legacy_file_beside_directory_policies_does_not_matter(
    home: Home,
) -> None:
    home.policies(TWO)
    _legacy(home, "{ broken")

    assert home.check().code == 0


def test_a_broken_legacy_file_is_an_error(home: Home) -> None:
    _legacy(home, "{ broken")

    checked = home.check()

    assert checked.code == 1
    assert checked.errors[0]["file"].endswith(".config/redlane/policies.json")


def test_redlane_home_stands_for_the_directory(home: Home) -> None:
    other = home.user / "elsewhere"
    home.policies(ONE)
    home.write(other / "policies" / "a.json", [TWO])
    home.write(other / "roles" / "a.json", {"name": "agent", "policies": ["two"]})
    home.env["REDLANE_HOME"] = str(other)

    assert _blocks(home, "one", "two") == ["two"]


def test_redlane_home_also_holds_the_settings(home: Home) -> None:
    other = home.user / "elsewhere"
    home.write(other / "settings.json", {"sevsh": {"default_role": "agent"}})
    home.write(other / "policies" / "a.json", [TWO])
    home.write(other / "roles" / "a.json", {"name": "agent", "policies": ["two"]})
    home.env["REDLANE_HOME"] = str(other)

    assert home.verdict("two")["role"] == "agent"


def test_redlane_home_leaves_the_legacy_file_where_it_is(home: Home) -> None:
    _legacy(home, [ONE])
    home.env["REDLANE_HOME"] = str(home.user / "elsewhere")

    assert home.check().policies == 1


def test_everything_is_found_from_home(home: Home) -> None:
    home.policies(ONE)
    other = home.user / "other-user"
    home.write(other / ".redlane" / "policies" / "a.json", [ONE, TWO])
    home.env["HOME"] = str(other)

    assert home.check().policies == 2
