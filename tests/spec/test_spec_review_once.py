"""What was decided on a text is not asked about again for its parts (Actions: Flag).

In a session each program that starts is asked about. Where all of it stood in a text
that was held, the decision on that one holds for it as well.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from spec.cases import regex
from spec.held import held
from spec.redlane_home import REDLANE_SH, Home, wait_for
from supervised import compiled

START = "import os, subprocess, sys\n"
RUNS = START + "sys.exit(subprocess.run(['bash', '-c', sys.argv[1]]).returncode)"
"""An agent: what it starts is asked about."""
RUN = START + "sys.exit(subprocess.run(sys.argv[1:]).returncode)"
BECOMES = START + "os.execv(sys.argv[1], sys.argv[1:])"
FALLS_BACK = f"""{START}
helper = [sys.executable, "helper.py", "/bin/bash", "-c", sys.argv[1]]
for words in (helper, ["bash", "-c", sys.argv[2]]):
    done = subprocess.run(words)
sys.exit(done.returncode)
"""
"""An agent that does without its helper."""


@pytest.fixture
def guarded(home: Home) -> Home:
    """A daemon that holds what is called odd, wherever it stands in a command."""
    home.policies(
        {"id": "flag", **regex("Flag", r"^(\S*/)?(odd|seq|tool)\b", context="Shell")}
    )
    home.role("agent", "flag")
    home.settings(review={"timeout_seconds": 30})
    home.start("--role", "agent")
    program(home.user / "odd", "echo odd $*")
    (home.user / "bin").mkdir()
    tool = home.user / "bin" / "tool"
    tool.write_text("#!/usr/bin/env python3\nprint('odd a')\n")
    tool.chmod(0o755)
    (home.user / "unknown.sh").write_text(
        "x=$(date +%s)\n$x-none 2>/dev/null || true\n"
    )
    (home.user / "helper.py").write_text(BECOMES)
    return home


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@contextmanager
def agent(
    home: Home, text: str, *words: str | Path
) -> Iterator["subprocess.Popen[str]"]:
    """An agent that runs a program of ours in a session."""
    path = {"PATH": f"{home.user}/bin:{home.env['PATH']}"}
    started = home.spawn("run", "--", sys.executable, "-c", text, *words, env=path)
    try:
        yield started
    finally:
        started.kill()
        started.communicate(timeout=20)


def decide(home: Home, decision: str = "allow", *more: str) -> None:
    """Wait for the one that is held, and decide it."""
    (review,) = wait_for(lambda: held(home))
    assert home.run("review", decision, review["id"], *more).code == 0


ONCE = {
    "as it is": "./odd a",
    "behind a wrapper": "timeout 20 bash -c './odd a && true'",
    "behind two of them": "nice timeout 20 sh -c 'bash -c \"./odd a\"'",
    "by an interpreter": "python3 -c \"import os; os.system('./odd a')\"",
    "behind a text of which not all is known": '. ./unknown.sh && eval "./odd a"',
    "by a program that becomes a shell": "python3 helper.py /bin/bash -c 'seq 1'",
    "a script of another language": ". ./unknown.sh && tool a",
    "several times": "for i in 1 2; do ./odd a; done; $(true) true",
}


@pytest.mark.parametrize("text", ONCE.values(), ids=ONCE)
def test_a_text_is_decided_once(guarded: Home, text: str) -> None:
    with agent(guarded, RUNS, text) as started:
        decide(guarded)
        out, err = started.communicate(timeout=20)
        assert started.returncode == 0, err
        assert set(out.splitlines()) <= {"odd a", "1"}
        assert out
    reviews = guarded.control.rows("/api/reviews?over=true")
    assert len(reviews) == 1


SETS_UP = """
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
    return setenv("X", "y", 1) || execv(words[2], words + 3);
}
"""
"""What Codex has become of it: its helper sets variables, and becomes the command."""


def test_a_command_with_a_helper_is_decided_once_and_as_it_is(guarded: Home) -> None:
    helper = compiled(SETS_UP, guarded.user / "codex")
    words = ("--codex-run-as-process-setup", "/bin/bash", "bash", "-c", "./odd a")
    with agent(guarded, RUN, helper, *words) as started:
        decide(guarded)
        assert started.communicate(timeout=20)[0] == "odd a\n"
    (review,) = guarded.control.rows("/api/reviews?over=true")
    assert review["content"] == "./odd a"


def test_the_event_of_a_part_tells_whose_decision_it_was(guarded: Home) -> None:
    with agent(guarded, RUNS, "timeout 20 bash -c './odd a'") as started:
        decide(guarded, "allow", "--note", "fine")
        started.communicate(timeout=20)
    (review,) = guarded.control.rows("/api/reviews?over=true")
    asked = [e for e in guarded.control.rows("/api/events") if e["review"]]
    assert {(e["verdict"], e["review"], e["note"]) for e in asked} == {
        ("ALLOW", review["id"], "fine")
    }
    _, *parts = asked
    assert parts
    assert all(e["reason"].startswith("as decided before: held") for e in parts)


RUN_ODD = f"{START}words = ['bash', '-c', './' + 'odd a']\n"
TRIES = {
    "other.py": "import os; os.system('./' + 'odd b')",
    "same.py": f"{RUN_ODD}subprocess.run(words)",
    "elsewhere.py": f"{RUN_ODD}subprocess.run(words, cwd='sub')",
    "varied.py": f"{RUN_ODD}os.environ['X'] = 'y'\nsubprocess.run(words)",
    "sets.py": f"{START}os.environ['X'] = 'y'\nos.execv(sys.argv[1], sys.argv[1:])",
    "swaps.py": f"{RUN_ODD}os.replace('sub/odd', 'odd')\nsubprocess.run(words)",
    "moves.py": f"{RUN_ODD}os.rename('sub', 'was')\nos.symlink('was', 'sub')\n"
    "subprocess.run(['bash', '-c', './' + 'odd sub'])",
    "becomes.py": f"{START}os.environ['X'] = 'y'\n"
    "os.execv('./' + 'odd', ['./' + 'odd', 'a'])",
    "wraps.py": f"{START}subprocess.run(['nice', './' + 'odd', 'a'])",
}
"""Programs that do what stood in a text, in another way."""
AGAIN = {
    "what a script works out": ". ./works_out.sh",
    "another word": "timeout 20 bash -c './odd a; python3 other.py'",
    "by another program": "./odd a && python3 same.py",
    "in another directory": "python3 elsewhere.py bash -c './odd a'",
    "in one that a text names besides": "ls sub >&2; ./odd a && python3 elsewhere.py",
    "with other variables": "python3 varied.py bash -c './odd a'",
    "with variables of a program between": "python3 sets.py /bin/bash -c 'seq 1'; :",
    "with another value of the text's": "X=1 python3 sets.py /bin/bash -c 'seq 1'; :",
    "a program that has changed": "python3 swaps.py bash -c './odd a'",
    "a directory that is another": "python3 moves.py bash -c './odd sub'",
    "by what the text becomes": "./odd a; exec python3 becomes.py",
    "behind a wrapper": "python3 wraps.py bash -c './odd a'",
}


@pytest.mark.parametrize("text", AGAIN.values(), ids=AGAIN)
def test_what_was_not_seen_is_decided_on(guarded: Home, text: str) -> None:
    program(guarded.user / "what", "awk 'BEGIN {printf \"%c\", 98}'")
    (guarded.user / "works_out.sh").write_text("x=$(./what)\n./odd a\n./odd $x\n")
    (guarded.user / "sub").mkdir()
    program(guarded.user / "sub" / "odd", "echo odd in sub")
    for name, code in TRIES.items():
        (guarded.user / name).write_text(code)
    with agent(guarded, RUNS, text) as started:
        decide(guarded)
        (again,) = wait_for(lambda: held(guarded))
        assert "as decided before" not in again["reason"]
        guarded.run("review", "block", again["id"])
        out, _ = started.communicate(timeout=20)
        assert out in {"", "odd a\n"}


ASKS_ITSELF = """
import os, socket, subprocess, sys
where, text = os.getcwd().encode(), b"./odd a"
with socket.socket(socket.AF_UNIX) as asking:
    asking.connect(sys.argv[1])
    head = b"REDLANE 1 %d 0 %d\\n" % (len(where), len(text))
    asking.sendall(head + where + text)
    while b"ALLOW" not in asking.recv(100):
        pass
    subprocess.run(["bash", "-c", "./odd a"])
