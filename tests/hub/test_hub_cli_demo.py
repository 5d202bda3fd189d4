"""The demonstration: everything in it is what the hub and the daemon take."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hub_instance import new_hub
from hub_operator import operate
from hub_process import hub_environment

from redlane_hub.cli.demo_story import PUBLICATIONS, Publication


def test_a_demonstration_is_a_hub_that_people_can_log_in_to(tmp_path: Path) -> None:
    done = operate("demo", tmp_path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    made = json.loads(done.stdout)
    assert made["database"] == str(tmp_path / "hub.db")
    secret = (tmp_path / "hub.db.secret").read_text().strip()
    running = new_hub(tmp_path, secret=secret)
    try:
        found = running.call("GET", "/api/v1/artifacts/search").json
        assert found["total"] == len(found["results"]) == 8
        session = running.call("POST", "/api/v1/login", json=made["accounts"][1])
        assert session.json["email"] == "ada@example.org"
        path = "/api/v1/artifacts/payments-rules/0.1.0"
        assert running.call("GET", path).status_code == 404
        own = running.call("GET", path, session.json["token"])
        assert (own.json["signed"], own.json["signature_valid"]) == (True, True)
        walked = running.call("GET", "/api/v1/artifacts/team-baseline/2026.8/resolve")
        assert all(each["found"] for each in walked.json["dependencies"])
    finally:
        running.close()


def test_a_demonstration_is_not_made_over_another_hub(tmp_path: Path) -> None:
    (tmp_path / "hub.db").write_text("precious")
    done = operate("demo", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert (tmp_path / "hub.db").read_text() == "precious"


POLICIES = [each for each in PUBLICATIONS if not each.needs]


@pytest.mark.parametrize("publication", POLICIES, ids=lambda p: f"{p.name}-{p.version}")
def test_the_policies_of_the_demonstration_load(
    publication: Publication, tmp_path: Path
) -> None:
    content = publication.content
    assert checked(tmp_path, {"policies/one.json": content}) == ([], [])


def test_the_roles_of_its_sets_load_with_what_they_need(tmp_path: Path) -> None:
    newest = {each.name: each for each in PUBLICATIONS}
    files = {
        f"{'roles' if each.needs else 'policies'}/{each.name}.json": each.content
        for each in newest.values()
    }
    assert checked(tmp_path, files)[0] == []


def checked(home: Path, files: dict[str, str]) -> tuple[list[object], list[object]]:
    for name, content in files.items():
        path = home / ".redlane" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("redlane"), "config", "check", "--json"],
        env=hub_environment({}) | {"HOME": str(home)},
        capture_output=True,
        check=False,
    )
    found = json.loads(done.stdout)
    return found["errors"], found["warnings"]
