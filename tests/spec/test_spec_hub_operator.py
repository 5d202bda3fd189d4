"""What the operator sets and keeps (interface contract: redlane-hub)."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hub_process import HubProcess
from nacl.signing import SigningKey
from spec.hub_client import Account, HubClient, client_of
from spec.hub_statuses import printed_key
from spec.hub_tokens import claims_of, forge

ARTIFACTS = "/api/v1/artifacts"
SEED = base64.b64encode(bytes(range(32))).decode()
CONFIGURATION = f"""
secret = "a secret in a file"
max_content_bytes = 100
require_signatures = true
subscription_key = "{SEED}"
trusted_proxies = "127.0.0.1"
"""


@contextmanager
def serving(hub: HubProcess, *arguments: str) -> Iterator[HubClient]:
    """A hub that runs for as long as it is entered."""
    try:
        hub.start(*arguments)
        yield client_of(hub)
    finally:
        hub.stop()


def approved(hub: HubProcess, client: HubClient) -> Account:
    account = client.register()
    hub.approve(account.email)
    return account


def test_settings_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "hub.toml"
    file.write_text(CONFIGURATION, encoding="utf-8")
    hub = HubProcess(tmp_path)
    del hub.settings["trusted_proxies"]

    with serving(hub, "--config", str(file)) as client:
        account = approved(hub, client)
        long, unsigned = account.push(content='"' + "x" * 99 + '"'), account.push()
        token = forge(claims_of(account.id), secret="a secret in a file")
        logins = [client.post("/api/v1/login", {}).status for _ in range(12)]
        profile = client.signed_in(token).get("/api/v1/me")

    assert (long.status, unsigned.status) == (400, 400)
    assert long.error != unsigned.error
    assert profile.status == 200
    # Each came from an address of its own, which the trusted proxy has told.
    assert logins == [400] * 12


def test_environment_comes_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "hub.toml"
    file.write_text(CONFIGURATION, encoding="utf-8")
    hub = HubProcess(tmp_path, require_signatures="0", max_content_bytes="200")

    with serving(hub, "--config", str(file)) as client:
        account = approved(hub, client)
        statuses = [
            account.push(content='"' + "x" * (count - 2) + '"').status
            for count in (200, 201)
        ]

    assert statuses == [201, 400]


BAD_FILES = {
    "no-toml": "secret = ",
    "wrong-type": "max_content_bytes = [1]",
    "unknown-key": "max_content_byte = 100",
}


@pytest.mark.parametrize("text", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_unusable_file_is_one_line_on_standard_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "hub.toml"
    file.write_text(text, encoding="utf-8")

    done = HubProcess(tmp_path).command("serve", "--config", str(file))

    assert done.returncode in {1, 2}
    assert done.stderr.splitlines()[-1].startswith("redlane-hub: ")
    assert "hub.toml" in done.stderr
    assert "Traceback" not in done.stderr


def test_subscription_key_is_a_seed_in_base64(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path, subscription_key=SEED)
    with serving(hub):
        pass

    assert printed_key(hub) == SigningKey(bytes(range(32))).verify_key


def test_backup_made_while_serving_is_a_whole_hub(
    tmp_path: Path, hub: HubProcess, author: Account
) -> None:
    made = author.publish(content='{"kept": true}')
    copy = HubProcess(tmp_path)

    done = hub.command("backup", str(copy.database))

    assert done.returncode == 0, done.stderr
    later = author.publish()
    with serving(copy) as client:
        answer = client.get(f"{ARTIFACTS}/{made['name']}/1")
        missing = client.get(f"{ARTIFACTS}/{later['name']}/1")
        login = client.login(author.email, author.password, author.id)
        assert login.http.get("/api/v1/me").json["is_approved"] is True
    assert (answer.status, answer.json["content"]) == (200, {"kept": True})
    assert missing.status == 404


COMMANDS = ["approve", "recognise"]


@pytest.mark.parametrize("command", COMMANDS)
def test_account_is_found_whatever_its_ascii_case(
    hub: HubProcess, anyone: HubClient, command: str
) -> None:
    account = anyone.register()

    assert hub.command(command, account.email.upper()).returncode == 0


def test_command_on_no_database_makes_none(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path)

    done = hub.command("approve", "nobody@example.com")

    assert done.returncode == 1
    assert done.stderr.startswith("redlane-hub: ")
    assert len(done.stderr.splitlines()) == 1
    assert not hub.database.exists()


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["approve"], ["serve", "-x"]])
def test_wrong_usage_is_exit_2(tmp_path: Path, arguments: list[str]) -> None:
    done = HubProcess(tmp_path).command(*arguments)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
