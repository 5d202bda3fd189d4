"""`redlane run` starts what it needs, and says so (interface contract)."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from spec.cases import regex
from spec.redlane_home import REDLANE, Home


@pytest.fixture
def alone(home: Home) -> Iterator[Home]:
    """An account whose daemon ends with the test, whoever has started it."""
    yield home
    home.run("stop")


def test_a_new_account_gets_the_starter(alone: Home) -> None:
    done = alone.run("run", "--", "bash", "-c", "echo said; rm -rf ~/")

    started, blocked = done.err.splitlines()
    assert done.code == 126
    assert started.startswith("redlane: started the daemon, on the starter policies in")
    assert "policy 'shell-remove-home-or-system' blocks this" in blocked
    settings = json.loads((alone.dir / "settings.json").read_text())
    assert settings["review"]["timeout_seconds"] == 600


def test_what_a_user_has_written_is_what_is_in_force(alone: Home) -> None:
    alone.policies({"id": "no", **regex("Block", "forbidden", context="Shell")})
    alone.role("mine", "no")

    done = alone.run("run", "--role", "mine", "--", "bash", "-c", "echo forbidden")

    assert done.code == 126
    assert "redlane: the daemon runs as process" in done.err
    assert "policy 'no' blocks this" in done.err
    assert not (alone.dir / "settings.json").exists()


def test_a_daemon_that_runs_is_asked(alone: Home) -> None:
    alone.run("run", "--", "true")

    again = alone.run("run", "--", "echo", "said")

    assert (again.code, again.out, again.err) == (0, "said\n", "")


def test_several_at_once_start_one(alone: Home) -> None:
    several = [alone.spawn("run", "--", "echo", "said") for _ in range(3)]

    found = [(*each.communicate(timeout=60), each.returncode) for each in several]

    assert [(out, code) for out, _, code in found] == [("said\n", 0)] * 3, found
    assert sum("started the daemon" in err for _, err, _ in found) == 1


def test_scripts_may_want_none_started(alone: Home) -> None:
    done = alone.run("run", "--no-start", "--", "echo", "said")

    assert (done.code, done.out) == (3, "")
    assert "start it with: redlane start" in done.err
    assert not list(alone.dir.iterdir())


def test_nothing_runs_on_files_that_do_not_load(alone: Home) -> None:
    (alone.dir / "settings.json").write_text("{")

    done = alone.run("run", "--", "echo", "said")

    assert (done.code, done.out) == (3, "")
    found, told = done.err.splitlines()
    assert "settings.json: line 1" in found
    assert told == "redlane: the daemon did not start, so that nothing was run"


STARTS_ANOTHER = """
import subprocess, sys
print("ready", flush=True)
sys.stdin.readline()
subprocess.run([sys.argv[1], "run", "--", "echo", "escaped"])
"""


def test_a_session_whose_daemon_is_gone_starts_none(alone: Home) -> None:
    words = (sys.executable, "-c", STARTS_ANOTHER, str(REDLANE))
    agent = alone.spawn("run", "--", *words, stdin=subprocess.PIPE)
    assert agent.stdout
    assert agent.stdout.readline() == "ready\n"
    alone.run("stop")

    out, _ = agent.communicate("\n", timeout=30)

    assert out == ""
    assert alone.run("status").code == 3
