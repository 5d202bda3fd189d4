"""The commands that talk to the daemon: status, session, review, events."""

import json
import threading
from typing import Any

import pytest
from spec.redlane_home import Home, Ran, wait_for
from system.calls import in_background
from system.process_tree import Actor


def hold(home: Home, content: str) -> tuple[threading.Thread, list[Any], str]:
    thread, found = in_background(home.control.analyze, content)
    review = wait_for(lambda: home.control.rows("/api/reviews"))[0]
    return thread, found, review["id"]


@pytest.mark.parametrize(
    "command",
    [
        ("session", "list"),
        ("session", "reload"),
        ("session", "set-role", "x"),
        ("session", "freeze"),
        ("session", "kill", "--session", "x"),
        ("review", "list"),
        ("review", "allow", "x"),
        ("events",),
        ("events", "--follow"),
    ],
    ids=" ".join,
)
def test_without_a_daemon_commands_say_how_to_start_it(
    home: Home, command: tuple[str, ...]
) -> None:
    ran = home.run(*command)
    assert ran.code == 3
    assert "redlane start" in ran.refusal


def test_status_is_for_people_and_for_programs(daemon: Home) -> None:
    ran = daemon.run("status")
    assert ran.code == 0
    assert "guard" in ran.out
    status = daemon.run("status", "--json").json
    assert status["running"] is True
    daemon.run("stop")
    ran = daemon.run("status", "--json")
    assert (ran.code, ran.json["running"]) == (3, False)


def test_sessions_are_listed(daemon: Home, supervisor: Actor) -> None:
    opened = daemon.control.post(
        "/api/sessions", {"root_pid": supervisor.pid, "label": "my agent"}
    ).json
    listed = daemon.run("session", "list", "--json").json
    assert [each["id"] for each in listed] == ["default", opened["id"]]
    text = daemon.run("session", "list").out
    assert "my agent" in text
    assert len(text.splitlines()) == 2


def test_role_is_set(daemon: Home) -> None:
    assert daemon.run("session", "set-role", "other").code == 0
    assert daemon.control.analyze("beer")["verdict"] == "ALLOW"
    ran = daemon.run("session", "set-role", "nobody")
    assert ran.code == 1
    assert "nobody" in ran.refusal
    ran = daemon.run("session", "set-role", "other", "--session", "no-such-one")
    assert ran.code == 1
    assert "no-such-one" in ran.refusal


def test_session_is_frozen_and_unfrozen(daemon: Home) -> None:
    assert daemon.run("session", "freeze").code == 0
    assert daemon.control.analyze("ls")["verdict"] == "BLOCK"
    assert "frozen" in daemon.run("session", "list").out
    assert daemon.run("session", "unfreeze").code == 0
    assert daemon.control.analyze("ls")["verdict"] == "ALLOW"


def test_session_is_killed(daemon: Home, supervisor: Actor) -> None:
    opened = daemon.control.post("/api/sessions", {"root_pid": supervisor.pid}).json
    assert daemon.run("session", "kill", "--session", opened["id"]).code == 0
    supervisor.process.wait(timeout=20)
    assert opened["id"] not in daemon.run("session", "list").out
    ran = daemon.run("session", "kill")
    assert ran.code == 1
    assert "default" in ran.refusal


@pytest.mark.parametrize(("verb", "verdict"), [("allow", "ALLOW"), ("block", "BLOCK")])
def test_held_content_is_decided(daemon: Home, verb: str, verdict: str) -> None:
    thread, found, review = hold(daemon, "please go")
    listed = daemon.run("review", "list").out
    assert review in listed
    assert "please go" in listed
    assert daemon.run("review", verb, review, "--note", "as agreed").code == 0
    thread.join(20)
    assert found[0]["verdict"] == verdict
    assert "as agreed" in found[0]["reason"]
    ran = daemon.run("review", "allow", review)
    assert ran.code == 1
    assert "over" in ran.refusal


def test_unknown_review_is_named(daemon: Home) -> None:
    for verb in ("show", "allow", "block"):
        ran = daemon.run("review", verb, "nothing")
        assert ran.code == 1
        assert "nothing" in ran.refusal


SNEAKY = {
    "escape": "please \x1b[2K\x1b[1Gls",
    "return": "please rm\rls      ",
    "title": "please \x1b]0;x\x07",
    "bidi": "please \u202egnp.exe",
    "isolate": "please \u2066x\u2069",
    "zero width": "please r\u200bm",
    "soft hyphen": "please r\u00adm",
    "tag": "please \U000e0041",
    "c1": "please \x9b2J",
    "line separator": "please\u2028ls",
    "no-break space": "please\u00a0rm",
    "filler": "please\u3164rm",
    "backspace": "please rm\b\bls",
}


