"""Ordinary users under the machine's daemon: guarded, and out of each other's reach."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from boot.machine import Machine
from boot.product import add_user, ask, guarded, start

BLOCKED = 126


@dataclass(frozen=True, slots=True)
class People:
    """A machine with the users ada, bob and keeper, who administers it."""

    machine: Machine


@pytest.fixture(scope="module")
def people(machine: Machine) -> People:
    start(machine)
    for name, groups in {"ada": "", "bob": "", "keeper": "redlane"}.items():
        add_user(machine, name, groups)
    return People(machine)


def own(people: People, name: str, content: object) -> None:
    """A file in ada's ~/.redlane."""
    path = f"/home/ada/.redlane/{name}"
    people.machine.write(path, json.dumps(content), owner="ada")


@pytest.fixture
def restricted(people: People) -> Iterator[People]:
    """Ada may have restrictions of her own, for one test."""
    yield people
    people.machine.run("rm -rf /home/ada/.redlane")


def test_destructive_command_is_refused(people: People) -> None:
    people.machine.run("touch kept", user="ada")
    done = guarded(people.machine, "rm -rf ~", user="ada")
    assert done.returncode == BLOCKED
    assert done.stderr.startswith("redlane: blocked")
    people.machine.run("test -f kept", user="ada")


def test_harmless_command_runs_as_the_user(people: People) -> None:
    done = guarded(people.machine, "echo hello; id -un", user="ada")
    assert (done.returncode, done.stdout) == (0, "hello\nada\n")


BY_PATH = {
    "path": ("/bin/bash", "-c"),
    "system": ("python3", "-c", "import os, sys; os.system(sys.argv[1])"),
    "awk": ("awk", "BEGIN { system(ARGV[1]) }"),
}


@pytest.mark.parametrize("way", BY_PATH)
def test_shell_is_guarded_by_whatever_path_it_is_started(
    people: People, way: str
) -> None:
    people.machine.run("touch kept", user="ada")
    for command, said in (("rm -rf /home/ada", ""), ("id -un", "ada\n")):
        words = ("redlane", "run", "--", *BY_PATH[way], command)
        done = people.machine.run(words, user="ada", check=False)
        assert done.stdout == said, done
        assert ("redlane: blocked" in done.stderr) == (not said), done
    people.machine.run("test -f kept", user="ada")


def test_session_signals_nobody_outside(people: People) -> None:
    people.machine.run("systemd-run --quiet --unit=bystander --uid=ada sleep infinity")
    pid = people.machine.run("systemctl show --value -p MainPID bystander").stdout
    done = guarded(people.machine, f"kill {pid.strip()}", user="ada")
    assert "Operation not permitted" in done.stderr, done
    people.machine.run("systemctl is-active bystander; systemctl stop bystander")


def test_script_that_only_its_owner_may_read_is_judged(people: People) -> None:
    path = "/home/ada/private.sh"
    people.machine.write(path, "rm -rf ~\n", mode="600", owner="ada")
    people.machine.run("chmod 700 /home/ada")
    assert guarded(people.machine, "bash private.sh", user="ada").returncode == BLOCKED
    people.machine.write(path, "echo fine\n", mode="600", owner="ada")
    assert guarded(people.machine, "bash private.sh", user="ada").stdout == "fine\n"


def test_script_of_somebody_else_is_not_read_for_one(people: People) -> None:
    path = "/home/bob/private.sh"
    people.machine.write(path, "echo fine\n", mode="600", owner="bob")
    done = guarded(people.machine, f"bash {path}", user="ada")
    assert done.returncode == BLOCKED


def test_own_restrictions_hold(restricted: People) -> None:
    policy = {
        "id": "no-status",
        "type": "Simple",
        "context": "Shell",
        "pattern": "uname",
        "action": "Block",
        "reason": "mine",
    }
    own(restricted, "policies/mine.json", policy)
    assert guarded(restricted.machine, "uname", user="ada").returncode == BLOCKED
    assert guarded(restricted.machine, "uname", user="bob").returncode == 0


def test_own_policies_cannot_loosen(restricted: People) -> None:
    policy = {
        "id": "all-is-well",
        "type": "Regex",
        "context": "Shell",
        "pattern": ".*",
        "action": "Allow",
        "reason": "mine",
    }
    own(restricted, "policies/mine.json", policy)
    restricted.machine.run("touch kept", user="ada")
    done = guarded(restricted.machine, "rm -rf ~", user="ada")
    assert done.returncode == BLOCKED
    assert "all-is-well" in done.stderr
    restricted.machine.run("test -f kept", user="ada")


