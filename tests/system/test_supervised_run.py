"""`redlane run` under a role that names system calls, with the sample context.

The sample holds nothing firmly. What is tried is all around it: rules that come and
change, the daemon that goes and comes back, signals, and the end.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from calls_home import make_redlane, needs_filters
from spec.redlane_home import Home, Ran, wait_for

pytestmark = needs_filters

BLOCK = {
    "id": "no-mkdir",
    "type": "Regex",
    "action": "Block",
    "context": "Syscall",
    "syscall": ["mkdir"],
    "pattern": "forbidden",
}
FLAG = {**BLOCK, "id": "flag-mkdir", "action": "Flag", "pattern": "odd"}
KILL = {**BLOCK, "id": "kill-mkdir", "pattern": "deadly", "kill": True}
MORE = {**BLOCK, "id": "no-chmod", "syscall": ["chmod"], "pattern": "."}


@pytest.fixture(scope="module")
def redlane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_redlane(tmp_path_factory.mktemp("v") / "venv")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, redlane: Path) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    made.policies(BLOCK, FLAG, KILL, MORE)
    made.policies(
        {"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm -rf"},
        file="shell.json",
    )
    made.role("calls", "no-mkdir", "flag-mkdir", "kill-mkdir", "no-rm")
    made.role("more", "no-mkdir", "no-chmod")
    made.role("free", "no-rm")
    assert made.run("start", "--role", "calls", program=redlane).code == 0
    yield made
    made.stop()


class Agent:
    """A shell that runs as the agent and does what it is told, a line at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    def tell(self, command: str) -> None:
        self._stdin.write(f"{command}\n")
        self._stdin.flush()

    def ask(self, command: str) -> str:
        """The line that a command prints."""
        self.tell(command)
        return self._stdout.readline().strip()

    def makes(self, name: str) -> bool:
        """Whether it can make a directory."""
        return self.ask(f"/bin/mkdir {name} 2>/dev/null; echo $?") == "0"


@contextmanager
def agent(home: Home, redlane: Path, *options: str) -> Iterator[Agent]:
    words = ("run", *options, "--", "/bin/sh")
    with home.spawn(*words, program=redlane, stdin=subprocess.PIPE) as process:
        try:
            made = Agent(process)
            assert made.ask("echo ready") == "ready"
            yield made
        finally:
            process.kill()


def run(home: Home, redlane: Path, *command: str) -> Ran:
    return home.run("run", "--", *command, program=redlane)


def session_of(home: Home) -> dict[str, Any]:
    """The one session that runs."""
    (found,) = (
        each
        for each in home.control.rows("/api/sessions")
        if not each["default"] and each["state"] != "ended"
    )
    return found


def calls_judged(home: Home) -> list[dict[str, Any]]:
    return home.control.rows("/api/events?context=Syscall")


def test_calls_are_judged_and_told(home: Home, redlane: Path) -> None:
    script = "cd $HOME; for d in forbidden fine odd; do /bin/mkdir $d && echo $d; done"
    ran = run(home, redlane, "/bin/sh", "-c", script)
    assert ran.out.split() == ["fine", "odd"]
    assert "Operation not permitted" in ran.err
    events = calls_judged(home)
    assert [(each["verdict"], each["policy"]) for each in events] == [
        ("BLOCK", "no-mkdir"),
        ("FLAG", "flag-mkdir"),
    ]
    assert '"paths":["forbidden"]' in events[0]["content"]


def test_process_is_killed_where_a_policy_says_so(home: Home, redlane: Path) -> None:
    ran = run(home, redlane, "/bin/sh", "-c", "/bin/mkdir deadly; echo $?")
    assert ran.out.strip() == "137"
    (event,) = calls_judged(home)
    assert "killed" in event["details"]


ENDINGS = {
    "a status": (("/bin/sh", "-c", "exit 7"), 7),
    "a signal": (("/bin/sh", "-c", "kill -TERM $$"), -signal.SIGTERM),
    "a command that is not there": (("/no/such/command",), 127),
}


