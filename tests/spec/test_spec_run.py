"""`redlane run`: an agent in a session of its own (interface contract)."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec.cases import simple
from spec.redlane_home import REDLANE, REDLANE_SH, Home, Ran, wait_for
from system.filtered_runner import state_of


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("run"))
    home.policies({"id": "forbid", **simple("Block", "forbidden", context="Shell")})
    home.role("agent", "forbid")
    home.role("open")
    try:
        home.start("--role", "agent")
        yield home
    finally:
        home.stop()


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


def _agent(home: Home, code: str, *args: str) -> Ran:
    """Run Python code as the agent."""
    return home.run("run", "--", sys.executable, "-c", code, *args)


def _shell(home: Home, script: str) -> Ran:
    """Run a program of the system that is no shell, and have it start the wrapper."""
    code = (
        "import os, subprocess, sys;"
        "sys.exit(subprocess.run([os.environ['SHELL'], '-c', sys.argv[1]]).returncode)"
    )
    return _agent(home, code, script)


@pytest.mark.parametrize("status", [0, 1, 2, 7, 126, 255])
def test_it_exits_with_the_status_of_the_agent(running: Home, status: int) -> None:
    assert _agent(running, f"raise SystemExit({status})").code == status


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP],
    ids=lambda each: each.name,
)
def test_an_agent_that_dies_by_a_signal(running: Home, number: int) -> None:
    ran = _agent(running, f"import os; os.kill(os.getpid(), {int(number)})")

    assert ran.code in (128 + number, -number)


def test_streams_are_the_agents(running: Home) -> None:
    code = (
        "import sys; data = sys.stdin.buffer.read();"
        "sys.stdout.buffer.write(data[::-1]); sys.stderr.write('err')"
    )

    ran = running.run("run", "--", sys.executable, "-c", code, stdin="abc")

    assert ran == Ran(0, "cba", "err")


def test_arguments_are_passed_on_exactly(running: Home) -> None:
    args = ("a b", "", "--role", "-x", "$HOME", "naïve\n")

    ran = _agent(running, "import sys; print(sys.argv[1:])", *args)

    assert ran.out == f"{list(args)}\n"


def test_the_working_directory_is_kept(running: Home, tmp_path: Path) -> None:
    ran = running.run("run", "--", "/bin/pwd", cwd=tmp_path)

    assert ran.out == f"{tmp_path}\n"


def test_a_missing_command_is_one_line(running: Home) -> None:
    ran = running.run("run", "--", "/nonexistent/agent")

    assert ran.code in (126, 127)
    assert "/nonexistent/agent" in ran.refusal


def test_no_command_is_wrong_usage(running: Home) -> None:
    ran = running.run("run")

    assert ran.code == 2
    assert "Traceback" not in ran.said


def test_the_agent_finds_its_session_and_socket(running: Home) -> None:
    code = "import os; e = os.environ; print(e['REDLANE_SESSION'], e['REDLANE_SOCKET'])"

    session, socket = _agent(running, code).out.split()

    assert session
    assert Path(socket) == running.control.socket


def test_each_run_is_a_session_of_its_own(running: Home) -> None:
    code = "import os; print(os.environ['REDLANE_SESSION'])"

    sessions = {_agent(running, code).out for _ in range(2)}

    assert len(sessions) == 2


def test_the_session_is_listed_while_it_runs(running: Home) -> None:
    release = running.user / "release"
    code = (
        "import os, sys, time\n"
        "print(os.environ['REDLANE_SESSION'], flush=True)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    )
    agent = running.spawn("run", "--", sys.executable, "-c", code, str(release))
    assert agent.stdout is not None
    session = agent.stdout.readline().strip()

    rows = {each["id"]: each["role"] for each in running.control.rows("/api/sessions")}

    release.touch()
    agent.communicate(timeout=20)
    assert rows[session] == "agent"
    assert len(rows) >= 2


@pytest.mark.parametrize("name", ["sh", "bash"])
def test_shells_on_the_path_are_the_wrapper(running: Home, name: str) -> None:
    code = (
        "import subprocess, sys;"
        "sys.exit(subprocess.run([sys.argv[1], '-c', 'echo forbidden']).returncode)"
    )

    ran = _agent(running, code, name)

    assert (ran.code, ran.out) == (126, "")


def test_the_shell_variable_is_the_wrapper(running: Home) -> None:
    ran = _shell(running, "echo forbidden")

    assert (ran.code, ran.out) == (126, "")
    assert ran.err.startswith("redlane: ")


def test_the_wrapper_runs_what_is_allowed(running: Home) -> None:
    assert _shell(running, "echo hello; exit 3") == Ran(3, "hello\n", "")


def test_redlane_sh_is_in_the_same_session(running: Home) -> None:
    code = (
        "import subprocess, sys;"
        "sys.exit(subprocess.run([sys.argv[1], '-c', 'echo forbidden']).returncode)"
    )
    ran = _agent(running, code, str(REDLANE_SH))

    assert ran.code == 126


def test_run_picks_a_role(running: Home) -> None:
    ran = running.run("run", "--role", "open", "--", "bash", "-c", "echo forbidden")

    assert (ran.code, ran.out) == (0, "forbidden\n")


def test_an_unknown_role_does_not_run_the_agent(running: Home, canary: Path) -> None:
    ran = running.run("run", "--role", "nobody", "--", "touch", str(canary))

    assert "nobody" in ran.refusal
    assert not canary.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_agent(running: Home, number: int) -> None:
    code = (
        "import signal, sys\n"
        "awaited = {int(sys.argv[1])}\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, awaited)\n"
        "print('ready', flush=True)\n"
        "signal.sigwait(awaited)\n"
        "sys.exit(9)"
    )
    agent = running.spawn("run", "--", sys.executable, "-c", code, str(int(number)))
    assert agent.stdout is not None
    assert agent.stdout.readline() == "ready\n"

    agent.send_signal(number)

    agent.communicate(timeout=20)
    assert agent.returncode == 9


def _gone(pid: int) -> bool:
    """True when there is no such process, or only its exit status is left."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


