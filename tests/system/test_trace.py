"""`redlane trace`: what a session does, as the kernel sees it, or as it was judged."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from spec.redlane_home import REDLANE, Home

from redlane.tracing.kernel import TracerError, kernel_tracer

AGENT = """\
import socket, subprocess, sys
print(flush=True)
sys.stdin.readline()
try:
    open("/nonexistent/file")
except OSError:
    pass
open("/etc/hostname").close()
subprocess.run(["/bin/sh", "-c", "true 'marked'"])
subprocess.run(["/bin/true", "rm", "-rf"])
with socket.socket() as client:
    client.connect_ex(("127.0.0.1", 1))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    rule = {"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm -rf"}
    made.policies(rule | {"context": "Shell"})
    made.role("agent", "no-rm")
    made.start("--role", "agent")
    yield made
    made.stop()


@contextmanager
def running(home: Home) -> Iterator["subprocess.Popen[str]"]:
    """A session that does something once it is told to."""
    process = subprocess.Popen(
        [REDLANE, "run", "--", sys.executable, "-c", AGENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=home.environment(),
        cwd=home.user,
        text=True,
    )
    assert process.stdout
    assert process.stdin
    try:
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def session_of(home: Home) -> str:
    rows = home.control.rows("/api/sessions")
    (found,) = (e["id"] for e in rows if e["root_pid"] and e["state"] == "running")
    return str(found)


def traced(home: Home, *options: str) -> tuple[str, list[dict[str, Any]]]:
    """What is told of a session, to its end."""
    with running(home) as agent:
        assert agent.stdin
        session = session_of(home)
        with subprocess.Popen(
            [REDLANE, "trace", "--json", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=home.environment(),
            text=True,
        ) as trace:
            assert trace.stdout
            assert trace.stderr
            assert f"looking at session {session}" in trace.stderr.readline()
            agent.stdin.write("\n")
            agent.stdin.flush()
            agent.wait(30)
            lines = trace.stdout.read().splitlines()
            assert trace.wait(60) == 0
    return session, [json.loads(each) for each in lines]


def kinds(rows: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {(e["what"], e["target"], e["result"]) for e in rows}


def test_what_was_judged_is_told(home: Home) -> None:
    session, rows = traced(home, "--judged")

    assert {(e["session"], e["source"]) for e in rows} == {(session, "judged")}
    assert ("exec", "true 'marked'", "ok") in kinds(rows)
    assert ("exec", "/bin/true rm -rf", "blocked") in kinds(rows)


def test_the_kernel_sees_what_passes_as_well(home: Home) -> None:
    try:
        with kernel_tracer(os.getpid()):
            pass
    except TracerError as error:
        pytest.skip(f"NOT TESTED: {error}")

    session, rows = traced(home)

    assert {(e["session"], e["source"]) for e in rows} == {(session, "kernel")}
    assert {
        ("open", "/nonexistent/file", "ENOENT"),
        ("open", "/etc/hostname", "ok"),
        ("connect", "127.0.0.1:1", "ECONNREFUSED"),
    } <= kinds(rows)
    words = [each.get("words") for each in rows if each["what"] == "exec"]
    assert ["/bin/true", "rm", "-rf"] in words


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--session", "default"), "has no processes of its own"),
        (("--session", "nonsuch"), "nonsuch"),
        ((), "say which session with --session ID (running: none)"),
    ],
)
def test_only_a_session_that_runs_is_looked_at(
    home: Home, options: tuple[str, ...], why: str
) -> None:
    ran = home.run("trace", *options)

    assert (ran.code in (1, 2), ran.out) == (True, "")
    assert why in ran.err