@pytest.mark.parametrize(("command", "code"), ENDINGS.values(), ids=ENDINGS)
def test_it_ends_as_the_agent_does(
    home: Home, redlane: Path, command: tuple[str, ...], code: int
) -> None:
    assert run(home, redlane, *command).code == code
    states = [
        each["state"]
        for each in home.control.rows("/api/sessions")
        if not each["default"]
    ]
    assert states == ["ended"]


def test_agent_has_no_descriptor_but_its_own(home: Home, redlane: Path) -> None:
    ran = run(home, redlane, "/bin/ls", "/proc/self/fd")
    assert sorted(map(int, ran.out.split())) == [0, 1, 2, 3]


def test_agent_takes_signals_as_usual(home: Home, redlane: Path) -> None:
    command = ("/bin/cat", "/proc/self/status")
    alone = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert _signals(run(home, redlane, *command).out) == _signals(alone)


def _signals(status: str) -> list[str]:
    return [each for each in status.splitlines() if each.startswith(("SigB", "SigI"))]


def test_shell_commands_of_the_session_are_judged_as_ever(
    home: Home, redlane: Path
) -> None:
    ran = run(home, redlane, "bash", "-c", "rm -rf /nothing")
    assert ran.code == 126
    assert "no-rm" in ran.err


def test_what_is_left_behind_ends_with_the_agent(home: Home, redlane: Path) -> None:
    ran = run(home, redlane, "/bin/sh", "-c", "setsid /bin/sleep 1000 & echo $!")
    pid = int(ran.out)
    wait_for(lambda: not Path(f"/proc/{pid}").exists())


def test_coverage_of_a_session_that_runs_is_shown(home: Home, redlane: Path) -> None:
    with agent(home, redlane):
        session = session_of(home)
        assert session["syscalls"]["filtered"] == ["mkdir"]
        assert session["syscalls"]["coverage"] == [
            {
                "syscall": "mkdir",
                "enforcement": "advisory",
                "by": "a sample",
                "reason": "it goes on by itself",
            }
        ]
        text = home.run("session", "show", "--session", session["id"]).out
        assert "mkdir: advisory (a sample; it goes on by itself)" in text


def test_reload_counts_for_sessions_that_run(home: Home, redlane: Path) -> None:
    with agent(home, redlane) as made:
        assert made.makes("one")
        home.policies({**BLOCK, "pattern": "one|two"}, FLAG, KILL, MORE)
        assert home.run("session", "reload", program=redlane).code == 0
        assert wait_for(lambda: not made.makes(f"two{time.monotonic_ns()}"))
        assert made.makes("three")


def test_reload_that_names_more_refuses_everything(home: Home, redlane: Path) -> None:
    with agent(home, redlane) as made:
        home.role("calls", "no-mkdir", "no-chmod")
        ran = home.run("session", "reload", program=redlane)
        assert "chmod" in ran.err
        wait_for(lambda: not made.makes(f"fine{time.monotonic_ns()}"))
        home.role("calls", "no-mkdir")
        home.run("session", "reload", program=redlane)
        wait_for(lambda: made.makes(f"fine{time.monotonic_ns()}"))


def test_role_is_changed_while_a_session_runs(home: Home, redlane: Path) -> None:
    with agent(home, redlane) as made:
        session = session_of(home)["id"]
        ran = home.run("session", "set-role", "more", "--session", session)
        assert ran.code == 1
        assert "chmod" in ran.refusal
        assert not made.makes("forbidden")
        assert home.run("session", "set-role", "free", "--session", session).code == 0
        assert wait_for(lambda: made.makes(f"forbidden{time.monotonic_ns()}"))


def test_frozen_session_goes_on_when_it_is_unfrozen(home: Home, redlane: Path) -> None:
    with agent(home, redlane) as made:
        session = session_of(home)["id"]
        assert home.run("session", "freeze", "--session", session).code == 0
        made.tell("/bin/mkdir fine; echo $?")
        assert home.run("session", "unfreeze", "--session", session).code == 0
        assert made.ask("echo again") in {"0", "1"}
        assert wait_for(lambda: made.makes(f"fine{time.monotonic_ns()}"))


