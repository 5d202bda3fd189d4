"""An upgrade keeps what people have made, and nothing goes by unjudged meanwhile."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from boot.machine import Machine, booted
from boot.older import VERSION, previous
from boot.packages import NAMES, apt, install
from boot.product import add_user, hub, main_pid, start, verdict

SETTINGS = "/etc/redlane/settings.json"
EDITED = "/etc/redlane/policies/shell-system.json"
UNTOUCHED = "/etc/redlane/policies/shell-history.json"
HUB_SETTINGS = "/etc/redlane-hub/hub.toml"
OWN = "/etc/redlane/policies/our-own.json"
LOG, OPENED = "/home/ada/log", "/home/ada/opened"
SECRET = "/srv/secret"
KEEP = ("-o", "Dpkg::Options::=--force-confold")
LOOP = """\
while :; do
    bash -c "$ASKED" 2>/dev/null; echo "rm $?"
    bash -c 'echo ran' 2>/dev/null; echo "echo $?"
done >>~/log
"""
OPENING = f"""\
while :; do
    read -r line <{SECRET}; echo "secret $? $line"
    read -r line </etc/passwd; echo "free $?"; sleep 0.05
done >>~/opened 2>&1
"""
AGENTS = {"agent": ("", LOOP), "opener": ("--role calls", OPENING)}
"""What runs meanwhile: the options of its session, and its script. That is judged too,
whole, so that what it asks for is not in it."""


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A machine after the upgrade, and what held before it."""

    machine: Machine
    daemon: int
    files: dict[str, str]
    rounds: int


@pytest.fixture(scope="module")
def upgraded(
    tree: Path, debs: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Upgraded]:
    place = tmp_path_factory.mktemp("older")
    changed = {"redlane": (EDITED, UNTOUCHED), "redlane-hub": (HUB_SETTINGS,)}
    older = [
        previous(each, place, changed.get(each.name.partition("_")[0], ()))
        for each in debs
    ]
    binds = {"/debs": debs[0].parent, "/older": place}
    with booted(tree, binds) as machine:
        names = (f"/older/{each.name}" for each in older)
        apt(machine, "install", *names)
        start(machine)
        files = people_make_things(machine)
        before = main_pid(machine)
        begin_sessions(machine)
        apt(machine, *KEEP, "install", *(f"/debs/{each.name}" for each in debs))
        rounds = len(machine.read(LOG).splitlines())
        yield Upgraded(machine, before, files, rounds)


def people_make_things(machine: Machine) -> dict[str, str]:
    """Edits, additions and data; the texts that must stay, by file."""
    machine.run(f"printf '\\n\\n' >> {EDITED}; printf '# ours\\n' >> {HUB_SETTINGS}")
    settings = json.loads(machine.read(SETTINGS))
    settings["review"] = {"timeout_seconds": 7}
    settings["system"] = {"user_roles": ["calls"]}
    machine.write(SETTINGS, json.dumps(settings))
    policy = {"id": "our-own", "type": "Regex", "context": "Shell"}
    policy |= {"pattern": "^ours", "action": "Block", "reason": "ours"}
    calls = {"id": "our-calls", "type": "Regex", "context": "Syscall"}
    calls |= {"syscall": "openat", "pattern": f"^{SECRET}$"}
    calls |= {"action": "Block", "reason": "ours"}
    machine.write(OWN, json.dumps([policy, calls]))
    role = {"name": "calls", "policies": ["our-calls"]}
    machine.write("/etc/redlane/roles/calls.json", json.dumps(role))
    machine.run("systemctl reload redlane.service")
    ada = {"email": "ada@example.org", "password": "correct horse"}
    assert hub(machine, "/api/v1/register", ada).status == 201
    kept = (EDITED, HUB_SETTINGS, SETTINGS, OWN)
    return {each: machine.read(each) for each in kept}


def begin_sessions(machine: Machine) -> None:
    """Agents that keep asking, and that keep opening files."""
    add_user(machine, "ada")
    machine.write("/home/ada/kept/file", "kept", owner="ada")
    machine.write(SECRET, "secret\n")
    for unit, (words, script) in AGENTS.items():
        machine.write(f"/home/ada/{unit}.sh", script, owner="ada")
        run = f"exec redlane run --label {unit} {words} -- /bin/sh {unit}.sh"
        started = f"systemd-run --quiet --unit={unit} --uid=ada --setenv=HOME=/home/ada"
        started += " '--setenv=ASKED=rm -rf ~' --working-directory=/home/ada"
        machine.run(f"{started} sh -c '{run}'")
    machine.until(f"grep -q 'echo 0' {LOG}")
    machine.until(f"grep -q 'free 0' {OPENED}")