def test_broken_restrictions_refuse_the_run(restricted: People) -> None:
    restricted.machine.write("/home/ada/.redlane/policies/x.json", "{", owner="ada")
    done = guarded(restricted.machine, "echo ran", user="ada")
    assert done.returncode not in {0, 124}
    assert "ran" not in done.stdout
    assert "x.json" in done.stderr


@pytest.mark.parametrize("role", ["observe", "strict", "no-such-role"])
def test_role_that_users_are_not_given_is_refused(people: People, role: str) -> None:
    done = guarded(people.machine, "echo ran", user="ada", options=("--role", role))
    assert done.returncode not in {0, 124}
    assert "ran" not in done.stdout


@pytest.fixture
def session(people: People) -> Iterator[str]:
    """A session of ada's, with something running in it."""
    label = f"adas-{secrets.token_hex(4)}"
    words = f"redlane run --label {label} -- sleep infinity"
    started = "systemd-run --quiet --collect --uid=ada"
    people.machine.run(f"{started} sh -c 'cd /home/ada; exec {words}'")
    people.machine.until(f"redlane session list | grep -q {label}")
    listed = ask(people.machine, "/api/sessions").body["sessions"]
    (mine,) = (str(each["id"]) for each in listed if each["label"] == label)
    yield mine
    kill = ("redlane", "session", "kill", "--session", mine)
    people.machine.run(kill, check=False)


def test_session_of_another_user_is_out_of_reach(people: People, session: str) -> None:
    machine, path = people.machine, f"/api/sessions/{session}"
    assert ask(machine, path, user="bob").status == 404
    for action in ("freeze", "unfreeze", "kill"):
        answer = ask(machine, f"{path}/{action}", {}, user="bob")
        assert answer.status == 404, (action, answer)
    gone = ask(machine, path, user="bob", method="DELETE")
    assert gone.status == 404
    for about in ("sessions", "status", "events", "reviews"):
        told = json.dumps(ask(machine, f"/api/{about}", user="bob").body)
        assert session not in told, about
        assert "adas" not in told, about


@pytest.mark.parametrize("user", ["ada", "keeper", "root"])
def test_session_is_its_owners_and_the_administrators(
    people: People, session: str, user: str
) -> None:
    words = ("redlane", "session", "kill", "--session", session)
    shown = ask(people.machine, f"/api/sessions/{session}", user=user)
    assert shown.status == 200
    people.machine.run(words, user=user)
    people.machine.until("! pgrep -u ada -x sleep")


@pytest.mark.parametrize(
    ("path", "body"),
    [("/api/policies/reload", {}), ("/metrics", None)],
    ids=["reload", "metrics"],
)
def test_administration_is_not_for_ordinary_users(
    people: People, path: str, body: object
) -> None:
    assert ask(people.machine, path, body, user="ada").status in {403, 404}
    assert ask(people.machine, path, body, user="keeper").status == 200


def test_logs_of_the_machine_are_not_for_ordinary_users(people: People) -> None:
    done = people.machine.run("ls /var/log/redlane", user="ada", check=False)
    assert done.returncode != 0


def test_user_has_a_daemon_of_their_own_for_the_asking(people: People) -> None:
    machine = people.machine
    machine.run("loginctl enable-linger ada")
    uid = machine.run("id -u ada").stdout.strip()
    runtime = {"XDG_RUNTIME_DIR": f"/run/user/{uid}"}
    machine.until(f"systemctl is-active --quiet user@{uid}.service")
    machine.run("redlane init", user="ada", env=runtime)
    command = "systemctl --user enable --now redlane.socket"
    machine.run(command, user="ada", env=runtime)
    socket = f"/run/user/{uid}/redlane/control.sock"
    answer = ask(machine, "/health", user="ada", socket=socket)
    assert answer.status == 200
    reload = machine.run(
        "systemctl --user reload redlane.service", user="ada", env=runtime
    )
    assert not reload.stderr
    mine = {**runtime, "REDLANE_SOCKET": socket}
    words = ("redlane", "run", "--", "redlane-sh", "-c", "rm -rf ~")
    assert machine.run(words, user="ada", env=mine, check=False).returncode == BLOCKED
    other = machine.run(
        ("curl", "-sS", "--unix-socket", socket, "http://x/health"),
        user="bob",
        check=False,
    )
    assert other.returncode != 0
    machine.run(
        "systemctl --user disable --now redlane.socket", user="ada", env=runtime
    )
    machine.run("loginctl disable-linger ada; rm -rf /home/ada/.redlane")
