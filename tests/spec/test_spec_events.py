"""`redlane events` and GET /api/events (interface contract; events are redacted)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from spec.cases import simple
from spec.redlane_home import Home


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("events"))
    home.policies({"id": "no-bad", **simple("Block", "bad")})
    home.role("agent", "no-bad")
    try:
        home.start("--role", "agent")
        yield home
    finally:
        home.stop()


def _event(home: Home, wanted: object) -> dict[str, Any]:
    found = [each for each in home.control.rows("/api/events") if each["id"] == wanted]
    assert len(found) == 1
    return found[0]


def test_a_verdict_is_an_event(running: Home) -> None:
    verdict = running.control.analyze("a bad thing", "Network")

    event = _event(running, verdict["event"])

    assert event["verdict"] == "BLOCK"
    assert event["policy"] == "no-bad"
    assert event["context"] == "Network"


def test_a_verdict_of_the_wrapper_is_an_event(running: Home) -> None:
    running.shell("-c", "echo bad wrapper-event")

    assert "wrapper-event" in running.control.get("/api/events").text


def test_the_command_line_shows_events(running: Home) -> None:
    running.control.analyze("a bad command-line thing", "Network")

    ran = running.run("events")

    assert ran.code == 0
    assert "no-bad" in ran.out


def test_events_as_json_are_one_object_a_line(running: Home) -> None:
    verdict = running.control.analyze("a bad json thing", "Network")

    ran = running.run("events", "--json")

    assert ran.code == 0
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert verdict["event"] in [each["id"] for each in rows]


def test_follow_shows_what_happens_next(running: Home) -> None:
    following = running.spawn("events", "--follow", "--json")
    try:
        assert following.stdout is not None
        running.control.analyze("bad marker-before", "Network")
        for number in range(1000):
            running.control.analyze(f"bad marker-{number}", "Network")
            line = following.stdout.readline()
            if "marker-" in line:
                break
        assert json.loads(line)["verdict"] == "BLOCK"
    finally:
        following.terminate()
        following.communicate(timeout=20)


def test_events_can_be_filtered(running: Home) -> None:
    running.control.analyze("bad in-the-network", "Network")
    running.control.analyze("fine in-the-shell", "Shell")

    blocked = running.run("events", "--json", "--verdict", "BLOCK").out
    shell = running.run("events", "--json", "--context", "Shell").out

    assert "in-the-network" in blocked
    assert "in-the-shell" not in blocked
    assert "in-the-shell" in shell
    assert "in-the-network" not in shell


SECRETS = {
    "aws-key": "AKIAIOSFODNN7EXAMPLE",
    "github-token": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "bearer": "Authorization: Bearer abcdef0123456789abcdef0123456789",
    "password": "password=correct-horse-battery-staple",
    "url-password": "https://user:correct-horse-battery@example.org/",
    "private-key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n"
    "-----END PRIVATE KEY-----",
}
HIDDEN = {
    "aws-key": "AKIAIOSFODNN7EXAMPLE",
    "github-token": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "bearer": "abcdef0123456789abcdef0123456789",
    "password": "correct-horse-battery-staple",
    "url-password": "correct-horse-battery",
    "private-key": "MIIEvQIBADANBgkqhkiG9w0BAQEF",
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_not_written(home: Home, name: str) -> None:
    home.policies({"id": "no-bad", **simple("Block", "bad")})
    home.role("agent", "no-bad")
    home.start("--role", "agent")

    home.control.analyze(f"echo bad {SECRETS[name]} end", "Network")

    assert HIDDEN[name] not in home.control.get("/api/events").text
    assert HIDDEN[name] not in home.run("events", "--json").out
    files = [each for each in home.dir.rglob("*") if each.is_file()]
    written = b"".join(each.read_bytes() for each in files)
    assert HIDDEN[name].encode() not in written


def test_a_large_content_is_bounded(running: Home) -> None:
    verdict = running.control.analyze("bad" + "x" * 2_000_000, "Network")

    assert len(json.dumps(_event(running, verdict["event"]))) < 100_000


def test_shown_events_cannot_paint_the_terminal(running: Home) -> None:
    running.control.analyze("bad \x1b[2J\x1b]0;title\x07", "Network")

    ran = running.run("events")

    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out


def test_events_outlive_the_daemon(home: Home) -> None:
    home.policies({"id": "no-bad", **simple("Block", "bad")})
    home.role("agent", "no-bad")
    home.start("--role", "agent")
    verdict = home.control.analyze("bad before-the-restart", "Network")

    home.run("restart")

    assert _event(home, verdict["event"])["verdict"] == "BLOCK"


def test_the_default_role_is_in_the_event(running: Home) -> None:
    verdict = running.control.analyze("bad", "Network")

    assert _event(running, verdict["event"])["role"] == "agent"