def test_new_version_is_installed_and_nothing_fails(upgraded: Upgraded) -> None:
    query = ("dpkg-query", "--show", "--showformat=${Version} ${db:Status-Abbrev}\n")
    for line in upgraded.machine.run((*query, "redlane*")).stdout.splitlines():
        version, _, status = line.partition(" ")
        assert status.strip() in {"ii", "un"}
        assert version != VERSION
    assert not upgraded.machine.run("systemctl --failed --plain --no-legend").stdout


def test_running_daemon_is_replaced_by_the_new_one(upgraded: Upgraded) -> None:
    assert start(upgraded.machine) not in {0, upgraded.daemon}


def test_what_people_edited_is_kept(upgraded: Upgraded) -> None:
    for path, text in upgraded.files.items():
        assert upgraded.machine.read(path) == text, path
    owner = ("stat", "--format=%a %U %G", HUB_SETTINGS)
    assert upgraded.machine.run(owner).stdout.strip() == "640 root redlane-hub"


def test_what_nobody_edited_is_the_new_one(upgraded: Upgraded) -> None:
    assert not upgraded.machine.read(UNTOUCHED).endswith("\n\n")
    left = "find /etc/redlane /etc/redlane-hub -name '*.dpkg-old' -o -name '*.dpkg-tmp'"
    assert not upgraded.machine.run(left).stdout


def test_accounts_of_the_hub_are_kept(upgraded: Upgraded) -> None:
    ada = {"email": "ada@example.org", "password": "correct horse"}
    assert hub(upgraded.machine, "/api/v1/login", ada).status == 200


def test_session_was_judged_throughout(upgraded: Upgraded) -> None:
    machine = upgraded.machine
    more = f"[ $(wc -l < {LOG}) -gt {upgraded.rounds + 4} ]"
    machine.until(more, seconds=60)
    lines = machine.read(LOG).splitlines()
    refusals = [line for line in lines if line.startswith("rm ")]
    assert set(refusals) == {"rm 126"}
    assert machine.read("/home/ada/kept/file") == "kept"
    said = {line for line in lines if line.startswith("echo ")}
    assert said <= {"echo 0", "echo 126"}


def test_session_goes_on_after_the_upgrade(upgraded: Upgraded) -> None:
    before = len(upgraded.machine.read(LOG).splitlines())
    later = f"tail -n +{before + 1} {LOG} | grep -q 'echo 0'"
    upgraded.machine.until(later, seconds=60)


def test_system_calls_were_judged_throughout(upgraded: Upgraded) -> None:
    machine = upgraded.machine
    before = len(machine.read(OPENED).splitlines())
    later = f"tail -n +{before + 1} {OPENED} | grep -q 'free 0'"
    machine.until(later, seconds=60)
    told = [each for each in machine.read(OPENED).splitlines() if each[:6] == "secret"]
    assert len(told) > 1
    assert not [each for each in told if each == "secret 0 secret"]
    shown = machine.run("redlane session list").stdout
    assert re.search(r"opener, system calls: .*\bexact\b", shown), shown


def test_rules_are_judged_by_the_new_daemon(upgraded: Upgraded) -> None:
    assert verdict(upgraded.machine, "rm -rf /") == "BLOCK"


def test_reinstall_changes_nothing(upgraded: Upgraded, debs: tuple[Path, ...]) -> None:
    machine = upgraded.machine
    before = machine.run("systemctl list-unit-files 'redlane*' --no-legend").stdout
    apt(machine, "--reinstall", *KEEP, "install", *(f"/debs/{x.name}" for x in debs))
    assert (
        machine.run("systemctl list-unit-files 'redlane*' --no-legend").stdout == before
    )


def test_socket_that_was_disabled_stays_so(
    fresh: Machine, debs: tuple[Path, ...]
) -> None:
    fresh.run("systemctl disable --now redlane.socket")
    apt(fresh, "--reinstall", "install", *(f"/debs/{each.name}" for each in debs))
    shown = fresh.run("systemctl is-enabled redlane.socket", check=False)
    assert shown.stdout == "disabled\n"


def test_packages_install_again_after_a_purge(
    fresh: Machine, debs: tuple[Path, ...]
) -> None:
    apt(fresh, "purge", *NAMES)
    install(fresh, debs)
    assert verdict(fresh, "rm -rf /") == "BLOCK"