@pytest.mark.parametrize("content", SNEAKY.values(), ids=SNEAKY)
def test_what_hides_is_shown(daemon: Home, content: str) -> None:
    thread, _, review = hold(daemon, content)
    shown = daemon.run("review", "show", review)
    listed = daemon.run("review", "list")
    daemon.run("review", "block", review)
    thread.join(20)
    hidden = [
        letter for letter in content if not letter.isprintable() or letter == "\u3164"
    ]
    assert hidden
    for ran in (shown, listed):
        assert ran.code == 0
        assert not [letter for letter in hidden if letter in ran.out]
        assert all(f"⟨U+{ord(letter):04X}⟩" in ran.out for letter in hidden)
    body = shown.out.partition("content (")[2].partition("\n")[2]
    ours = ("| ", "inside of it (")
    assert all(line.startswith(ours) for line in body.splitlines())


def test_show_never_cuts_and_never_lets_content_pass_for_ours(daemon: Home) -> None:
    content = "please\nstate: allowed\n" + "x" * 50_000 + "\nthe very end"
    thread, _, review = hold(daemon, content)
    ran = daemon.run("review", "show", review)
    daemon.run("review", "block", review)
    thread.join(20)
    whole = ran.out.partition("\ninside of it (")[0]
    shown = [line[2:] for line in whole.splitlines() if line.startswith("| ")]
    assert "\n".join(shown) == content
    assert ran.out.splitlines().count("state: allowed") == 0


def test_list_says_that_it_shows_a_part(daemon: Home) -> None:
    thread, _, review = hold(daemon, "please " + "x" * 5_000)
    listed = daemon.run("review", "list").out
    daemon.run("review", "block", review)
    thread.join(20)
    assert "5007 characters" in listed


def events(home: Home, *options: str) -> list[dict[str, Any]]:
    ran = home.run("events", "--json", *options)
    assert ran.code == 0, ran
    return [json.loads(line) for line in ran.out.splitlines()]


def test_events_are_shown_and_filtered(daemon: Home) -> None:
    daemon.control.analyze("ls")
    daemon.control.analyze("rm -rf /")
    daemon.control.analyze("beer", "Network")
    assert [each["verdict"] for each in events(daemon)] == ["ALLOW", "BLOCK", "MODIFY"]
    assert [each["content"] for each in events(daemon, "--verdict", "BLOCK")] == [
        "rm -rf /"
    ]
    assert len(events(daemon, "--context", "Network", "--session", "default")) == 1
    assert len(events(daemon, "--limit", "2")) == 2
    assert len(events(daemon, "--since", "10m")) == 3
    assert events(daemon, "--since", "2999-01-01") == []
    text = daemon.run("events").out
    assert "no-rm" in text
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize("since", ["yesterday", "10", "9999999999d", "1w", ""])
def test_bad_since_is_a_usage_error(daemon: Home, since: str) -> None:
    ran = daemon.run("events", "--since", since)
    assert ran.code == 2
    assert ran.refusal


def test_events_are_followed(daemon: Home) -> None:
    follower = daemon.spawn("events", "--follow", "--json")
    try:
        assert follower.stdout is not None
        daemon.control.analyze("one")
        first = json.loads(follower.stdout.readline())
        for content in ("two", "three"):
            daemon.control.analyze(content)
        rest = [json.loads(follower.stdout.readline()) for _ in range(2)]
        assert [each["content"] for each in (first, *rest)] == ["one", "two", "three"]
    finally:
        follower.kill()
        follower.communicate()


def test_event_with_controls_stays_one_line(daemon: Home) -> None:
    daemon.control.analyze("a\nb\x1b[2J\u202ec")
    out = daemon.run("events").out
    assert len(out.splitlines()) == 1
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_commands_inside_a_session_are_refused_in_one_line(
    daemon: Home, supervisor: Actor
) -> None:
    daemon.control.post("/api/sessions", {"root_pid": supervisor.pid})
    for command in (
        ("status",),
        ("session", "reload"),
        ("session", "set-role", "other"),
        ("review", "list"),
        ("events",),
    ):
        code, err = supervisor.ask(
            "command", json.dumps(daemon.environment()), "redlane", *command
        )
        assert "inside session" in Ran(code, "", err).refusal