"""


def test_who_asks_for_itself_has_nothing_decided(guarded: Home) -> None:
    place = Path(guarded.control.socket).with_name("shell.sock")
    with agent(guarded, ASKS_ITSELF, place) as started:
        decide(guarded)
        decide(guarded, "block")
        assert started.communicate(timeout=20)[0] == ""


def test_a_block_holds_for_what_is_tried_in_its_place(guarded: Home) -> None:
    words = ("seq 1", "seq 1")
    with agent(guarded, FALLS_BACK, *words) as started:
        decide(guarded, "block", "--note", "not here")
        out, err = started.communicate(timeout=20)
        assert (started.returncode, out) == (126, "")
        assert err.count("blocked by a person: not here;") == 2
    assert len(guarded.control.rows("/api/reviews?over=true")) == 1


def test_a_block_holds_for_nothing_else(guarded: Home) -> None:
    words = ("seq 1", "seq 2")
    with agent(guarded, FALLS_BACK, *words) as started:
        decide(guarded, "block")
        decide(guarded)
        assert started.communicate(timeout=20)[0] == "1\n2\n"


def test_the_same_again_is_asked_about_again(guarded: Home) -> None:
    twice = f"{START}\nfor _ in range(2): subprocess.run(['bash', '-c', sys.argv[1]])"
    with agent(guarded, twice, "./odd a") as started:
        decide(guarded, "block")
        decide(guarded)
        assert started.communicate(timeout=20)[0] == "odd a\n"


def test_outside_of_a_session_a_block_is_for_one_text(guarded: Home) -> None:
    for _ in range(2):
        shell = guarded.spawn("-c", "./odd a", program=REDLANE_SH)
        decide(guarded, "block")
        shell.communicate(timeout=20)
