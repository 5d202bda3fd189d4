"""`redlane run` on the machine's daemon: the user's own rules go along and only forbid.

The machine's socket has a fixed place, so these run in a mount namespace where the
directory of a test's daemon stands there.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import DEADLINE, REDLANE, Home, Ran

NAMESPACE = ["unshare", "--mount"]
if os.geteuid() != 0:
    NAMESPACE += ["--user", "--map-root-user"]
INSIDE = """
mount -t tmpfs none /run && mkdir /run/redlane && mount --bind "$MACHINE" /run/redlane \
    && exec "$@"
"""


def can_mount() -> bool:
    command = [*NAMESPACE, "mount", "-t", "tmpfs", "none", "/run"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not can_mount(), reason="no mount namespace can be made here"
)


@pytest.fixture
def machine(daemon: Home) -> Home:
    """The daemon that stands for the machine's, with role `guard`."""
    return daemon


@pytest.fixture
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("u"))
    yield made
    made.stop()


def run(machine: Home, user: Home, *command: str, **env: str) -> Ran:
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", INSIDE, "sh", REDLANE, "run", "--", *command],
        capture_output=True,
        env={**user.env, "MACHINE": str(machine.dir / "run"), **env},
        cwd=user.user,
        timeout=DEADLINE,
        check=False,
        text=True,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def rule(name: str, pattern: str, action: str = "Block", **more: Any) -> dict[str, Any]:
    plain = {"id": name, "type": "Simple", "action": action, "pattern": pattern}
    return {**plain, **more}


def inner(command: str) -> tuple[str, ...]:
    """A shell inside the session: the agent itself is started, its commands judged."""
    return ("sh", "-c", 'exec bash -c "$0"', command)


def test_block_of_the_user_stops_what_the_machine_lets_go(
    machine: Home, user: Home
) -> None:
    assert run(machine, user, *inner("echo curl")).out == "curl\n"
    user.policies(rule("mine", "curl"))
    blocked = run(machine, user, *inner("echo curl"))
    assert (blocked.code, blocked.out) == (126, "")
    assert "restriction 'mine'" in blocked.err
    assert run(machine, user, *inner("echo wget")).out == "wget\n"
    event = [e for e in machine.control.rows("/api/events") if e["verdict"] == "BLOCK"]
    assert [(e["policy"], e["restriction"]) for e in event] == [("mine", True)]


def test_rules_of_the_machine_hold_whatever_the_user_has(
    machine: Home, user: Home
) -> None:
    user.policies(rule("all", "", "Allow"), rule("mine", "curl"))
    blocked = run(machine, user, *inner("echo rm -rf"))
    assert blocked.code == 126
    assert "'no-rm'" in blocked.err


def test_session_cannot_take_the_rules_of_its_user_away(
    machine: Home, user: Home
) -> None:
    user.policies(rule("mine", "curl"))
    (file,) = (user.user / ".redlane/policies").iterdir()
    before = file.read_bytes()
    text = "import os, sys; os.truncate(sys.argv[1], 0)"
    ran = run(machine, user, "/usr/bin/python3", "-c", text, os.fspath(file))
    assert "PermissionError" in ran.err
    assert f"redlane: refused truncate {file} (builtin:own-files)" in ran.err
    assert file.read_bytes() == before


def test_what_a_user_may_not_add_is_told_and_left_out(
    machine: Home, user: Home
) -> None:
    marker = user.user / "ran"
    rewrite = {"type": "Regex", "pattern": "a", "replacement": "b"}
    file = user.policies(
        rule("allows", "x", "Allow"),
        rule("changes", "x", "Modify", transform=rewrite),
        rule("runs", f"touch {marker}", type="Executable"),
        rule("mine", "curl"),
    )
    ran = run(machine, user, *inner("echo one"))
    assert (ran.code, ran.out) == (0, "one\n")
    notes = ran.err.splitlines()
    assert len(notes) == 3
    for note, name in zip(notes, ("allows", "changes", "runs"), strict=True):
        assert note.startswith(f"redlane: {file}: policy '{name}' is left out: ")
    assert not marker.exists()
    assert run(machine, user, *inner("echo curl")).code == 126


def test_default_role_of_the_user_says_which_of_the_rules(
    machine: Home, user: Home
) -> None:
    user.policies(rule("one", "curl"), rule("two", "wget"))
    user.role("mine", "one")
    assert run(machine, user, *inner("echo wget")).code == 126
    user.settings(sevsh={"default_role": "mine"})
    assert run(machine, user, *inner("echo wget")).out == "wget\n"
    assert run(machine, user, *inner("echo curl")).code == 126


BROKEN: dict[str, tuple[str, object]] = {
    "policy": ("policies/a.json", "{"),
    "pattern": ("policies/a.json", {**rule("x", "("), "type": "Regex"}),
    "role": ("roles/a.json", {"name": "r", "policies": ["nothing"]}),
    "settings": ("settings.json", {"sevsh": {"default_role": "none"}}),
    "setting": ("settings.json", {"sevsh": {"default_role": 1}}),
}


@pytest.mark.parametrize(("name", "text"), BROKEN.values(), ids=[*BROKEN])
def test_broken_file_of_the_user_refuses_the_run(
    machine: Home, user: Home, name: str, text: object
) -> None:
    file = user.write(name, text)
    ran = run(machine, user, "echo", "x")
    assert ran.out == ""
    assert str(file) in ran.refusal
    assert len(machine.control.rows("/api/sessions")) == 1


def test_user_without_rules_gets_the_machine_s_alone(machine: Home, user: Home) -> None:
    ran = run(machine, user, *inner("echo curl"))
    assert (ran.code, ran.out, ran.err) == (0, "curl\n", "")
    sessions = machine.control.rows("/api/sessions")
    assert [each["restricted"] for each in sessions] == [False, False]


def test_machine_refuses_too_many_rules_in_one_line(machine: Home, user: Home) -> None:
    user.policies(*(rule(f"p{place}", f"x{place}") for place in range(1_001)))
    ran = run(machine, user, "echo", "x")
    assert "1001 restrictions are more than the 1000" in ran.refusal


def test_flag_of_the_user_is_held_for_review(machine: Home, user: Home) -> None:
    machine.settings(review={"timeout_seconds": 0.2})
    assert machine.control.post("/api/policies/reload", {}).status == 200
    user.policies(rule("mine", "curl", "Flag"))
    ran = run(machine, user, *inner("echo curl"))
    assert ran.code == 126
    assert "not decided in 0.2 s" in ran.err


def test_own_daemon_is_sent_nothing(machine: Home) -> None:
    machine.policies(rule("extra", "curl"), file="more.json")
    ran = machine.run("run", "--", *inner("echo curl"))
    assert (ran.code, ran.out, ran.err) == (0, "curl\n", "")


def test_file_names_cannot_forge_lines(machine: Home, user: Home) -> None:
    file = Path("policies/a\nredlane: all is well\x1b[2J.json")
    user.write(file, json.dumps(rule("allows", "x", "Allow")))
    ran = run(machine, user, "true")
    assert ran.code == 0
    assert len(ran.err.splitlines()) == 1
    assert "\x1b" not in ran.err
