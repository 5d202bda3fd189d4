"""The hub as a service: started by its socket, and used over HTTP."""

import json

import pytest
from boot.machine import Machine
from boot.product import HUB, Answer, hub, state

CREDENTIALS = {"email": "ada@example.org", "password": "correct horse"}
POLICY = json.dumps({"id": "x", "type": "Simple"})
AS_HUB = "setpriv --reuid redlane-hub --regid redlane-hub --init-groups"
APPROVE = f"{AS_HUB} redlane-hub approve --config /etc/redlane-hub/hub.toml"


@pytest.fixture(scope="module")
def token(machine: Machine) -> str:
    """Of an account that is registered, approved and logged in."""
    assert state(machine, "redlane-hub.service") == "inactive"
    assert hub(machine, "/api/v1/register", CREDENTIALS).status == 201
    machine.run(f"{APPROVE} {CREDENTIALS['email']}")
    return str(hub(machine, "/api/v1/login", CREDENTIALS).body["token"])


def publish(machine: Machine, token: str, name: str) -> Answer:
    pushed = {"name": name, "version": "1.0.0", "content": POLICY}
    return hub(machine, "/api/v1/artifacts", pushed, token)


def test_first_request_starts_the_hub(machine: Machine, token: str) -> None:
    assert token
    assert state(machine, "redlane-hub.service") == "active"
    assert hub(machine, "/health").status == 200


def test_what_is_published_is_fetched_byte_for_byte(
    machine: Machine, token: str
) -> None:
    assert publish(machine, token, "kept").status == 201
    address = f"{HUB}/api/v1/artifacts/kept/1.0.0"
    assert POLICY in machine.run(("curl", "--silent", "--fail", address)).stdout
    found = hub(machine, "/api/v1/artifacts/search?q=kept")
    assert [each["name"] for each in found.body["results"]] == ["kept"]


def test_account_that_waits_may_not_publish(machine: Machine, token: str) -> None:
    waiting = {"email": "eve@example.org", "password": "correct horse"}
    hub(machine, "/api/v1/register", waiting)
    other = str(hub(machine, "/api/v1/login", waiting).body["token"])
    assert publish(machine, other, "unwanted").status == 403
    assert token != other


def test_database_outlives_a_restart(machine: Machine, token: str) -> None:
    assert publish(machine, token, "lasting").status == 201
    machine.run("systemctl restart redlane-hub.service")
    assert hub(machine, "/api/v1/artifacts/lasting/1.0.0").status == 200
    assert hub(machine, "/api/v1/me", token=token).status == 200


def test_what_the_hub_keeps_is_nobody_elses(machine: Machine, token: str) -> None:
    assert token
    listed = machine.run("find /var/lib/redlane-hub -printf '%m %u %p\\n'").stdout
    for line in listed.splitlines():
        mode, owner, path = line.split(" ", 2)
        assert (owner, mode[-2:]) == ("redlane-hub", "00"), path


def test_stopping_the_hub_leaves_its_socket(machine: Machine, token: str) -> None:
    assert token
    machine.run("systemctl stop redlane-hub.service")
    assert state(machine, "redlane-hub.service", "Result") == "success"
    assert hub(machine, "/health").status == 200


def test_content_with_a_schema_is_published(machine: Machine, token: str) -> None:
    schema = {"type": "object", "required": ["id"]}
    pushed = {"version": "1", "content": "{}", "schema": schema}
    asked = {"name": "held", **pushed}
    assert hub(machine, "/api/v1/artifacts", asked, token).status == 400
    asked = {"name": "held", **pushed, "content": '{"id": "a"}'}
    assert hub(machine, "/api/v1/artifacts", asked, token).status == 201
