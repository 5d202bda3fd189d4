"""What is held, attacked: by what it shows, floods, swaps, and who may decide it."""

import hashlib
import hmac
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import HostileHub, Sent, json_answer
from spec.cases import simple
from spec.held import REFUSED, ask, ended, held
from spec.redlane_home import Home, wait_for
from system.calls import analyze, in_background

INSIDER = Path(__file__).with_name("insider.py")
MANUAL = Path(__file__).parents[2] / "docs" / "webhook.md"
SECRET = "a secret of ours"
MOST_HELD = 64
ASKED = {"content": "odd", "context": "Network"}

HIDING = {
    "escape": "\x1b[2K\x1b[1G",
    "title": "\x1b]0;x\x07",
    "return": "rm\rls",
    "bidi": "\u202egnp.exe",
    "zero width": "r\u200bm",
    "c1": "\x9b2J",
    "line separator": "a\u2028b",
}


# What is shown.


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A daemon for tests that leave nothing behind in it."""
    home = Home(tmp_path_factory.mktemp("h"))
    home.policies({"id": "flag", **simple("Flag", "odd")})
    home.role("agent", "flag")
    home.settings(review={"timeout_seconds": 60})
    try:
        home.start("--role", "agent")
        yield home
    finally:
        home.stop()


@pytest.mark.parametrize("text", HIDING.values(), ids=HIDING)
@pytest.mark.parametrize("place", ["argument", "directory", "script", "matched part"])
def test_what_hides_is_shown_wherever_it_stands(
    lasting: Home, tmp_path: Path, place: str, text: str
) -> None:
    words, cwd = ["-c", "echo odd"], tmp_path
    match place:
        case "argument":
            words += ["x", text]
        case "directory":
            cwd = tmp_path / text
            cwd.mkdir()
        case "script":
            (tmp_path / "s.sh").write_text(f"echo odd '{text}'\n", encoding="utf-8")
            words[1] = "sh s.sh"
        case _:
            words[1] = f"true; echo odd '{text}'"
    shell, review = ask(lasting, *words, cwd=cwd)
    said = [lasting.run("review", *e).out for e in (("show", review), ("list",))]
    (shown,) = held(lasting)
    lasting.run("review", "block", review)
    shell.communicate(timeout=20)
    assert (shown["matched"] is not None) is (place in ("script", "matched part"))
    lines = [line for each in said for line in each.split("\n")]
    assert [line for line in lines if not line.isprintable()] == []


@contextmanager
def flooded(home: Home, *last: str) -> Iterator[list[dict[str, Any]]]:
    """As much as one session may have is held, the `last` behind what is alike."""
    contents = ["odd"] * (MOST_HELD - len(last)) + list(last)
    with ExitStack() as stack:
        for content in contents:
            body = {"content": content, "context": "Network"}
            stack.enter_context(analyze(home, body))
        wait_for(lambda: len(held(home)) == MOST_HELD)
        yield held(home)
    wait_for(lambda: not held(home))


def test_one_among_many_alike_has_a_line_of_its_own(lasting: Home) -> None:
    with flooded(lasting, "odd danger"):
        lines = lasting.run("review", "list").out.splitlines()
        (alike, other) = sorted(lines, key=lambda line: "danger" in line)
        assert f"(and {MOST_HELD - 2} more: --times {MOST_HELD - 1})" in alike
        assert other.endswith("session default: odd danger")


def test_what_comes_on_top_is_blocked_and_another_session_has_room(
    lasting: Home,
) -> None:
    with flooded(lasting), lasting.opened_session("agent") as session:
        verdict = lasting.control.analyze("odd", "Network")
        assert verdict["verdict"] == "BLOCK"
        assert f"has {MOST_HELD} contents held already" in verdict["reason"]
        with analyze(lasting, {**ASKED, "session": session["id"]}):
            wait_for(lambda: len(held(lasting)) == MOST_HELD + 1)


def test_ids_are_not_guessed_from_one_another(lasting: Home) -> None:
    with flooded(lasting) as reviews:
        ids = {str(each["id"]) for each in reviews}
        assert len(ids) == MOST_HELD
        assert all(re.fullmatch("[0-9a-f]{16}", each) for each in ids)
        assert all(len(set(letters)) > 4 for letters in zip(*ids, strict=True))
        near = f"/api/reviews/{int(min(ids), 16) ^ 1:016x}"
        assert lasting.control.post(near, {"decision": "allow"}).status == 404
        assert len(held(lasting)) == MOST_HELD


# A decision for the same again is for nothing else.


def goes_on(home: Home, body: dict[str, Any]) -> bool:
    """Whether it is allowed without being held; what is held is blocked."""
    thread, found = in_background(home.control.post, "/api/analyze", body)
    reviews = wait_for(lambda: held(home) or not thread.is_alive())
    if isinstance(reviews, list):
        home.run("review", "block", str(reviews[0]["id"]))
    thread.join(20)
    return bool(found[0].json["verdict"] == "ALLOW")


def allow_for_a_while(home: Home) -> None:
    """Decide ASKED for ten minutes."""
    thread, found = in_background(home.control.post, "/api/analyze", ASKED)
    (review,) = wait_for(lambda: held(home))
    allowed = home.run("review", "allow", str(review["id"]), "--for", "10m")
    thread.join(20)
    assert (allowed.code, found[0].json["verdict"]) == (0, "ALLOW")


OTHERS: dict[str, dict[str, Any]] = {
    "context": {"context": "Inbound"},
    "a space more": {"content": "odd "},
    "role": {"role": "twin"},
}


def test_a_decision_for_the_same_again_is_for_nothing_else(holding: Home) -> None:
    holding.role("twin", "flag")
    assert holding.run("reload").code == 0
    allow_for_a_while(holding)
    assert goes_on(holding, ASKED)
    assert [e for e in OTHERS if goes_on(holding, {**ASKED, **OTHERS[e]})] == []
    with holding.opened_session("agent") as session:
        assert not goes_on(holding, {**ASKED, "session": session["id"]})
    assert goes_on(holding, ASKED)


def test_a_decision_for_the_same_again_ends_with_the_rules(holding: Home) -> None:
    allow_for_a_while(holding)
    assert holding.run("reload").code == 0
    assert goes_on(holding, ASKED)
    holding.policies({"id": "flag", **simple("Flag", "odd", reason="it is odd")})
    assert holding.run("reload").code == 0
    assert not goes_on(holding, ASKED)


@pytest.mark.parametrize("wide", [("--times", "9"), ("--for", "10m")], ids=" ".join)
def test_a_decision_is_for_no_other_argument(
    holding: Home, wide: tuple[str, str]
) -> None:
    words = ("-c", 'echo odd "$@"', "x")
    assert ended(holding, *words, "a", decision=("allow", *wide)) == 0
    assert holding.shell(*words, "a").out == "odd a\n"
    assert ended(holding, *words, "b", decision=("block",)) == REFUSED


def put(file: Path, text: str) -> None:
    """A program in the place of whatever is there, in one step."""
    file.parent.mkdir(exist_ok=True)
    new = file.with_name("new")
    new.write_text(text, encoding="utf-8")
    new.chmod(0o755)
    new.replace(file)


SEEN, TOLD = "#!/bin/sh\necho seen\n", "#!/bin/sh\necho told\n"
SWAPS: dict[str, tuple[dict[str, str], str, str]] = {
    "the interpreter of a script": (
        {"w": SEEN, "odd": "#!{0}/w\n"}, "{0}/odd", "w",
    ),
    "an interpreter of PATH": ({"w": SEEN, "odd": ""}, "w {0}/odd", "w"),
    "one that comes before it in PATH": (
        {"w": SEEN, "odd": ""}, "w {0}/odd", "first/w",
    ),
    "what a script reads in": (
        {"w": "echo seen\n", "odd": ". {0}/w\n"}, "sh {0}/odd", "w",
    ),
    "what is read as input": ({"odd": SEEN}, "sh < {0}/odd", "odd"),
    "a file that was not there": (
        {}, "test -e {0}/odd && echo told", "odd",
    ),
}  # fmt: skip
"""Files, what is held of them, and the one that is swapped."""


@pytest.mark.parametrize(("files", "command", "swapped"), SWAPS.values(), ids=SWAPS)
def test_nothing_that_was_swapped_meanwhile_runs(
    holding: Home,
    tmp_path: Path,
    files: dict[str, str],
    command: str,
    swapped: str,
) -> None:
    for name, text in files.items():
        put(tmp_path / name, text.format(tmp_path))
    holding.env["PATH"] = f"{tmp_path}/first:{tmp_path}:{holding.env['PATH']}"
    shell, review = ask(holding, "-c", command.format(tmp_path))

    put(tmp_path / swapped, TOLD)
    assert holding.run("review", "allow", review).code == 0

    out, err = shell.communicate(timeout=20)
    assert (shell.returncode, out) == (REFUSED, "")
    assert "has changed while it was held" in err


def _directory(place: Path) -> None:
    (place / "d").rename(place / "old")
    put(place / "d" / "run", TOLD)


def _link(place: Path) -> None:
    put(place / "other", TOLD)
    (place / "link").unlink()
    (place / "link").symlink_to("other")


WAYS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a directory": ("cd {0}/d && ./run odd", _directory),
    "what a link leads to": ("{0}/link odd", _link),
}


@pytest.mark.parametrize(("command", "swap"), WAYS.values(), ids=WAYS)
def test_no_way_to_a_program_leads_elsewhere_meanwhile(
    holding: Home, tmp_path: Path, command: str, swap: Callable[[Path], None]
) -> None:
    put(tmp_path / "d" / "run", SEEN)
    (tmp_path / "link").symlink_to("d/run")
    shell, review = ask(holding, "-c", command.format(tmp_path))
    swap(tmp_path)
    assert holding.run("review", "allow", review).code == 0
    assert shell.communicate(timeout=20)[0] == ""
    assert shell.returncode == REFUSED


# Who decides.

SPACES = {
    "a user": ("-Ur",),
    "a user and a network": ("-Urn",),
    "a user and processes": ("-Urpf",),
    "a user and mounts": ("-Urm",),
}


@pytest.mark.parametrize("flags", SPACES.values(), ids=SPACES)
def test_nobody_inside_decides_from_a_namespace_of_its_own(
    lasting: Home, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    unshare = ("unshare", *flags)
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this kernel gives nobody such a namespace")
    shell, review = ask(lasting, "-c", "echo odd")
    path = f"/api/reviews/{review}"
    asked, result = tmp_path / "requests.json", tmp_path / "result.json"
    wishes = [("POST", path, {"decision": "allow"}), ("GET", path, None)]
    asked.write_text(json.dumps(wishes), encoding="utf-8")
    control, python = lasting.control.socket, sys.executable
    words = (python, str(INSIDER), "plain", control, asked, result)

    ran = lasting.run("run", "--", *unshare, *words)

    assert result.exists(), ran
    answers = json.loads(result.read_text(encoding="utf-8"))
    assert [status for status, _ in answers] == [403, 403]
    assert [each["id"] for each in held(lasting)] == [review]
    lasting.run("review", "block", review)
    shell.communicate(timeout=20)
    assert shell.returncode == REFUSED


ENDS = {
    "restarted": "taken back by the daemon, which stops",
    "killed": "without a verdict; not run",
}


@pytest.mark.parametrize(("how", "said"), ENDS.items(), ids=ENDS)
def test_what_was_held_stays_blocked_when_the_daemon_is_another(
    holding: Home, how: str, said: str
) -> None:
    canary = holding.user / "canary"
    shell, review = ask(holding, "-c", f"touch {canary}; echo odd")
    if how == "restarted":
        assert holding.run("restart", "--role", "agent").code == 0
    else:
        os.kill(int(holding.control.get("/api/status").json["pid"]), signal.SIGKILL)
        wait_for(lambda: holding.run("status").code == 3)
        holding.start("--role", "agent")

    out, err = shell.communicate(timeout=20)

    assert (shell.returncode, out) == (REFUSED, "")
    assert said in err
    late = holding.run("review", "allow", review)
    assert late.code == 1
    assert f"there is no review '{review}'" in late.refusal
    assert held(holding) == []
    assert not canary.exists()


# The webhook.


@contextmanager
def told(home: Home, command: str) -> Iterator[tuple[HostileHub, str, Sent]]:
    """What is told of a command, by an address that answers as a juror would."""
    home.policies({"id": "flag", **simple("Flag", "odd")})
    home.role("agent", "flag")
    answer = {"vote": "allow", "reason": "x", "decision": "allow"}
    with HostileHub(json_answer(answer)) as server:
        webhook = {"url": f"{server.address}/hook", "secret": SECRET}
        home.settings(review={"timeout_seconds": 60, "webhook": webhook})
        home.start("--role", "agent")
        shell, review = ask(home, "-c", command)
        wait_for(lambda: server.sent)
        yield server, review, server.sent[0]
        home.run("review", "block", review)
        shell.communicate(timeout=20)
        wait_for(lambda: len(server.sent) == 2)


def test_what_an_address_answers_decides_nothing(home: Home) -> None:
    with told(home, "echo odd") as (server, review, _):
        wait_for(server.closed.is_set)
        assert [each["id"] for each in held(home)] == [review]


def test_a_line_for_a_chat_hides_nothing_and_is_one(home: Home) -> None:
    with told(home, f"echo odd '{''.join(HIDING.values())}'") as (_, _, sent):
        assert sent.body.isascii()
        assert json.loads(sent.body)["text"].isprintable()


def test_what_is_told_in_part_says_so(home: Home) -> None:
    with told(home, f"echo odd {'x' * 5000}; rm -rf x") as (_, review, sent):
        message = json.loads(sent.body)
        assert message["review"]["content"].endswith("…")
        assert "…" in message["text"]
        assert f"redlane review show {review}" in message["text"]


def _signed(body: bytes, secret: str = SECRET, age: int = 0) -> str:
    moment = int(time.time()) - age
    signed = f"{moment}.".encode() + body
    made = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={moment},v1={made}"


def test_the_manual_takes_what_we_signed_and_nothing_else(home: Home) -> None:
    (recipe,) = re.findall("```python\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(recipe, names)  # it is what people copy
    is_ours = names["is_ours"]
    with told(home, "echo odd") as (_, _, sent):
        (header,) = re.findall(r"(?mi)^Redlane-Signature: (.*?)\r?$", sent.head)
        body = sent.body
        assert is_ours(SECRET.encode(), header, body)
        forged = {
            "another body": (header, body.replace(b"held", b"decided")),
            "another time": (header.replace("t=", "t=1"), body),
            "another secret": (_signed(body, "a guess"), body),
            "an old one": (_signed(body, age=301), body),
            "no signature": (header.split("v1=")[0] + "v1=", body),
        }
        taken = [e for e in forged if is_ours(SECRET.encode(), *forged[e])]
        assert taken == []
