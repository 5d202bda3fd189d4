"""`redlane trust`: a project's policies are in force once a person has seen them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec.redlane_home import REDLANE, Home, Ran

ASK = {
    "id": "no-deploy",
    "type": "Regex",
    "context": "Shell",
    "action": "Block",
    "pattern": "^make deploy",
}
WEB = {"name": "web", "extends": "base", "policies": ["no-deploy"]}
ROLE = ["run", "--", "sh", "-c", "echo role $REDLANE_ROLE; make deploy"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    made.policies({**ASK, "id": "no-rm", "pattern": "^rm -rf ~"})
    made.role("base", "no-rm")
    made.settings(sevsh={"default_role": "base"})
    made.start()
    yield made
    made.stop()


@pytest.fixture
def shop(home: Home, tmp_path: Path) -> Iterator[Path]:
    """A project, which nobody trusts before nor after."""
    made = tmp_path / "shop"
    write(made, "policies", ASK)
    write(made, "roles", WEB)
    yield made
    home.run("trust", "--revoke", "--yes", "shop", cwd=made)


def write(project: Path, kind: str, *documents: object) -> None:
    file = project / ".redlane" / kind / "p.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(documents))


def trusted(home: Home, project: Path, *options: str) -> Ran:
    return home.run("trust", "--yes", *options, cwd=project)


def test_what_nobody_trusts_does_not_count_and_is_told(home: Home, shop: Path) -> None:
    ran = home.run(*ROLE, cwd=shop)
    assert "role base" in ran.out
    assert "blocked" not in ran.err
    assert f"{shop}/.redlane is not trusted" in ran.err


def test_sessions_in_a_trusted_project_have_its_role(home: Home, shop: Path) -> None:
    assert trusted(home, shop).code == 0
    (shop / "src").mkdir()
    for place in (shop, shop / "src"):
        ran = home.run("run", "--", "sh", "-c", "echo role $REDLANE_ROLE", cwd=place)
        assert ran.out == "role shop/web\n"
        assert ".redlane" not in ran.err
    assert "blocked: policy 'shop/no-deploy'" in home.run(*ROLE, cwd=shop).err
    named = home.run("run", "--role", "base", *ROLE[1:], cwd=shop)
    assert "role base" in named.out


def test_what_changes_afterwards_does_not_count_and_is_told(
    home: Home, shop: Path
) -> None:
    trusted(home, shop)
    write(shop, "policies", {**ASK, "action": "Allow"})
    ran = home.run(*ROLE, cwd=shop)
    assert "blocked: policy 'shop/no-deploy'" in ran.err
    assert f"{shop}/.redlane has changed" in ran.err
    shown = home.run("trust", "--dry-run", cwd=shop)
    assert '~ shop/no-deploy: action "Block" -> "Allow"' in shown.out
    assert "PERMITS" in shown.out
    assert [each["state"] for each in listed(home)] == ["changed since"]


def listed(home: Home) -> list[dict[str, str]]:
    projects: list[dict[str, str]] = home.run("trust", "--list", "--json").json
    return projects


def test_what_a_role_loosens_is_told(home: Home, shop: Path) -> None:
    bare = {"name": "bare", "policies": ["no-deploy"], "writable": ["/"]}
    write(shop, "roles", {**WEB, "policies": ["-no-rm"]}, bare)
    shown = home.run("trust", "--dry-run", cwd=shop).out
    assert "! shop/web TAKES AWAY no-rm" in shown
    assert "! shop/bare extends NO role" in shown
    assert '! shop/bare BOUNDS by writable: ["/"]' in shown


def test_nothing_is_trusted_unless_a_person_says_so(home: Home, shop: Path) -> None:
    ran = home.run("trust", cwd=shop)
    assert (ran.code, listed(home)) == (1, [])
    assert "+ shop/no-deploy: Block Shell Regex" in ran.out
    assert "There is no terminal to ask: say --yes" in ran.refusal


def test_no_session_trusts(home: Home, shop: Path) -> None:
    command = os.fspath(REDLANE)
    ran = home.run("run", "--", command, "trust", "--yes", cwd=shop)
    assert "nothing is trusted from inside a session" in ran.err
    ran = home.run(
        *("run", "--", "env", "-u", "REDLANE_SESSION", command, "trust", "--yes"),
        cwd=shop,
    )
    assert ran.code != 0
    assert listed(home) == []


def test_what_starts_programs_is_taken_only_by_name(home: Home, shop: Path) -> None:
    check = {**ASK, "id": "check", "type": "Executable", "pattern": "true"}
    write(shop, "policies", ASK, check)
    assert "(shop/check): read them, and say --allow-executable" in (
        trusted(home, shop).refusal
    )
    assert trusted(home, shop, "--allow-executable").code == 0


@pytest.mark.parametrize(
    ("kind", "document", "why"),
    [
        ("roles", {**WEB, "extends": "nobody"}, "there is no role 'nobody'"),
        ("policies", {**ASK, "pattern": "("}, "this would not load"),
        ("policies", {**ASK, "tests": {"match": ["ls"]}}, "a test of its own fails"),
    ],
)
def test_what_would_not_load_is_not_trusted(
    home: Home, shop: Path, kind: str, document: object, why: str
) -> None:
    write(shop, kind, document)
    ran = trusted(home, shop)
    assert (ran.code != 0, listed(home)) == (True, [])
    assert why in ran.err


def test_what_is_trusted_no_more_is_in_force_no_more(home: Home, shop: Path) -> None:
    trusted(home, shop)
    ran = home.run("trust", "--revoke", "--yes", cwd=shop)
    assert (ran.code, listed(home)) == (0, [])
    assert "- shop/no-deploy" in ran.out
    assert "role base" in home.run(*ROLE, cwd=shop).out


def test_json_says_what_changes(home: Home, shop: Path) -> None:
    document = home.run("trust", "--dry-run", "--json", cwd=shop).json
    assert document["after"] == {
        "name": "shop",
        "directory": str(shop),
        "role": "shop/web",
    }
    assert [each["id"] for each in document["policies"]["added"]] == ["shop/no-deploy"]
    assert (document["errors"], document["before"]) == ([], None)


def test_where_there_is_nothing_to_trust_it_says_so(home: Home, tmp_path: Path) -> None:
    refusal = home.run("trust", cwd=tmp_path).refusal
    assert f"{tmp_path}: no policies/ or roles/ in a .redlane here" in refusal
