"""`systemctl reload` waits for the answer, and fails when the files do not load."""

import json

import pytest
from boot.machine import Machine
from boot.product import main_pid, start, verdict

ROLE = "/etc/redlane/roles/dancer.json"
POLICY = "/etc/redlane/policies/dance.json"


def dancing(word: str) -> str:
    """A policy that blocks a word."""
    policy = {
        "id": "no-dance",
        "type": "Regex",
        "context": "Shell",
        "pattern": f"^{word}",
        "action": "Block",
        "reason": "nobody dances here",
    }
    return json.dumps(policy)


@pytest.fixture(autouse=True)
def _one_rule(machine: Machine) -> None:
    """A role with one rule, in force."""
    machine.write(ROLE, json.dumps({"name": "dancer", "policies": ["no-dance"]}))
    machine.write(POLICY, dancing("waltz"))
    start(machine)
    machine.run("systemctl reload redlane.service")


def test_reloaded_rules_are_in_force_when_the_command_ends(machine: Machine) -> None:
    before = main_pid(machine)
    for word in ("tango", "polka", "foxtrot"):
        machine.write(POLICY, dancing(word))
        assert verdict(machine, word, role="dancer") == "ALLOW"
        machine.run("systemctl reload redlane.service")
        assert verdict(machine, word, role="dancer") == "BLOCK"
    assert main_pid(machine) == before


@pytest.mark.parametrize(
    "broken",
    ["{", dancing("tango(").replace("Regex", "Unknown"), dancing("tango(")],
    ids=["no JSON", "no such match type", "no regular expression"],
)
def test_bad_rules_fail_the_reload_and_change_nothing(
    machine: Machine, broken: str
) -> None:
    machine.write(POLICY, broken)
    done = machine.run("systemctl reload redlane.service", check=False)
    assert done.returncode != 0
    assert verdict(machine, "waltz", role="dancer") == "BLOCK"
    said = machine.journal("--unit=redlane.service")
    assert any("dance.json" in str(each.get("MESSAGE")) for each in said)
    machine.write(POLICY, dancing("tango"))
    machine.run("systemctl reload redlane.service")
    assert verdict(machine, "tango", role="dancer") == "BLOCK"
