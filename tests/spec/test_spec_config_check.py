"""`redlane config check`: what it prints and how it exits (interface contract)."""

import json
from pathlib import Path

import pytest
from spec.cases import regex, simple
from spec.redlane_home import Home, Ran

GOOD = {"id": "good", **simple("Block", "x")}
BAD = {"id": "bad-one", **regex("Block", "(")}
BAD_TOO = {"id": "bad-two", **simple("Block")}
ODD = {"id": "odd", **regex("Allow", ".*")}


def _text(home: Home) -> Ran:
    return home.run("config", "check")


def _findings(ran: Ran) -> list[str]:
    starts = ("error: ", "warning: ")
    return [line for line in ran.out.splitlines() if line.startswith(starts)]


def test_no_error_is_exit_0(home: Home) -> None:
    home.policies(GOOD)

    assert _text(home).code == 0
    assert home.check().code == 0


def test_a_warning_is_exit_0(home: Home) -> None:
    home.policies(ODD)

    assert _text(home).code == 0
    assert home.check().code == 0


def test_an_error_is_exit_1(home: Home) -> None:
    home.policies(GOOD, BAD, ODD)

    assert _text(home).code == 1
    assert home.check().code == 1


def test_text_has_one_line_for_each_finding(home: Home) -> None:
    home.policies(GOOD, BAD, file="a.json")
    home.policies(BAD_TOO, ODD, file="b.json")
    home.role("agent", "nowhere")

    found = _findings(_text(home))

    for kind, file, subject in (
        ("error: ", "a.json", "bad-one"),
        ("error: ", "b.json", "bad-two"),
        ("error: ", "agent.json", "agent"),
        ("warning: ", "b.json", "odd"),
    ):
        assert [
            line
            for line in found
            if line.startswith(kind) and file in line and subject in line
        ], (kind, file, subject)
    assert len(found) == 4


def test_text_and_json_find_the_same(home: Home) -> None:
    home.policies(GOOD, BAD, BAD_TOO, ODD)
    home.settings(nonsense=1)
    checked = home.check()

    lines = _findings(_text(home))

    assert len(lines) == len(checked.errors) + len(checked.warnings)


def test_a_finding_stays_on_one_line(home: Home) -> None:
    home.policies({"id": "two\nlines\x1b[31m", **regex("Block", "(\n")})

    ran = _text(home)

    assert len(_findings(ran)) == len(home.check().errors)
    assert "\x1b" not in ran.said
    assert ran.out.splitlines() == _findings(ran)


def test_json_has_exactly_the_shape_of_the_contract(home: Home) -> None:
    home.policies(GOOD, BAD, ODD)
    home.role("agent", "good")

    ran = home.run("config", "check", "--json")

    found = json.loads(ran.out)
    assert set(found) == {"errors", "warnings", "policies", "roles"}
    assert type(found["policies"]) is int
    assert type(found["roles"]) is int
    assert found["errors"]
    assert found["warnings"]
    for each in found["errors"] + found["warnings"]:
        assert set(each) == {"file", "subject", "message"}
        assert all(isinstance(value, str) for value in each.values())


def test_json_counts_policies_and_roles(home: Home) -> None:
    home.policies(GOOD, ODD)
    home.role("a", "good")
    home.role("b")
    home.role("c", "odd")

    checked = home.check()

    assert (checked.policies, checked.roles) == (2, 3)


def test_json_names_the_file_by_its_path(home: Home) -> None:
    path = home.policies(BAD)

    assert [Path(each["file"]) for each in home.check().errors] == [path]


def test_all_problems_are_found_in_one_run(home: Home) -> None:
    home.policies(BAD, BAD_TOO, file="a.json")
    home.write("policies/b.json", "{ broken")
    home.role("agent", "nowhere")
    home.write("roles/x.json", "[]]")
    home.settings(review={"timeout_seconds": "soon"})

    files = {Path(each["file"]).name for each in home.check().errors}

    assert files == {"a.json", "b.json", "agent.json", "x.json", "settings.json"}


def test_a_broken_file_does_not_make_every_reference_to_it_dangle_silently(
    home: Home,
) -> None:
    home.write("policies/a.json", "{ broken")
    home.role("agent", "lost")

    checked = home.check()

    assert checked.code == 1
    assert checked.errors_in("a.json")


def test_it_needs_no_daemon_and_writes_nothing(home: Home) -> None:
    home.policies(GOOD)
    before = sorted(home.user.rglob("*"))

    home.check()

    assert sorted(home.user.rglob("*")) == before


@pytest.mark.parametrize(
    "args",
    [("config",), ("config", "nope"), ("config", "check", "--nope"), ("nope",), ()],
    ids=["config", "unknown-verb", "unknown-option", "unknown-command", "nothing"],
)
def test_wrong_usage_is_no_traceback(home: Home, args: tuple[str, ...]) -> None:
    ran = home.run(*args)

    assert "Traceback" not in ran.said
    if args:
        assert ran.code == 2


def test_list_builtins_names_the_session_variables(home: Home) -> None:
    ran = home.run("config", "list-builtins")

    assert ran.code == 0
    assert "REDLANE_SESSION" in ran.out
    assert "REDLANE_SOCKET" in ran.out


def test_list_builtins_as_json(home: Home) -> None:
    ran = home.run("config", "list-builtins", "--json")

    assert ran.code == 0
    assert "REDLANE_SESSION" in json.dumps(ran.json)
    assert "REDLANE_SOCKET" in json.dumps(ran.json)


def test_list_builtins_does_not_depend_on_files(home: Home) -> None:
    home.write("policies/a.json", "{ broken")

    assert home.run("config", "list-builtins").code == 0