ORPHAN = """
import os, sys, time
if os.fork():
    os.wait()
    print(os.environ["REDLANE_SESSION"], os.getpid(), flush=True)
else:
    os.setsid()
    orphan = os.fork()
    if orphan:
        print(orphan, flush=True)
        os._exit(0)
time.sleep(100)
"""


def test_kill_ends_everything_in_the_session(running: Home) -> None:
    agent = running.spawn("run", "--", sys.executable, "-c", ORPHAN)
    assert agent.stdout is not None
    orphan = int(agent.stdout.readline())
    session, leader = agent.stdout.readline().split()

    assert running.run("session", "kill", "--session", session).code == 0

    agent.communicate(timeout=20)
    assert agent.returncode != 0
    wait_for(lambda: _gone(int(leader)) and _gone(orphan))


def test_freeze_stops_the_commands_of_one_session(running: Home) -> None:
    code = (
        "import os, subprocess, sys\n"
        "print(os.environ['REDLANE_SESSION'], os.getpid(), flush=True)\n"
        "sys.stdin.readline()\n"
        "sys.exit(subprocess.run(['bash', '-c', 'echo hello']).returncode)"
    )
    agent = running.spawn(
        "run", "--", sys.executable, "-c", code, stdin=subprocess.PIPE
    )
    assert agent.stdout is not None
    session, pid = agent.stdout.readline().split()

    running.run("session", "freeze", "--session", session)
    wait_for(lambda: state_of(int(pid)) == "T")
    assert agent.stdin is not None
    agent.stdin.write("go\n")
    agent.stdin.flush()

    verdict = running.control.analyze("echo hello", session=session)
    assert verdict["verdict"] == "BLOCK"
    assert running.shell("-c", "echo hello").code == 0
    assert state_of(int(pid)) == "T"
    running.run("session", "unfreeze", "--session", session)
    out, _ = agent.communicate(timeout=20)
    assert (agent.returncode, out) in {(0, "hello\n"), (126, "")}


# What the agent changes in its environment does not change who judges it.

FORGE = """
import os, subprocess, sys
environ = {} if sys.argv[1] == "cleared" else {
    "PATH": os.environ["PATH"], "HOME": sys.argv[2], "REDLANE_HOME": sys.argv[2],
    "REDLANE_SESSION": sys.argv[3], "REDLANE_SOCKET": sys.argv[2] + "/s",
    "XDG_RUNTIME_DIR": sys.argv[2],
}
shell = sys.argv[4] or os.environ["SHELL"]
done = subprocess.run([shell, "-c", sys.argv[5]], env=environ)
sys.exit(done.returncode)
"""


@pytest.mark.parametrize("program", ["", str(REDLANE_SH)], ids=["shell", "redlane-sh"])
@pytest.mark.parametrize("mode", ["cleared", "forged"])
def test_another_environment_is_no_other_session(
    running: Home, tmp_path: Path, mode: str, program: str
) -> None:
    with running.opened_session("open") as other:
        ran = _agent(
            running, FORGE, mode, str(tmp_path), other["id"], program, "echo forbidden"
        )

    assert (ran.code, ran.out) == (126, "")


@pytest.mark.parametrize("mode", ["cleared", "forged"])
def test_another_environment_still_finds_the_daemon(
    running: Home, tmp_path: Path, mode: str
) -> None:
    ran = _agent(running, FORGE, mode, str(tmp_path), "nope", "", "echo hello")

    assert (ran.code, ran.out) == (0, "hello\n")


FAKE_DAEMON = """
import os, socket, subprocess, sys, threading
answer = b"ALLOW\\n"
server = socket.socket(socket.AF_UNIX)
server.bind(os.path.dirname(sys.argv[1]) + "/shell.sock")
server.listen()
def serve():
    while True:
        connection, _ = server.accept()
        connection.recv(65536)
        connection.sendall(answer)
        connection.close()
threading.Thread(target=serve, daemon=True).start()
environ = {**os.environ, "REDLANE_SOCKET": sys.argv[1]}
done = subprocess.run([sys.argv[2], "-c", "echo forbidden"], env=environ)
sys.exit(done.returncode)
"""


@pytest.mark.parametrize(
    "program", ["bash", str(REDLANE_SH)], ids=["bash", "redlane-sh"]
)
def test_an_agent_cannot_be_its_own_judge(
    running: Home, tmp_path: Path, program: str
) -> None:
    ran = _agent(running, FAKE_DAEMON, str(tmp_path / "s"), program)

    assert (ran.code, ran.out) == (126, "")


def test_a_run_inside_a_run_gains_nothing(running: Home) -> None:
    ran = running.run(
        "run", "--", str(REDLANE), "run", "--role", "open", "--", "bash", "-c",
        "echo forbidden",
    )  # fmt: skip

    assert ran.code != 0
    assert ran.out == ""


def test_no_process_is_left_behind(running: Home) -> None:
    code = "import os; print(os.getppid(), os.getpid())"

    pids = [int(each) for each in _agent(running, code).out.split()]

    wait_for(lambda: all(_gone(pid) for pid in pids))
    assert os.getpid() not in pids
