"""System calls of sessions are judged as soon as the context's package is there."""

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from boot.machine import Done, Machine
from boot.packages import ROOT, apt
from boot.product import add_user, ask, start, state
from system.own_filter import LIKE_CODEX

OWN_FILTER = ROOT / "tests" / "system" / "own_filter.py"
PLUGIN = "redlane-plugin-syscall"
SECRET, POISON, FREE = "/srv/secret/key", "/srv/poison", "/srv/free"
AS_IT_IS = "as it is"
REFUSED, KILLED = 1, 137
OPENS, RENAMES = ["open", "openat"], ["rename", "renameat", "renameat2"]
POLICIES: Mapping[str, Mapping[str, object]] = {
    "calls-file": {"type": "Regex", "syscall": OPENS, "pattern": "^/srv/secret/"},
    "calls-kill": {
        "type": "Regex",
        "syscall": OPENS,
        "pattern": f"^{POISON}$",
        "kill": True,
    },
    "calls-name": {"type": "Simple", "syscall": ["mkdir", "mkdirat"]},
    "calls-asked": {
        "type": "Executable",
        "syscall": RENAMES,
        "pattern": "grep -q forbidden",
    },
}


BOUND = {
    "name": "bound",
    "policies": ["calls-file"],
    "writable": ["@work", "@temporary"],
    "hidden": ["@tokens"],
}

PLACED = {
    "name": "placed",
    "policies": [],
    "writable": ["@work", "@temporary"],
    "hidden": ["@tokens"],
    "namespaces": "allow",
}


@pytest.fixture(scope="module")
def calls(machine: Machine) -> Machine:
    """A machine with a role that holds files, a name and a checker, for everybody."""
    start(machine)
    common = {"context": "Syscall", "action": "Block", "reason": "for the tests"}
    policies = [{"id": name, **common, **each} for name, each in POLICIES.items()]
    write(machine, "policies/calls.json", policies)
    write(machine, "roles/calls.json", {"name": "calls", "policies": [*POLICIES]})
    write(machine, "roles/bound.json", BOUND)
    write(machine, "roles/placed.json", PLACED)
    settings = json.loads(machine.read("/etc/redlane/settings.json"))
    takes = {"user_roles": ["calls", "bound", "placed"]}
    write(machine, "settings.json", {**settings, "system": takes})
    for path in (SECRET, POISON, FREE):
        machine.write(path, f"{AS_IT_IS}\n")
    machine.run(f"ln -s {SECRET} /srv/link")
    add_user(machine, "ada")
    machine.run("redlane reload")
    return machine


