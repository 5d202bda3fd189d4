"""What a project's `.redlane` comes to: its names, where it holds, what it changes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, regex, simple, told

from redlane.errors import LoadError, RedlaneError, UsageError
from redlane.projects.folder import Said, folder_of
from redlane.projects.naming import named_for
from redlane.projects.project import project_of, projects_of
from redlane.projects.trusting import (
    Trusting,
    carry_out,
    forgetting,
    is_as_trusted,
    trusting,
)

NOTHING: dict[str, Any] = {"policies": []}


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    home = PolicyHome(tmp_path / "home")
    home.policies(simple("no-rm"))
    home.role("developer", "no-rm")
    return home


def said(directory: Path, *, policies: Any = (), roles: Any = ()) -> Path:
    """A directory whose `.redlane` says this."""
    for kind, documents in (("policies", policies), ("roles", roles)):
        folder = directory / ".redlane" / kind
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "p.json").write_text(json.dumps(list(documents)))
    return directory


def role(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "extends": "developer", "policies": [], **fields}


def trust(home: PolicyHome, directory: Path, **options: Any) -> Trusting:
    plan = trusting(directory, home.paths, **options)
    carry_out(plan, home.paths)
    return plan


NAMES = {
    "its own policy": (
        {"name": "web", "policies": ["ask", "no-rm"]},
        {"name": "shop/web", "policies": ["shop/ask", "no-rm"]},
    ),
    "one that is taken away": (
        {"name": "web", "extends": "base", "policies": ["-ask", "-no-rm"]},
        {
            "name": "shop/web",
            "extends": "shop/base",
            "policies": ["-shop/ask", "-no-rm"],
        },
    ),
    "several roles": (
        {"name": "web", "extends": ["base", "developer"], "policies": []},
        {"name": "shop/web", "extends": ["shop/base", "developer"], "policies": []},
    ),
    "a role that is called as the one that it extends": (
        {"name": "base", "extends": "base", "policies": []},
        {"name": "shop/base", "extends": "base", "policies": []},
    ),
    "no name": ({"name": 3, "policies": 4}, {"name": 3, "policies": 4}),
    "no role": ("web", "web"),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_of_its_own_begin_with_its_name(case: str) -> None:
    given, outside = NAMES[case]
    others = ({"name": "base", "policies": []},)
    found = named_for("shop", Said((regex("ask"),), (given, *others)))
    assert found.policies[0]["id"] == "shop/ask"
    assert found.roles[0] == outside


@pytest.mark.parametrize("form", ["list", "object"])
def test_roles_in_tests_are_its_own(form: str) -> None:
    verdicts = [
        {"role": each, "content": "ls", "verdict": "ALLOW"} for each in ("web", "other")
    ]
    tests = verdicts if form == "list" else {"match": ["rm"], "verdicts": verdicts}
    policy = regex("ask", tests=tests)
    (named,) = named_for("shop", Said((policy,), (role("web"),))).policies
    found = named["tests"] if form == "list" else named["tests"]["verdicts"]
    assert [each["role"] for each in found] == ["shop/web", "other"]


def test_what_is_trusted_is_loaded(home: PolicyHome, tmp_path: Path) -> None:
    roles = [role("web", policies=["ask"])]
    trust(home, said(tmp_path / "shop", policies=[regex("ask", "prod")], roles=roles))
    loaded = home.load()
    assert not loaded.findings
    assert loaded.ruleset.roles["shop/web"].policies == ("no-rm", "shop/ask")


def test_a_copy_counts_and_not_what_the_directory_says(
    home: PolicyHome, tmp_path: Path
) -> None:
    shop = said(tmp_path / "shop", roles=[role("web")])
    trust(home, shop)
    (project,) = projects_of(home.paths)
    assert is_as_trusted(project)
    said(shop, roles=[role("web", policies=["-no-rm"])])
    assert not is_as_trusted(project)
    assert home.load().ruleset.roles["shop/web"].policies == ("no-rm",)
    plan = trusting(shop, home.paths)
    assert plan.roles.changed.keys() == {"shop/web"}


def test_it_does_not_bring_the_legacy_file_back_nor_put_it_away(
    home: PolicyHome, tmp_path: Path
) -> None:
    for file in (*home.paths.policies.iterdir(), *home.paths.roles.iterdir()):
        file.unlink()
    home.legacy([simple("old")])
    bare = {"name": "web", "policies": ["ask"]}
    trust(home, said(tmp_path / "shop", policies=[regex("ask")], roles=[bare]))
    assert set(home.load().ruleset.policies) == {"old", "shop/ask"}


@pytest.mark.parametrize(
    "document",
    [b"", b"[]", {"version": 2}, {"version": 1, "directory": "/x", "policies": []}],
    ids=["empty", "no object", "another version", "half of it"],
)
def test_a_damaged_file_is_an_error(home: PolicyHome, document: Any) -> None:
    home.write("projects/shop.json", document)
    with pytest.raises(LoadError, match=r"shop\.json: "):
        list(projects_of(home.paths))
    if document != {"version": 1, "directory": "/x", "policies": []}:
        assert "shop.json" in {file for file, _, _ in told(home.load().errors)}


def test_the_innermost_project_holds(home: PolicyHome, tmp_path: Path) -> None:
    outer, inner = tmp_path / "shop", tmp_path / "shop" / "web"
    for each in (outer, inner):
        trust(home, said(each, roles=[role("r")]))
    places = (outer, outer / "docs", inner, inner / "a" / "b", tmp_path / "shopping")
    found = [project_of(each, home.paths) for each in places]
    assert [each and each.name for each in found] == [
        *("shop", "shop", "web", "web", None)
    ]


def test_folder_is_the_nearest_that_has_policies_or_roles(
    home: PolicyHome, tmp_path: Path
) -> None:
    shop = said(tmp_path / "shop")
    (shop / "web" / ".redlane").mkdir(parents=True)
    assert folder_of(shop / "web", home.paths) == shop
    assert folder_of(tmp_path, home.paths) is None


def test_a_home_is_no_project(home: PolicyHome) -> None:
    assert folder_of(home.root, home.paths) is None
    (home.root / "work").mkdir()
    (home.root / "work" / ".redlane").symlink_to(home.paths.home)
    assert folder_of(home.root / "work", home.paths) is None


@pytest.mark.parametrize(
    ("roles", "wanted", "expected"),
    [
        (["web"], None, "shop/web"),
        (["web", "data"], None, None),
        (["web", "data"], "data", "shop/data"),
        (["web", "data"], "shop/web", "shop/web"),
    ],
)
def test_role_of_its_sessions(
    home: PolicyHome,
    tmp_path: Path,
    roles: list[str],
    wanted: str | None,
    expected: str | None,
) -> None:
    shop = said(tmp_path / "shop", roles=map(role, roles))
    plan = trusting(shop, home.paths, role=wanted)
    assert plan.after is not None
    assert plan.after.role == expected


@pytest.mark.parametrize(
    ("says", "options", "why"),
    [
        ({}, {}, "there is no role"),
        ({"roles": [role("web")]}, {"role": "data"}, "no role 'data', but shop/web"),
        ({"roles": [role("web")]}, {"name": "../x"}, "is no name for a project"),
        ({"roles": [role("web")]}, {"name": "other"}, "is trusted as 'shop'"),
        ({"roles": [role("web")] * 2}, {}, "two with the name 'shop/web'"),
        ({"roles": [NOTHING]}, {}, "something without `name`"),
        ({"roles": [{**NOTHING, "name": ["x"]}]}, {}, "something without `name`"),
        (
            {"roles": [role("web", description="x" * 5_000_000)]},
            {},
            "roles: more than 4 MiB",
        ),
        ({"roles": [role("web")], "policies": ["x"]}, {}, "something without `id`"),
    ],
)
def test_what_cannot_be_trusted_says_why(
    home: PolicyHome,
    tmp_path: Path,
    says: dict[str, Any],
    options: dict[str, str],
    why: str,
) -> None:
    shop = tmp_path / "shop"
    if options.get("name") == "other":
        trust(home, said(shop, roles=[role("web")]))
    with pytest.raises(RedlaneError, match=why):
        trusting(said(shop, **says), home.paths, **options)


def test_a_name_is_one_projects(home: PolicyHome, tmp_path: Path) -> None:
    trust(home, said(tmp_path / "a" / "shop", roles=[role("web")]))
    other = said(tmp_path / "b" / "shop", roles=[role("web")])
    with pytest.raises(RedlaneError, match=r"trusted as 'shop' already: say --name"):
        trusting(other, home.paths)
    trust(home, other, name="shop2")
    assert {each.name for each in projects_of(home.paths)} == {"shop", "shop2"}


@pytest.mark.parametrize("by", ["name", "directory"])
def test_a_project_is_forgotten_by_its_name_or_directory(
    home: PolicyHome, tmp_path: Path, by: str
) -> None:
    shop = said(tmp_path / "shop", roles=[role("web")])
    trust(home, shop)
    named = "shop" if by == "name" else str(shop)
    carry_out(
        forgetting(named, shop if by == "directory" else tmp_path, home.paths),
        home.paths,
    )
    assert list(projects_of(home.paths)) == []
    with pytest.raises(UsageError, match="no such project"):
        forgetting(named, shop, home.paths)


def test_what_is_damaged_can_be_forgotten(home: PolicyHome, tmp_path: Path) -> None:
    file = home.write("projects/shop.json", {"version": 1})
    with pytest.raises(LoadError, match="redlane trust --revoke shop removes it"):
        list(projects_of(home.paths))
    carry_out(forgetting("shop", tmp_path, home.paths), home.paths)
    assert not file.exists()


def test_a_directory_without_a_printable_name_is_refused(
    home: PolicyHome, tmp_path: Path
) -> None:
    odd = said(tmp_path / "bad\udcff", roles=[role("web")])
    with pytest.raises(UsageError, match="rename it"):
        trusting(odd, home.paths)


def test_a_folder_that_cannot_be_looked_into_is_none(
    home: PolicyHome, tmp_path: Path
) -> None:
    shop = said(tmp_path / "shop", roles=[role("web")])
    (shop / ".redlane").chmod(0)
    try:
        found = folder_of(shop, home.paths)
        assert found == (shop if os.getuid() == 0 else None)
    finally:
        (shop / ".redlane").chmod(0o700)


def test_files_that_do_not_load_are_named(home: PolicyHome, tmp_path: Path) -> None:
    shop = said(tmp_path / "shop", roles=[role("web")])
    (shop / ".redlane" / "roles" / "x.json").write_text("{")
    with pytest.raises(LoadError, match=r"roles/x\.json: "):
        trusting(shop, home.paths)
