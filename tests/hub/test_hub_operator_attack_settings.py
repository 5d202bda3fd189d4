"""Settings that cannot work: each is one clear line with its name and its place."""

import json
import signal
from pathlib import Path

import pytest
from hub_operator import operate
from hub_process import HubProcess

from redlane_hub.cli.main import main

WRONG = {
    "listen": ["nonsense", "127.0.0.1", "127.0.0.1:99999", "unix:", "127.0.0.1:1:2"],
    "metrics_listen": ["0.0.0.0:9090", "unix:/tmp/m", "9090"],
    "workers": ["0", "-1", "1.5", "100000", "9" * 18],
    "mail_from": ["somebody", "a@example.org\nBcc: b@example.org", "é@example.org"],
    "smtp_url": [
        "smtp://canary:12/canary@mail.example.org",
        "smtp://canary@mail.example.org",
        "smtp://u:canary%ff@mail.example.org",
        "smtp://u:canary#x@mail.example.org",
        "http://u:canary@mail.example.org",
    ],
    "public_url": [
        "https://u:canary@hub.example.org",
        "https://hub.example.org/?q",
        "https://hub.example.org/#x",
        "https://hub.example.org/\nX-Canary: 1",
        "https://hub example.org",
    ],
    "payment_api_url": ["https://canary@api.example.org", "ftp://api.example.org"],
    "subscription_key": ["canary"],
    "require_signatures": ["maybe"],
    "max_content_bytes": ["0"],
    "trusted_proxies": ["10.0.0.0/8", "localhost"],
    "log_level": ["INFO"],
}
CASES = [(name, value) for name, values in WRONG.items() for value in values]
SECRET = {"smtp_url", "subscription_key"}


@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_value_that_cannot_work_is_one_line_with_its_place(
    name: str,
    value: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    in_file = json.dumps(value)
    (tmp_path / "hub.toml").write_text(f"{name} = {in_file}\n")
    monkeypatch.chdir(tmp_path)
    given = [(["--config", "hub.toml"], "hub.toml")]
    if name not in SECRET:
        option = f"--{name.replace('_', '-')}"
        given.append(([f"{option}={value}"], option))
    variable = f"REDLANE_HUB_{name.upper()}"
    given.append((["--json"], variable))
    for arguments, place in given:
        if place == variable:
            monkeypatch.setenv(variable, value)
        code = main(["settings", *arguments])
        out, err = capsys.readouterr()
        assert (code, out) == (1, "")
        assert (err.count("\n"), place in err) == (1, True)
        assert "canary" not in err.lower()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_refuses_what_settings_refuses_and_makes_nothing(
    workers: str, tmp_path: Path
) -> None:
    done = operate(
        *("serve", "--workers", workers, "--mail-from", "nobody"),
        directory=tmp_path,
        smtp_url="smtp://127.0.0.1:9",
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert (done.stderr.count("\n"), "--mail-from" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["serve", "migrate", "accounts", "keys"])
def test_a_path_that_is_none_is_refused(command: str, tmp_path: Path) -> None:
    (tmp_path / "hub.toml").write_text('database = "a\\u0000b"\n')
    done = operate(command, "--config", "hub.toml", directory=tmp_path)
    assert (done.returncode, "must be a path" in done.stderr) == (1, True)


WARNED = {
    "sender": ({"smtp_url": "smtp://127.0.0.1:9"}, "'mail_from'"),
    "links": ({"smtp_url": "smtp://127.0.0.1:9"}, "'public_url'"),
    "a slip": ({"require_signature": "1"}, "REDLANE_HUB_REQUIRE_SIGNATURE is no"),
    "open key": (
        {"payment_api_url": "http://api.example.org", "payment_api_key": "canary"},
        "https",
    ),
}


@pytest.mark.parametrize(("settings", "says"), WARNED.values(), ids=WARNED)
def test_what_is_probably_not_meant_is_warned_of(
    settings: dict[str, str], says: str, tmp_path: Path
) -> None:
    done = operate("settings", "--json", directory=tmp_path, **settings)
    assert (done.returncode, says in done.stderr) == (0, True)
    assert json.loads(done.stdout)
    assert "canary" not in done.stdout + done.stderr
    hub = HubProcess(tmp_path, **settings)
    hub.start()
    hub.stop(signal.SIGTERM)
    messages = [json.loads(line)["message"] for line in hub.errors.splitlines()]
    assert [each for each in messages if says in each]


def test_a_database_that_others_read_is_warned_of(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path)
    hub.start()
    hub.stop()
    assert "chmod" not in hub.errors
    hub.database.chmod(0o644)
    hub.start()
    hub.stop()
    assert "chmod 600" in hub.errors


def test_whole_settings_are_not_warned_of(tmp_path: Path) -> None:
    done = operate(
        "settings",
        directory=tmp_path,
        smtp_url="smtp://127.0.0.1:9",
        mail_from="Hub <hub@example.org>",
        public_url="https://hub.example.org/hub",
        payment_api_url="http://127.0.0.1:12111",
        payment_api_key="key",
        debug="1",
    )
    assert (done.returncode, done.stderr) == (0, "")
