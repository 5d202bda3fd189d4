"""The serving process: what it keeps, how it ends, and what it refuses."""

import signal
import socket
import sqlite3
import stat
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hub_process import HUB, HubProcess, hub_environment
from spec.hub_client import JSON, Account, client_of
from spec.hub_signing import Signer
from spec.hub_tampering import delete_rows, replace_value
from spec.hub_tokens import claims_of, forge

ARTIFACTS = "/api/v1/artifacts"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[HubProcess]:
    """A hub that the test may stop and start."""
    hub = HubProcess(tmp_path)
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


def approved(hub: HubProcess) -> Account:
    account = client_of(hub).register()
    hub.approve(account.email)
    return account


def restarted(hub: HubProcess, account: Account) -> Account:
    """The account on the hub that was stopped and runs again."""
    hub.start()
    http = client_of(hub).signed_in(account.token)
    return Account(account.email, account.password, account.id, http)


def test_everything_is_kept_over_a_restart(own: HubProcess) -> None:
    account = approved(own)
    signer = Signer.of(account)
    made = account.publish(tags=["kept"], **signer.sign("{}"))
    endorsed = account.http.post(f"{ARTIFACTS}/{made['id']}/endorsements", {}).json
    path = f"{ARTIFACTS}/{made['name']}/1"
    before = [account.http.get(path).json for _ in range(3)][-1]
    keys = account.http.get("/api/v1/me/signing-keys").json
    assert own.stop() == 0

    account = restarted(own, account)

    assert account.http.get(path).json == before | {"downloads": 4}
    assert account.http.get("/api/v1/me/signing-keys").json == keys
    listed = account.http.get(f"{ARTIFACTS}/{made['id']}/endorsements").json
    assert listed == [endorsed]
    assert account.http.get("/api/v1/me").json["is_approved"] is True
    assert account.push(made["name"]).status == 409


def test_generated_secrets_are_kept_beside_the_database(own: HubProcess) -> None:
    account = client_of(own).register()
    keys = own.command("keys").stdout
    own.stop()

    account = restarted(own, account)

    assert account.http.get("/api/v1/me").status == 200
    assert own.command("keys").stdout == keys


def test_database_and_secrets_are_the_owners_alone(own: HubProcess) -> None:
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in own.directory.iterdir()
        if path.name.startswith("hub.db")
    }

    assert len(modes) > 1
    assert not [name for name, mode in modes.items() if mode & 0o077]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_well(own: HubProcess, number: int) -> None:
    host, port = own.host, own.port

    assert own.stop(number) == 0

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, port), 5)
    assert "Traceback" not in own.errors


def test_acknowledged_publish_survives_a_kill(own: HubProcess) -> None:
    account = approved(own)
    names = [account.publish()["name"] for _ in range(10)]
    own.stop(signal.SIGKILL)

    account = restarted(own, account)

    paths = [f"{ARTIFACTS}/{name}/1" for name in names]
    assert [account.http.get(path).status for path in paths] == [200] * 10


def test_rotated_secret_ends_every_token(own: HubProcess) -> None:
    account = client_of(own).register()
    own.stop()
    done = own.command("rotate-secret", "--yes")
    assert done.returncode == 0, done.stderr

    account = restarted(own, account)

    assert account.http.get("/api/v1/me").status == 401
    again = account.http.login(account.email, account.password, account.id)
    assert again.http.get("/api/v1/me").status == 200


def test_other_secret_ends_every_token(own: HubProcess) -> None:
    account = client_of(own).register()
    own.stop()
    own.settings["secret"] = "a secret that the operator chose himself"

    account = restarted(own, account)

    assert account.http.get("/api/v1/me").status == 401
    token = forge(claims_of(account.id), secret=own.settings["secret"])
    assert account.http.signed_in(token).get("/api/v1/me").status == 200


