"""The machine's daemon is started by the first request, whatever it is."""

import pytest
from boot.machine import Machine
from boot.product import CONTROL, add_user, ask, state, verdict

STOP = "systemctl stop redlane.service && systemctl reset-failed redlane.service"
BROKEN = "/etc/redlane/policies/broken.json"


@pytest.fixture(autouse=True)
def _stopped(machine: Machine) -> None:
    """Each test begins as the machine did: sockets alone."""
    machine.run(f"rm -f {BROKEN}; {STOP}")
    machine.run("systemctl start redlane.socket")


def test_first_request_starts_the_daemon(machine: Machine) -> None:
    assert ask(machine, "/health").status == 200
    assert state(machine, "redlane.service") == "active"
    assert verdict(machine, "rm -rf /") == "BLOCK"


def test_first_command_starts_the_daemon(machine: Machine) -> None:
    add_user(machine, "first")
    words = ("redlane", "run", "--", "redlane-sh", "-c", "echo ran")
    assert machine.run(words, user="first").stdout == "ran\n"
    assert state(machine, "redlane.service") == "active"


def test_a_users_program_asks_by_the_client(machine: Machine) -> None:
    add_user(machine, "asker")
    program = (
        "from redlane.client import Client, operations as o; c = Client(); "
        "print([c.send(o.verdict(each))['verdict'] for each in ('ls', 'rm -rf /')])"
    )
    words = ("/usr/lib/redlane/bin/python3", "-I", "-c", program)
    assert machine.run(words, user="asker").stdout == "['ALLOW', 'BLOCK']\n"


def test_reload_starts_a_daemon_that_is_stopped(machine: Machine) -> None:
    answer = ask(machine, "/api/policies/reload", {})
    assert answer.status == 200, answer
    assert answer.body["policies"] > 10
    assert state(machine, "redlane.service") == "active"


def test_status_of_a_stopped_daemon_is_asked_for_by_socket(machine: Machine) -> None:
    assert machine.run("redlane status").stdout
    assert state(machine, "redlane.service") == "active"


def test_daemon_stops_in_order_and_leaves_the_sockets(machine: Machine) -> None:
    ask(machine, "/health")
    machine.run("systemctl stop redlane.service")
    assert state(machine, "redlane.service", "Result") == "success"
    assert state(machine, "redlane.socket", "SubState") == "listening"
    assert state(machine, "redlane-shell.socket", "SubState") == "listening"


def test_stopping_the_socket_stops_it_all(machine: Machine) -> None:
    ask(machine, "/health")
    machine.run("systemctl stop redlane.socket")
    assert state(machine, "redlane.service") == "inactive"
    assert state(machine, "redlane-shell.socket") == "inactive"
    assert machine.run(f"test -e {CONTROL}", check=False).returncode == 1


def test_policies_that_do_not_load_are_a_block_and_not_a_hang(machine: Machine) -> None:
    machine.write(BROKEN, "{")
    add_user(machine, "unlucky")
    words = ("redlane", "run", "--", "redlane-sh", "-c", "echo ran")
    done = machine.run(words, user="unlucky", check=False)
    assert done.returncode not in {0, 124}
    assert "ran" not in done.stdout
    said = machine.journal("--unit=redlane.service")
    assert any("broken.json" in str(each.get("MESSAGE")) for each in said)


def test_mended_policies_count_from_the_next_request(machine: Machine) -> None:
    machine.write(BROKEN, "{")
    for _ in range(8):  # more often than a start limit would bear
        answer = ask(machine, "/api/policies/reload", {})
        assert answer.status != 200, answer
    machine.run(("rm", BROKEN))
    assert verdict(machine, "rm -rf /") == "BLOCK"
    assert state(machine, "redlane.service") == "active"