def test_killed_session_is_gone(home: Home, redlane: Path) -> None:
    with agent(home, redlane) as made:
        session = session_of(home)["id"]
        assert home.run("session", "kill", "--session", session).code == 0
        made.process.wait(20)


def test_calls_wait_while_the_daemon_restarts(home: Home, redlane: Path) -> None:
    home.settings(sevsh={"validation_timeout_seconds": 60})
    home.run("session", "reload", program=redlane)
    with agent(home, redlane) as made:
        session = session_of(home)["id"]
        assert home.run("stop", program=redlane).code == 0
        made.tell("/bin/mkdir fine; echo $?")
        assert home.run("start", "--role", "calls", program=redlane).code == 0
        assert made.ask("true") == "0"
        assert not made.makes("forbidden")
        wait_for(
            lambda: home.control.get(f"/api/sessions/{session}").json["syscalls"][
                "coverage"
            ]
        )
        wait_for(lambda: [e["policy"] for e in calls_judged(home)][-1:] == ["no-mkdir"])


def test_without_a_daemon_calls_are_refused_in_time(home: Home, redlane: Path) -> None:
    home.settings(sevsh={"validation_timeout_seconds": 0.2})
    home.run("session", "reload", program=redlane)
    with agent(home, redlane) as made:
        assert made.makes("fine")
        assert home.run("stop", program=redlane).code == 0
        assert not made.makes("other")


def children(pid: int) -> list[int]:
    return [
        int(each)
        for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


def test_nothing_outlives_its_supervisor(home: Home, redlane: Path) -> None:
    with agent(home, redlane) as made:
        (launcher,) = children(made.process.pid)
        shell = int(made.ask("echo $$"))
        os.kill(made.process.pid, signal.SIGKILL)
        wait_for(lambda: not Path(f"/proc/{shell}").exists())
        wait_for(lambda: not Path(f"/proc/{launcher}").exists())


def test_session_ends_with_the_process_that_started_the_agent(
    home: Home, redlane: Path
) -> None:
    with agent(home, redlane) as made:
        (launcher,) = children(made.process.pid)
        shell = int(made.ask("echo $$"))
        os.kill(launcher, signal.SIGKILL)
        made.process.wait(20)
        assert not Path(f"/proc/{shell}").exists()


def test_signal_to_the_supervisor_is_the_agents(home: Home, redlane: Path) -> None:
    with agent(home, redlane) as made:
        assert made.ask("trap 'taken=yes' USR1; echo set") == "set"
        os.kill(made.process.pid, signal.SIGUSR1)
        wait_for(lambda: made.ask("echo .$taken") == ".yes")


def test_supervisor_cannot_be_looked_into(home: Home, redlane: Path) -> None:
    with agent(home, redlane) as made:
        status = Path(f"/proc/{made.process.pid}/status").read_text()
        assert status.splitlines()[0] == "Name:\tredlane-run"
        if os.getuid() != 0:
            with pytest.raises(PermissionError):
                list(Path(f"/proc/{made.process.pid}/fd").iterdir())


def test_without_the_context_run_refuses(
    home: Home, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = make_redlane(tmp_path_factory.mktemp("o") / "venv", context=False)
    home.stop()
    checked = home.run("config", "check", program=other)
    assert checked.code == 0
    assert "redlane-context-syscall" in checked.out
    started = home.run("start", "--role", "calls", program=other)
    assert started.code == 0
    assert "redlane-context-syscall" in started.err
    ran = run(home, other, "/bin/true")
    assert "redlane-context-syscall" in ran.refusal
    assert len(home.control.rows("/api/sessions")) == 1
    assert home.run("run", "--role", "free", "--", "/bin/true", program=other).code == 0


def test_supervisor_without_the_context_refuses(
    home: Home, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The daemon has what the installation of who starts the session lacks."""
    other = make_redlane(tmp_path_factory.mktemp("o") / "venv", context=False)
    ran = run(home, other, "/bin/true")
    assert ran.code == 126
    assert "redlane-context-syscall" in ran.refusal
    (state,) = (
        each["state"]
        for each in home.control.rows("/api/sessions")
        if not each["default"]
    )
    assert state == "ended"
