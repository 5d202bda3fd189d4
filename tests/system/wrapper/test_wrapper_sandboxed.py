"""Shells and programs under a seccomp filter of the session's own are judged as well.

Agents' own sandboxes load one, by which no guarded shell could reach the daemon. What
it lets a shell see may be a lie: each program that such a shell starts is judged.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from calls_home import needs_filters
from spec.control_client import peer_pid
from spec.redlane_home import Home, wait_for
from supervised import compiled
from system.filtered_runner import is_alive, state_of
from system.own_filter import LIKE_CODEX
from system.sandboxed_home import (
    EVIL,
    REASON,
    WAYS,
    alone,
    decided,
    made_home,
    sandboxed,
    started,
    way_of,
)

pytestmark = needs_filters

ROLES = ("plain", "calls")
TEXT = 'read -r line; echo "$0 $# $1 $2 $line"; echo told >&2; exit 7'


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = made_home(tmp_path_factory.mktemp("h"))
    yield made
    made.stop()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def events(home: Home) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = home.control.rows("/api/events")
    return found


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", WAYS)
def test_allowed_shell_runs_as_without_redlane(
    home: Home, place: Path, role: str, way: str
) -> None:
    words = [*way_of(way, place, TEXT), "called", "b c"]
    expected = alone(home, place, *words, stdin="typed\n")

    done = sandboxed(home, place, *words, role=role, stdin="typed\n")

    assert (done.code, done.out, done.err) == (7, expected.out, "told\n"), done
    assert "typed" in done.out


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", WAYS)
def test_blocked_shell_says_why(home: Home, place: Path, role: str, way: str) -> None:
    done = sandboxed(home, place, *way_of(way, place, EVIL), role=role)

    assert (done.code, done.out, done.err) == (126, "", REASON), done


@pytest.mark.parametrize("way", WAYS)
def test_shell_is_an_event_with_its_process(home: Home, place: Path, way: str) -> None:
    done = sandboxed(home, place, *way_of(way, place, "echo $$"))

    found = [each for each in events(home) if each["pid"] == int(done.out)]
    assert [each["verdict"] for each in found] == ["ALLOW"], found
    assert "echo $$" in found[0]["content"] or "script.sh" in found[0]["content"]


@pytest.mark.parametrize("way", ["bash by PATH", "sh FILE", "first line"])
def test_held_shell_runs_once_it_is_allowed(home: Home, place: Path, way: str) -> None:
    words = [*way_of(way, place, f": please-ask\n{TEXT}"), "called", "b c"]
    expected = alone(home, place, *words, stdin="typed\n")

    done = decided(home, place, "allow", *words, stdin="typed\n")

    assert (done.code, done.out) == (7, expected.out), done
    assert "redlane: held for review " in done.err


@pytest.mark.parametrize("way", ["bash by PATH", "sh FILE", "first line"])
def test_held_shell_is_refused_once_it_is_blocked(
    home: Home, place: Path, way: str
) -> None:
    done = decided(home, place, "block", *way_of(way, place, "echo please-ask"))

    assert (done.code, done.out) == (126, ""), done
    assert "redlane: blocked: " in done.err


SWAPS = {
    "other text": f"echo '{EVIL}' >script.sh",
    "other file": f"echo '{EVIL}' >other; mv other script.sh",
    "link": f"echo '{EVIL}' >other; ln -sf other script.sh",
    "what it sources": f"echo '{EVIL}' >sourced",
    "directory": "cd ..; mv here there; mkdir here; cp -p there/* here; "
    f"echo '{EVIL}' >there/script.sh",
}


@pytest.mark.parametrize("way", ["sh FILE", "first line"])
@pytest.mark.parametrize("swap", SWAPS)
def test_what_is_swapped_while_it_is_held_does_not_run(
    home: Home, place: Path, way: str, swap: str
) -> None:
    here = place / "here"
    here.mkdir()
    (here / "sourced").write_text("echo fine\n")
    words = way_of(way, here, "echo please-ask; . ./sourced")

    done = decided(home, here, "allow", *words, meanwhile=SWAPS[swap])

    assert (done.code, "evil-2" in done.out) == (126, False), done


@pytest.mark.parametrize("way", ["bash by PATH", "sh FILE", "first line"])
def test_rewritten_shell_is_refused(home: Home, place: Path, way: str) -> None:
    words = [*way_of(way, place, "echo beer"), "beer"]
    done = sandboxed(home, place, *words)

    assert (done.code, done.out) == (126, ""), done
    assert done.refusal.startswith("redlane: a policy rewrites it")


@pytest.mark.parametrize(("text", "code"), [("echo fine", 0), (EVIL, 126)])
def test_reason_is_told_on_a_pair_of_sockets(
    home: Home, place: Path, text: str, code: int
) -> None:
    done = sandboxed(home, place, "bash", "-c", text, how="pairs")

    expected = ("", REASON) if code else ("fine\n", "")
    assert (done.code, done.out, done.err) == (code, *expected), done


UNJUDGED = {
    "commands on standard input": ("sh",),
    "the same, with arguments": ("bash", "-s", "a"),
    "interactive": ("bash", "-i"),
    "interactive command": ("bash", "-ic", "echo fine"),
    "rcfile": ("bash", "--rcfile", "/dev/null", "-c", "echo fine"),
    "option of bash alone": ("sh", "-help", "-c", "echo fine"),
    "no command": ("bash", "-c"),
    "no option of a shell": ("bash", "-Z", "-c", "echo fine"),
}


@pytest.mark.parametrize("what", UNJUDGED)
def test_shell_that_cannot_be_judged_whole_is_refused(
    home: Home, place: Path, what: str
) -> None:
    done = sandboxed(home, place, *UNJUDGED[what], stdin="echo fine\n")

    assert (done.code, done.out) == (126, ""), done
    assert done.refusal


def test_version_of_a_shell_is_told(home: Home, place: Path) -> None:
    done = sandboxed(home, place, "bash", "--version")

    assert (done.code, done.err) == (0, ""), done
    assert done.out.startswith("GNU bash")


@pytest.mark.parametrize("role", ROLES)
def test_program_is_judged_by_its_command_line(
    home: Home, place: Path, role: str
) -> None:
    fine = sandboxed(home, place, "/bin/echo", "fine", role=role)
    blocked = sandboxed(home, place, "/bin/echo", "forbidden-word", role=role)
    rewritten = sandboxed(home, place, "/bin/echo", "beer", role=role)

    assert (fine.code, fine.out, fine.err) == (0, "fine\n", ""), fine
    assert (blocked.code, blocked.out, blocked.err) == (126, "", REASON), blocked
    assert (rewritten.code, rewritten.out) == (126, ""), rewritten
    assert rewritten.refusal.startswith("redlane: a policy rewrites it")


@pytest.mark.parametrize(("action", "out"), [("allow", "please-ask\n"), ("block", "")])
def test_program_is_held(home: Home, place: Path, action: str, out: str) -> None:
    done = decided(home, place, action, "/bin/echo", "please-ask")

    assert (done.code, done.out) == (0 if out else 126, out), done


CALLS = (
    *("openat", "connect", "socket", "execve", "execveat", "getcwd", "newfstatat"),
    *("memfd_create", "exit_group", "sendto", "recvfrom", "recvmsg", "read", "chdir"),
    *("fcntl", "dup2", "getpeername", "getpid", "close", "ioctl"),
)


@pytest.mark.parametrize("error", [0, 1, 8, 38])
@pytest.mark.parametrize("way", ["bash by PATH", "sh by its path", "sh FILE"])
def test_no_call_that_lies_lets_a_blocked_command_run(
    home: Home, place: Path, way: str, error: int
) -> None:
    words = way_of(way, place, EVIL)
    words[0] = shutil.which(words[0]) or words[0]
    rules = ";".join(f"{each}={error}" for each in CALLS)

    done = sandboxed(home, place, *words, rules=rules, how="descriptor")

    assert "evil-2" not in done.out, done
    assert done.code == 0, done


LIES = {
    "a script is standard input": ("openat=0@2:0", ["/bin/sh", "good/x.sh"]),
    "what is sourced is": ("openat=0@2:0", ["/bin/sh", "-c", ". ./good/x.sh"]),
    "a script of bash is": ("openat=0@2:0", ["/bin/bash", "good/x.sh"]),
    "another directory": ("chdir=0", ["/bin/sh", "-c", "cd good && . ./x.sh"]),
    "the same of bash": ("chdir=0", ["/bin/bash", "-c", "cd good && . ./x.sh"]),
    "a program is a script": ("execve=8", ["/bin/bash", "-c", "./x.true"]),
    "a redirection": ("dup2=0", ["/bin/sh", "-c", ". /dev/stdin <good/x.sh"]),
}


@pytest.mark.parametrize("lie", LIES)
def test_lie_lets_no_program_run_that_was_not_judged(
    home: Home, place: Path, lie: str
) -> None:
    """What a shell does by itself, led elsewhere, is no more than a program's calls."""
    text = f"/bin/{EVIL}"
    (place / "good").mkdir()
    (place / "good/x.sh").write_text("echo fine\n")
    (place / "x.sh").write_text(f"{text}\n")
    (place / "x.true").write_text(f"#!/usr/bin/true\n{text}\n")
    (place / "x.true").chmod(0o755)
    rules, words = LIES[lie]

    done = sandboxed(home, place, *words, rules=rules, how="descriptor", stdin=text)

    assert "evil-2" not in done.out, done


