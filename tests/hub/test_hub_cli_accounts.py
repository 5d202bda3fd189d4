"""Approving, recognising and listing accounts, beside a hub that serves."""

import json
from pathlib import Path

import pytest
from hub_instance import Running, new_hub
from hub_operator import demo_hub, operate

APPROVALS = {
    "approve": ("approve", "is_approved"),
    "recognise": ("recognise", "is_endorsed"),
}


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return new_hub(tmp_path)


@pytest.mark.parametrize(("command", "field"), APPROVALS.values(), ids=APPROVALS)
def test_an_operator_decides_while_the_hub_is_open(
    command: str, field: str, running: Running, tmp_path: Path
) -> None:
    token = running.register("Ada@Example.org", approve=False)

    def profile() -> bool:
        return bool(running.call("GET", "/api/v1/me", token).json[field])

    assert not profile()
    # Addresses are one whatever the case of their ASCII letters.
    done = operate(command, "ada@EXAMPLE.org", directory=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("Ada@Example.org ")
    assert profile()
    assert operate(command, "ada@example.org", directory=tmp_path).returncode == 0
    done = operate(command, "ada@example.org", "--revoke", directory=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not profile()


@pytest.mark.parametrize("command", ["approve", "recognise"])
@pytest.mark.parametrize("email", ["nobody@example.org", "", "ad%@example.org", "\n"])
def test_an_unknown_address_is_refused_with_exit_1(
    command: str, email: str, running: Running, tmp_path: Path
) -> None:
    running.register("ada@example.org", approve=False)
    done = operate(command, email, directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("redlane-hub: there is no account '")
    assert done.stderr.count("\n") == 1


def test_recognising_who_may_not_publish_says_so(
    running: Running, tmp_path: Path
) -> None:
    running.register("ada@example.org", approve=False)
    done = operate("recognise", "ada@example.org", directory=tmp_path)
    assert (done.returncode, "approve" in done.stderr) == (0, True)


def test_the_list_counts_artifacts_and_keys(tmp_path: Path) -> None:
    demo_hub(tmp_path)
    done = operate("accounts", "--json", directory=tmp_path)
    found = {each["email"]: each for each in json.loads(done.stdout)}
    security = found["security@example.org"]
    assert (security["artifacts"], security["keys"]) == (6, 1)
    assert (security["is_approved"], security["is_endorsed"]) == (True, True)
    newcomer = found["newcomer@example.org"]
    assert (newcomer["is_approved"], newcomer["artifacts"]) == (False, 0)
    assert set(newcomer) == {
        *("id", "email", "created_at", "artifacts", "keys"),
        *("is_approved", "is_endorsed"),
    }


def test_the_list_can_be_of_those_that_wait(tmp_path: Path) -> None:
    demo_hub(tmp_path)
    done = operate("accounts", "--unapproved", directory=tmp_path)
    head, *rows = done.stdout.splitlines()
    assert head.split()[:3] == ["EMAIL", "APPROVED", "RECOGNISED"]
    assert [row.split()[:3] for row in rows] == [["newcomer@example.org", "no", "no"]]


def test_an_empty_list_is_words_for_people_and_an_empty_array_for_scripts(
    running: Running, tmp_path: Path
) -> None:
    running.register("ada@example.org")
    done = operate("accounts", "--unapproved", directory=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "redlane-hub: no account waits for approval\n"
    done = operate("accounts", "--unapproved", "--json", directory=tmp_path)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_an_address_cannot_talk_to_the_terminal(
    running: Running, tmp_path: Path
) -> None:
    running.register("ada\u202e@example.org")
    done = operate("accounts", directory=tmp_path)
    assert "\u202e" not in done.stdout
    assert "ada\\u202e@example.org" in done.stdout
