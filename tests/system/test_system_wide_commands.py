"""The commands and the shell wrapper on a machine with a daemon for everybody."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec.redlane_home import REDLANE, REDLANE_SH, wait_for
from system.whole_machine import ADMIN, ALICE, BOB, Machine, Person, User, guarded

SOCKET = "/run/redlane/control.sock"


@pytest.fixture
def own_home(whole: Machine) -> Iterator[Path]:
    """Alice's own Redlane directory: her role blocks `whisper`; gone in the end."""
    home = whole.home_of(ALICE) / ".redlane"
    for kind in ("policies", "roles"):
        (home / kind).mkdir(parents=True)
    policy = {"id": "hush", "type": "Simple", "action": "Block", "pattern": "whisper"}
    (home / "policies/p.json").write_text(json.dumps(policy))
    (home / "roles/r.json").write_text('{"name": "mine", "policies": ["hush"]}')
    (home / "settings.json").write_text('{"sevsh.default_role": "mine"}')
    for place in (home, *home.rglob("*")):
        os.chown(place, ALICE.uid, ALICE.uid)
    yield home
    shutil.rmtree(home)


def test_commands_ask_the_machines_daemon(whole: Machine) -> None:
    status = whole.run(ALICE, "status", "--json").json
    assert (status["daemon"], status["socket"]) == ("system", SOCKET)
    assert status["administrator"] is False
    told = whole.run(ALICE, "status").out
    assert "daemon:       the machine's, which serves every user" in told
    assert whole.run(ADMIN, "status", "--json").json["administrator"] is True
    assert "default" in whole.run(ALICE, "session", "list").out
    assert whole.run(ALICE, "events").code == 0


def test_users_are_told_what_administrators_alone_may(whole: Machine) -> None:
    ran = whole.run(ALICE, "session", "reload")
    assert ran.code != 0
    assert "members of group redlane" in ran.refusal
    assert whole.run(ADMIN, "session", "reload").code == 0
    assert whole.run(None, "session", "reload").code == 0


def test_role_of_the_own_default_session_is_the_users_to_change(
    whole: Machine,
) -> None:
    assert whole.run(ALICE, "session", "set-role", "open").code == 0
    assert "closed" in whole.run(ALICE, "session", "set-role", "closed").refusal
    assert whole.run(ALICE, "session", "set-role", "guard").code == 0


@pytest.mark.parametrize("user", [ALICE, ADMIN, None], ids=["user", "admin", "root"])
def test_agent_runs_guarded_for_everybody(whole: Machine, user: User | None) -> None:
    script = whole.home / "job.sh"
    script.write_text("rm -rf /nowhere\n")
    os.chown(script, user.uid if user else 0, 0)
    script.chmod(0o700)
    for command, code, out, told in (
        ("echo ran; redlane session list", 2, "ran\n", "inside session"),
        ("rm -rf /nowhere", 126, "", "no-rm"),
        (f"bash {script}", 126, "", "no-rm"),
    ):
        ran = whole.run(user, "run", "--", "bash", "-c", command)
        assert (ran.out, told in ran.err) == (out, True), ran
        assert ran.code in {1, code}, ran


def test_wrapper_asks_the_machines_daemon_unless_told_otherwise(
    whole: Machine, own_home: Path
) -> None:
    assert own_home.is_dir()
    blocked = whole.run(ALICE, "-c", "rm -rf /nowhere", program=REDLANE_SH)
    assert (blocked.code, "no-rm" in blocked.err) == (126, True), blocked
    assert whole.run(ALICE, "-c", "echo hello", program=REDLANE_SH).out == "hello\n"
    for name, value, asked in (
        ("REDLANE_HOME", str(own_home), f"{own_home}/run/control.sock"),
        ("REDLANE_SOCKET", "/nowhere/control.sock", "/nowhere/control.sock"),
        ("XDG_RUNTIME_DIR", "/nowhere", None),
    ):
        ran = whole.run(
            ALICE, "-c", "echo hello", program=REDLANE_SH, env={name: value}
        )
        assert (ran.code, ran.out) == ((126, "") if asked else (0, "hello\n")), ran
        assert asked is None or asked in ran.err


def test_own_daemon_still_starts_and_says_how_to_ask_it(
    whole: Machine, own_home: Path
) -> None:
    ran = whole.run(ALICE, "start")
    socket = f"{own_home}/run/control.sock"
    assert ran.code == 0, ran
    assert f"the commands ask the machine's daemon ({SOCKET})" in ran.err
    assert f"export REDLANE_SOCKET={socket}" in ran.err
    env = {"REDLANE_SOCKET": socket}
    try:
        status = whole.run(ALICE, "status", "--json", env=env).json
        assert (status["daemon"], status["administrator"]) == ("user", True)
        assert whole.run(ALICE, "status", "--json").json["daemon"] == "system"
        own = whole.run(ALICE, "-c", "echo whisper", program=REDLANE_SH, env=env)
        assert (own.code, "hush" in own.err) == (126, True)
        assert whole.run(BOB, "status", env=env).code == 3
        stranger = whole.run(None, "status", "--json", env=env)
        assert stranger.json["daemon"] == "user"
    finally:
        assert whole.run(ALICE, "stop").code == 0
    assert whole.run(ALICE, "status", "--json").json["daemon"] == "system"


def test_user_starts_no_machines_daemon(whole: Machine) -> None:
    ran = whole.run(ALICE, "start", "--system")
    assert ran.code == 2
    assert "Traceback" not in ran.said
    assert whole.run(ALICE, "stop", "--system").code == 0
    assert whole.run(ALICE, "status").code == 0


def test_sessions_and_their_owners_outlive_a_killed_daemon(
    whole: Machine, alice: Person, bob: Person, agent: Person
) -> None:
    own = guarded(agent, role="open")
    pid = whole.control.get("/api/status").json["pid"]
    os.kill(pid, 9)
    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    whole.start()
    status, session = alice.api("GET", f"/api/sessions/{own}")
    assert (status, session["state"], session["role"]) == (200, "running", "open")
    assert bob.api("GET", f"/api/sessions/{own}")[0] == 404
    assert agent.api_from("child", "GET", "/api/status")[0] == 403
    assert alice.api("POST", f"/api/sessions/{own}/kill", {})[0] == 200


def test_machines_daemon_stops_by_name(whole: Machine) -> None:
    assert whole.run(None, "stop", "--system").code == 0
    assert whole.run(ALICE, "status").code == 3
    whole.start()
    assert whole.run(ALICE, "status", program=REDLANE).code == 0