VARIABLES = {
    "file to begin with": ("BASH_ENV={}/x.sh", "ENV={}/x.sh"),
    "function": ("BASH_FUNC_echo%%=() { builtin echo evil-2; }",),
    "library": ("LD_PRELOAD={}/x.so",),
    "trace": ("SHELLOPTS=xtrace", f"PS4=$({EVIL} >&2)"),
    "given twice": ("BASH_ENV=/dev/null", "BASH_ENV={}/x.sh"),
    "library given twice": ("LD_PRELOAD=", "LD_PRELOAD={}/x.so"),
    "behind nothing": ("", "", "BASH_ENV={}/x.sh"),
    "home": ("HOME={}", "SHLVL=0", "SSH_CLIENT=1 2 3"),
}
SPY = """
#include <stdio.h>
__attribute__((constructor)) static void spy(void) { puts("evil-2"); }
"""


@pytest.mark.parametrize("way", ["bash by its path", "login", "sh FILE", "first line"])
@pytest.mark.parametrize("rules", [LIKE_CODEX, "getpeername=0"], ids=["codex", "lie"])
@pytest.mark.parametrize("variable", VARIABLES)
def test_no_variable_makes_a_shell_do_more(
    home: Home, place: Path, variable: str, rules: str, way: str
) -> None:
    for name in ("x.sh", ".bashrc", ".bash_profile", ".profile"):
        (place / name).write_text(f"{EVIL}\n")
    if "library" in variable:
        compiled(SPY, place / "x.so", "-shared", "-fPIC")
    words = way_of(way, place, "echo fine")
    words[0] = shutil.which(words[0]) or words[0]
    given = [
        each.format(place) if "{}/" in each else each for each in VARIABLES[variable]
    ]
    given = [each.replace("={}", f"={place}") for each in given]

    done = sandboxed(home, place, *given, "--", *words, rules=rules, how="variables")

    assert "evil-2" not in done.said, done
    assert (done.code, done.out) == (0, "fine\n") or variable == "home", done