@pytest.fixture(params=["root", "ada"])
def user(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(machine: Machine, name: str, content: object) -> None:
    machine.write(f"/etc/redlane/{name}", json.dumps(content))


def held(machine: Machine, *words: str, user: str) -> Done:
    """Run a command in a session whose system calls are judged."""
    command = ("redlane", "run", "--role", "calls", "--", *words)
    return machine.run(command, user=user, check=False)


def events(machine: Machine, policy: str) -> list[dict[str, Any]]:
    """What was told of a policy."""
    found = ask(machine, "/api/events?limit=1000").body["events"]
    return [each for each in found if each["policy"] == policy]


@pytest.mark.parametrize("path", [SECRET, "/srv/link", "/srv/./secret/../secret/key"])
def test_file_is_refused_by_any_name(calls: Machine, user: str, path: str) -> None:
    done = held(calls, "cat", path, user=user)
    assert (done.returncode, done.stdout) == (REFUSED, "")
    assert done.stderr == f"cat: {path}: Operation not permitted\n"


def test_refusal_is_an_event(calls: Machine, user: str) -> None:
    before = len(events(calls, "calls-file"))
    held(calls, "cat", SECRET, user=user)
    told = events(calls, "calls-file")
    assert len(told) == before + 1
    assert {(each["verdict"], each["context"]) for each in told} == {
        ("BLOCK", "Syscall")
    }


def test_other_file_is_opened(calls: Machine, user: str) -> None:
    done = held(calls, "cat", FREE, user=user)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{AS_IT_IS}\n", "")


def refusals(errors: str) -> list[str]:
    """How each call was refused: to write, or to read."""
    return re.findall("Operation not permitted|Permission denied", errors)


def test_files_are_held_by_place(calls: Machine, user: str) -> None:
    script = "echo new > inside; echo new > ~/outside; cat ~/.netrc; cat inside"
    done = calls.run(
        "cd && mkdir -p work && echo secret > .netrc && cd work && "
        f"redlane run --role bound -- dash -c '{script}'",
        user=user,
    )
    assert done.stdout == "new\n"
    assert refusals(done.stderr) == ["Permission denied", "Operation not permitted"]
    assert calls.run("ls ~/outside", user=user, check=False).returncode
    assert events(calls, "builtin:writable")
    assert events(calls, "builtin:hidden")


def test_files_are_held_to_places_without_the_plugin(calls: Machine, user: str) -> None:
    """By `redlane-run` alone, in namespaces of the session's own as well."""
    script = "echo new > inside; echo new > ~/elsewhere; cat ~/.netrc; cat inside"
    done = calls.run(
        "cd && mkdir -p placed && echo secret > .netrc && cd placed && "
        "redlane run --role placed -- "
        f"dash -c '{script}; unshare -Ur dash -c \"{script}\"'",
        user=user,
    )
    assert done.stdout == "new\n" * 2
    expected = ["Permission denied", "Operation not permitted"]
    assert refusals(done.stderr) == 2 * expected
    assert calls.run("ls ~/elsewhere", user=user, check=False).returncode


def test_shell_under_a_filter_of_its_own_is_judged(calls: Machine, user: str) -> None:
    """Its script is read by the machine's daemon, for a role that hides files."""
    calls.write("/srv/own_filter.py", OWN_FILTER.read_text())
    run = f"redlane run --role placed -- python3 /srv/own_filter.py {LIKE_CODEX} exec"
    files = "echo 'echo $1 inside' > said.sh; echo secret > .netrc"

    done = calls.run(
        f"cd; {files}; {run} dash said.sh well; {run} dash -c 'cat .netrc'",
        user=user,
        check=False,
    )

    assert done.stdout == "well inside\n", done.stderr
    assert "Operation not permitted" in done.stderr


def test_process_is_killed_where_the_policy_says_so(calls: Machine, user: str) -> None:
    script = f"cat {POISON}; echo $?; cat {FREE}"
    done = held(calls, "dash", "-c", script, user=user)
    assert done.stdout == f"{KILLED}\n{AS_IT_IS}\n"
    assert events(calls, "calls-kill")


def test_call_is_refused_by_its_name(calls: Machine, user: str) -> None:
    done = held(calls, "mkdir", "new", user=user)
    assert "Operation not permitted" in done.stderr
    assert calls.run("ls -d new", user=user, check=False).returncode
    assert events(calls, "calls-name")


def test_checker_of_the_daemon_is_asked(calls: Machine, user: str) -> None:
    script = "cd ~ && touch one && mv one two && mv two forbidden"
    done = held(calls, "dash", "-c", script, user=user)
    assert done.returncode == REFUSED
    assert "Operation not permitted" in done.stderr
    calls.run("rm two", user=user)


TOLD = f"redlane: refused 1 call of this command: openat {SECRET} "
"""Where nothing around the unit keeps its supervisor from the standard error."""


def confinement() -> list[str]:
    """What the manual's unit of an agent says, but for whose it is and what it runs."""
    page = (ROOT / "docs" / "systemd.md").read_text(encoding="utf-8")
    found = re.search(
        r"^ExecStart=/usr/bin/redlane run .*\n((?:.+\n)+?)```", page, re.MULTILINE
    )
    assert found
    return [each for each in found[1].splitlines() if not each.startswith("#")]


def as_unit(machine: Machine, user: str, settings: list[str]) -> Done:
    """Open two files in a session that systemd has started."""
    command = f"redlane run --role calls -- sh -c 'cat {FREE} {SECRET}'"
    given = [word for each in settings for word in ("--property", each)]
    started = ("systemd-run", "--quiet", "--wait", "--pipe", f"--uid={user}", *given)
    return machine.run((*started, "sh", "-c", command), check=False)


@pytest.mark.parametrize("settings", [[], confinement()], ids=["plain", "confined"])
def test_unit_of_the_machine_is_held_alike(
    calls: Machine, user: str, settings: list[str]
) -> None:
    done = as_unit(calls, user, settings)
    assert done.stdout == f"{AS_IT_IS}\n"
    refusal, *told = done.stderr.splitlines()
    assert refusal == f"cat: {SECRET}: Operation not permitted"
    assert all(each.startswith(TOLD) for each in told)


def test_unit_that_may_load_no_filter_runs_nothing(calls: Machine, user: str) -> None:
    refused = ["SystemCallFilter=~seccomp", "SystemCallErrorNumber=EPERM"]
    done = as_unit(calls, user, refused)
    assert (done.returncode, done.stdout) == (126, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("redlane: the session's system calls cannot be supervised")


@pytest.fixture
def session(calls: Machine, user: str) -> Iterator[str]:
    """A session with something running in it."""
    label = f"calls-{secrets.token_hex(4)}"
    words = f"redlane run --role calls --label {label} -- sleep infinity"
    calls.run(f"systemd-run --quiet --collect --uid={user} {words}")
    calls.until(f"redlane session list | grep -q '{label}.*exact'")
    listed = ask(calls, "/api/sessions").body["sessions"]
    (mine,) = (str(each["id"]) for each in listed if each["label"] == label)
    yield mine
    calls.run(("redlane", "session", "kill", "--session", mine), check=False)


def test_session_tells_how_its_calls_are_held(calls: Machine, session: str) -> None:
    shown = calls.run(("redlane", "session", "show", "--session", session)).stdout
    assert "openat: exact" in shown
    assert "mkdirat: exact" in shown


def test_session_is_killed_as_any_other(calls: Machine, session: str) -> None:
    calls.run(("redlane", "session", "kill", "--session", session))
    calls.until("! pgrep -x sleep")


def test_context_is_among_the_plugins(calls: Machine) -> None:
    assert "context Syscall" in calls.run("redlane plugins list").stdout
    checked = calls.run(
        "redlane config check", env={"REDLANE_HOME": "/etc/redlane"}, check=False
    )
    assert "nothing enforces" not in f"{checked.stdout}{checked.stderr}"


def test_plain_calls_are_answered_without_python(calls: Machine) -> None:
    """The package holds the extension, and it loads into this Debian's Python."""
    code = "from redlane_context_syscall.hot import is_built; print(is_built())"
    python = "/usr/lib/redlane/bin/python3"
    assert calls.run((python, "-I", "-c", code)).stdout == "True\n"


def test_service_is_given_nothing_for_it(calls: Machine) -> None:
    """Who starts a session supervises it: the daemon answers questions, as before."""
    found = state(calls, "redlane.service", "DropInPaths").split()
    assert {Path(each).name for each in found} == {"redlane-proxy.conf"}


@pytest.fixture(scope="module")
def removed(calls: Machine) -> Machine:
    """The machine without the package, from here on; a session was running then."""
    begin_session(calls)
    apt(calls, "remove", PLUGIN)
    return calls


def begin_session(machine: Machine) -> None:
    """An agent that keeps trying."""
    script = f"while :; do cat {SECRET} {FREE}; echo tried; done >>~/log 2>&1"
    words = ("redlane", "run", "--role", "calls", "--", "dash", "-c", script)
    started = ("systemd-run", "--quiet", "--uid=ada", "--setenv=HOME=/home/ada")
    machine.run((*started, *words))
    machine.until(f"grep -qx '{AS_IT_IS}' /home/ada/log")


def test_role_is_refused_once_the_package_is_removed(
    removed: Machine, user: str
) -> None:
    assert not removed.run("find / -xdev -name '*context_syscall*'").stdout
    done = held(removed, "cat", FREE, user=user)
    assert done.returncode not in {0, 124}
    assert not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("redlane: ")
    assert "redlane-context-syscall" in line


def test_role_that_names_no_calls_is_as_ever(removed: Machine) -> None:
    done = removed.run("redlane run -- cat /srv/free", user="ada")
    assert (done.stdout, done.stderr) == (f"{AS_IT_IS}\n", "")


def test_session_is_held_when_the_package_is_removed(removed: Machine) -> None:
    """It has loaded what holds it, and is told that nothing answers for it any more."""
    start(removed)
    before = len(removed.read("/home/ada/log").splitlines())
    removed.until(f"[ $(wc -l < /home/ada/log) -gt {before + 10} ]")
    read = removed.read("/home/ada/log").splitlines()
    lines = [each for each in read if not each.startswith(TOLD)]
    refusal = f"cat: {SECRET}: Operation not permitted"
    assert {*lines} <= {AS_IT_IS, "tried", refusal}
    assert lines.count("tried") in range(
        lines.count(refusal) - 1, lines.count(refusal) + 1
    )
