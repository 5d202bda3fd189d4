"""What the daemon tells the journal can be searched by its fields."""

from boot.machine import Machine
from boot.product import start, verdict


def test_verdicts_are_entries_with_fields(machine: Machine) -> None:
    start(machine)
    assert verdict(machine, "rm -rf ~") == "BLOCK"
    found = machine.journal("_SYSTEMD_UNIT=redlane.service", "REDLANE_VERDICT=BLOCK")
    assert found
    entry = found[-1]
    assert entry["REDLANE_CONTEXT"] == "Shell"
    assert entry["REDLANE_POLICY"] == "shell-remove-home-or-system"
    assert entry["_COMM"]


def test_starting_and_stopping_are_entries(machine: Machine) -> None:
    start(machine)
    machine.run("systemctl stop redlane.service")
    said = [
        str(each.get("MESSAGE")) for each in machine.journal("--unit=redlane.service")
    ]
    assert not [each for each in said if "Traceback" in each]
    assert any("Started" in each for each in said)


def test_hub_says_nothing_twice_and_no_traceback(machine: Machine) -> None:
    machine.run(("curl", "-sSf", "http://127.0.0.1:8787/health"))
    said = [
        str(each.get("MESSAGE"))
        for each in machine.journal("--unit=redlane-hub.service")
    ]
    assert any("listening on" in each for each in said)
    assert not [each for each in said if "Traceback" in each]