OPEN = {
    "a substitution": '/bin/echo "$(cat word)"',
    "a fork": 'w=$(cat word)\n( : ; /bin/echo "$w" )',
    "another shell": 'w=$(cat word)\nsh -c \'/bin/echo "$1"\' sh "$w"',
}


@pytest.mark.parametrize("way", ["bash by PATH", "sh FILE"])
@pytest.mark.parametrize("text", OPEN.values(), ids=OPEN)
def test_what_a_text_works_out_is_judged_where_it_runs(
    home: Home, place: Path, text: str, way: str
) -> None:
    words = way_of(way, place, f"cd {place}\n{text}")
    (place / "word").symlink_to("second")
    (place / "second").write_text("forbidden-word")
    refused = sandboxed(home, place, *words)
    (place / "second").write_text("fine-word")
    fine = sandboxed(home, place, *words)

    assert REASON in refused.err, refused
    assert "forbidden-word" not in refused.out
    assert (fine.out, fine.err) == ("fine-word\n", ""), fine


@contextmanager
def held(home: Home, place: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A session whose command is held, which stands at its start."""
    with started(home, place, "exec", "bash", "-c", "echo please-ask") as process:
        reviews = wait_for(lambda: home.control.rows("/api/reviews"))
        assert state_of(reviews[0]["pid"]) in ("t", "T")
        yield process, reviews[0]["pid"]


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_held_command_ends_by_a_signal(home: Home, place: Path, name: str) -> None:
    with held(home, place) as (process, pid):
        os.kill(pid, signal.Signals[f"SIG{name}"])
        out, _ = process.communicate(timeout=30)

    assert (out, is_alive(pid)) == ("", False)
    wait_for(lambda: home.control.rows("/api/reviews") == [])


def test_held_command_ends_with_its_session(home: Home, place: Path) -> None:
    with held(home, place) as (process, pid):
        process.kill()

    wait_for(lambda: not is_alive(pid))
    wait_for(lambda: home.control.rows("/api/reviews") == [])


def test_held_command_ends_with_the_daemon(place: Path) -> None:
    lost = made_home(place)
    with held(lost, place) as (process, pid):
        daemon = peer_pid(lost.control.socket)
        assert daemon
        os.kill(daemon, signal.SIGKILL)
        out, err = process.communicate(timeout=30)

    assert (process.returncode, out, is_alive(pid)) == (126, "", False), err
    assert "not run" in err


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_command_that_waits_for_a_verdict_ends_by_a_signal(
    place: Path, name: str
) -> None:
    slow = made_home(place)
    daemon = peer_pid(slow.control.socket)
    assert daemon
    with started(slow, place, "when told", "bash", "-c", "echo fine") as process:
        assert process.stdin
        assert process.stdout
        pid = int(process.stdout.readline())
        os.kill(daemon, signal.SIGSTOP)
        try:
            process.stdin.write("\n")
            process.stdin.flush()
            name_of = Path(f"/proc/{pid}/comm")
            wait_for(lambda: state_of(pid) == "t" and name_of.read_text() == "bash\n")
            os.kill(pid, signal.Signals[f"SIG{name}"])
            wait_for(lambda: not is_alive(pid))
        finally:
            os.kill(daemon, signal.SIGCONT)
        out, _ = process.communicate(timeout=30)
    slow.stop()

    assert out == ""