def test_changed_content_is_a_500(own: HubProcess) -> None:
    account = approved(own)
    made = account.publish(content='"as it was pushed"')
    own.stop()
    old, new = '"as it was pushed"', '"as it was edited"'
    replace_value(own.database, (old, new), (old.encode(), new.encode()))

    account = restarted(own, account)
    answer = account.http.get(f"{ARTIFACTS}/{made['name']}/1")

    assert (answer.status, answer.error) == (500, "internal server error")


def test_signature_whose_key_is_gone_is_not_valid(own: HubProcess) -> None:
    account = approved(own)
    signer = Signer.of(account)
    made = account.publish(**signer.sign("{}"))
    own.stop()
    delete_rows(own.database, fingerprint=signer.fingerprint)

    account = restarted(own, account)
    body = account.http.get(f"{ARTIFACTS}/{made['name']}/1").json

    assert (body["signed"], body["signature_valid"]) == (True, False)
    assert body["key_fingerprint"] == signer.fingerprint


def test_signature_that_no_longer_verifies_is_not_valid(own: HubProcess) -> None:
    account = approved(own)
    signer = Signer.of(account)
    signed = signer.sign("{}")
    made = account.publish(**signed)
    own.stop()
    old, new = signed["signature"], signer.sign("[]")["signature"]
    replace_value(own.database, (old, new), (b64decode(old), b64decode(new)))

    account = restarted(own, account)
    body = account.http.get(f"{ARTIFACTS}/{made['name']}/1").json

    assert (body["signed"], body["signature_valid"]) == (True, False)


def test_dangling_reference_is_not_found_and_no_error(own: HubProcess) -> None:
    account = approved(own)
    gone = account.publish("gone")["name"]
    edge = {"name": gone, "version": "1", "required": True}
    account.publish("root", dependencies=[edge])
    own.stop()
    delete_rows(own.database, name=gone, version="1")

    account = restarted(own, account)
    answer = account.http.get(f"{ARTIFACTS}/root/1/resolve")

    assert answer.status == 200
    assert answer.json["dependencies"] == [edge | {"depth": 1, "found": False}]


def test_health_does_not_touch_the_database(own: HubProcess) -> None:
    with closing(sqlite3.connect(own.database)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert client_of(own).get("/health").status == 200


def test_nothing_secret_is_logged(own: HubProcess) -> None:
    own.stop()
    own.start("--log-level", "debug")
    account = client_of(own).register(password="a secret password")
    account.http.get("/api/v1/me")
    account.http.get("/api/v1/me", token=account.token)
    client_of(own).send("POST", "/api/v1/login", b'{"password": "typed', JSON)
    own.stop()

    for secret in (account.token, account.email, "a secret password", "typed"):
        assert secret not in own.errors


REFUSED: dict[str, tuple[list[str], dict[str, str]]] = {
    "listen": (["--listen", "nonsense"], {}),
    "directory-missing": (["--database", "/nonexistent/hub.db"], {}),
    "database-is-a-directory": (["--database", "/"], {}),
    "smtp": ([], {"smtp_url": "http://127.0.0.1"}),
    "bytes": ([], {"max_content_bytes": "many"}),
    "signatures": ([], {"require_signatures": "perhaps"}),
    "subscription-key": ([], {"subscription_key": "short"}),
    "proxies": ([], {"trusted_proxies": "nonsense"}),
    "config": (["--config", "/nonexistent.toml"], {}),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_unusable_setting_is_one_line_on_standard_error(
    tmp_path: Path, kind: str
) -> None:
    arguments, settings = REFUSED[kind]
    where = ["--listen", "127.0.0.1:0", "--database", str(tmp_path / "hub.db")]

    done = subprocess.run(
        [str(HUB), "serve", *where, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=hub_environment(settings),
        timeout=30,
    )

    assert done.returncode in {1, 2}
    assert done.stdout == ""
    assert done.stderr.startswith(("redlane-hub: ", "usage: "))
    assert "redlane-hub: " in done.stderr
    assert "Traceback" not in done.stderr
