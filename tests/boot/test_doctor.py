"""`redlane doctor` of the package finds on a machine what is held there."""

import json

import pytest
from boot.machine import Machine
from boot.product import add_user, start

GUARDED = {
    *("shell on PATH", "shell by its path", "copy of a shell", "os.system"),
    *("program by its command line", "MCP call by `redlane mcp`"),
    *("typing into a terminal", "setuid program", "policies of the daemon"),
}
"""What every supported kernel holds, for everybody."""


@pytest.fixture(scope="module")
def inhabited(machine: Machine) -> Machine:
    start(machine)
    add_user(machine, "ada")
    return machine


@pytest.mark.parametrize("user", ["root", "ada"])
def test_doctor_finds_what_is_held(inhabited: Machine, user: str) -> None:
    done = inhabited.run("redlane doctor --json", user=user, check=False)
    assert (done.returncode in {0, 1}, done.stderr) == (True, ""), done
    rows = {each["name"]: each for each in json.loads(done.stdout)["boundaries"]}
    assert not [rows[each] for each in GUARDED if rows[each]["result"] != "held"]
    assert not inhabited.run(
        "ls /etc/redlane/policies | grep doctor", check=False
    ).stdout
