"""A shell that any program of a session starts, by whatever path, is the guarded one.

Each way is tried twice, with a command that a policy blocks and with its benign twin,
and in both kinds of sessions: one that has a supervisor of system calls, and one that
has none.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from calls_home import needs_filters
from spec.redlane_home import REDLANE, Home, Ran, wait_for
from supervised import compiled

from redlane.contexts.shell.running.programs import program

pytestmark = needs_filters

ROLES = ("plain", "calls")
FINE, FORBIDDEN = "echo said-$((1+1))", "echo said-$((1+1)) forbidden-word"
REASON = "redlane: blocked: policy 'no-word' blocks this"
HERE = str(Path(__file__).with_name("shell_starts.py"))
PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    word = {"type": "Simple", "context": "Shell", "pattern": "forbidden-word"}
    made.policies(
        {**word, "id": "no-word", "action": "Block"},
        {
            **word,
            "id": "tea",
            "action": "Modify",
            "pattern": "beer",
            "transform": {"type": "Regex", "pattern": "beer", "replacement": "tea"},
        },
        {**word, "id": "no-file", "action": "Block", "context": "Syscall"}
        | {"syscall": ["unlink"], "pattern": "/nothing/here"},
    )
    made.role("plain", "no-word", "tea")
    made.role("calls", "no-word", "tea", "no-file")
    assert made.start("--role", "plain").code == 0
    yield made
    made.stop()


def in_session(home: Home, role: str, *command: str, **more: str) -> Ran:
    words = ("run", "--role", role, "--", *command)
    return home.run(*words, env={"PATH": os.environ["PATH"], **more})


def started(way: str) -> Callable[[str], Sequence[str]]:
    """A way of tests/system/shell_starts.py."""
    return lambda text: (sys.executable, "-I", HERE, way, text)


WAYS: dict[str, Callable[[str], Sequence[str]]] = {
    "the agent itself": lambda text: ("/bin/sh", "-c", text),
    "bash, with options": lambda text: ("/bin/bash", "-ec", text),
    "env": lambda text: ("env", "-i", "/bin/sh", "-c", text),
    "awk": lambda text: ("awk", f'BEGIN {{ exit system("{text}") / 256 }}'),
    "find": lambda text: (
        *("find", "/", "-maxdepth", "0", "-exec"),
        *("/bin/sh", "-c", text, ";"),
    ),
    "setsid": lambda text: ("setsid", "-w", "/bin/sh", "-c", text),
    "guarded shell": lambda text: ("bash", "-c", '/bin/sh -c "$0"', text),
    "guarded shell, exec": lambda text: ("bash", "-c", 'exec /bin/sh -c "$0"', text),
    "BusyBox": lambda text: ("busybox", "sh", "-c", text),
    **{
        way: started(way)
        for way in (
            *("system", "shell=True", "posix_spawn", "exec", "exec of a descriptor"),
            *("exec in a thread", "another name", "no name", "symlink", "copy"),
            *("copy with more bytes", "copy in memory", "input", "script", "orphan"),
            *("interpreter of a script", "interpreter with an option", "dash as bash"),
            "writer that waits",
            "path as option",
            "sibling",
        )
    },
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", WAYS)
def test_shell_is_the_guarded_one(home: Home, role: str, way: str) -> None:
    if way == "BusyBox" and shutil.which("busybox") is None:
        pytest.skip("NOT TESTED: busybox is not installed")

    refused = in_session(home, role, *WAYS[way](FORBIDDEN))
    fine = in_session(home, role, *WAYS[way](FINE))

    assert REASON in refused.err.splitlines(), refused
    assert "said-2" not in refused.out, refused
    assert (fine.out, fine.err) == ("said-2\n", ""), fine


@pytest.mark.parametrize("role", ROLES)
def test_status_of_what_is_refused_is_126(home: Home, role: str) -> None:
    assert in_session(home, role, "/bin/sh", "-c", FORBIDDEN).code == 126


@pytest.mark.parametrize("role", ROLES)
def test_rewritten_command_is_what_runs(home: Home, role: str) -> None:
    assert in_session(home, role, "/bin/bash", "-c", "echo beer").out == "tea\n"


@pytest.mark.parametrize("role", ROLES)
def test_shell_keeps_its_arguments_streams_and_environment(
    home: Home, role: str
) -> None:
    text = 'read line; echo "$0 $1 $2 $line $NAME"; echo told >&2; exit 7'
    words = ("run", "--role", role, "--", "/bin/bash", "-c", text, "called", "a", "b c")

    done = home.run(*words, env={"NAME": "value"}, stdin="typed\n")

    assert (done.code, done.out) == (7, "called a b c typed value\n")
    assert done.err == "told\n"


@pytest.mark.parametrize("role", ROLES)
def test_installed_script_is_a_program_like_any_other(home: Home, role: str) -> None:
    """Its lines are not judged; its copy, which anybody may have changed, is."""
    events = len(home.run("events", "--json").out.splitlines())

    done = in_session(home, role, sys.executable, "-I", HERE, "exec file", "zgrep")

    assert done.out.startswith("zgrep (gzip)"), done
    assert len(home.run("events", "--json").out.splitlines()) == events


@pytest.mark.parametrize("role", ROLES)
def test_installed_script_is_judged_by_its_words(home: Home, role: str) -> None:
    code = "import os, sys; os.execv('/usr/bin/ldd', ['ldd', *sys.argv[1:]])"
    run = (sys.executable, "-I", "-c", code)

    refused = in_session(home, role, *run, "--", "forbidden-word")
    fine = in_session(home, role, *run, "--version")

    assert REASON in refused.err, refused
    assert fine.out.startswith("ldd"), fine


@pytest.mark.parametrize("role", ROLES)
def test_installed_script_takes_no_code_from_the_environment(
    home: Home, role: str, tmp_path: Path
) -> None:
    planted = tmp_path / "planted"
    planted.write_text(FORBIDDEN)
    ran = (sys.executable, "-I", HERE, "exec file", "ldd")

    done = in_session(home, role, *ran, BASH_ENV=str(planted), ENV=str(planted))

    assert "said-2" not in done.out, done


@pytest.mark.parametrize("role", ROLES)
def test_shell_on_a_terminal_judges_each_command(home: Home, role: str) -> None:
    refused = in_session(home, role, *started("terminal")(FORBIDDEN))
    fine = in_session(home, role, *started("terminal")(FINE))

    assert (refused.out, fine.out) == ("blocked\n", "said+2\n"), (refused, fine)


@pytest.mark.parametrize("role", ROLES)
def test_front_of_a_shell_takes_no_code_from_the_environment(
    home: Home, role: str
) -> None:
    """What reads the commands of a stream has its shells let go."""
    shell = str(Path(REDLANE).with_name("redlane-sh"))

    done = in_session(
        home, role, *started("planted module")(FORBIDDEN), GUARDED_SHELL=shell
    )

    assert "said-2" not in done.out, done


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("way", "said"),
    [("any name", "a bash\n"), ("restricted", "restricted\n"), ("login", "login\n")],
)
def test_shell_stays_the_kind_that_it_was(
    home: Home, role: str, way: str, said: str
) -> None:
    done = in_session(home, role, *started(way)(""))

    assert (done.out, done.err) == (said, ""), done


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("limit", [6, 5000])
def test_open_files_of_a_shell_are_left_alone(
    home: Home, role: str, limit: int
) -> None:
    """Whatever their numbers are, and however few there may be."""
    done = in_session(home, role, *started("open files")(str(limit)))

    assert (done.code, done.out) == (0, "kept\n"), done


@pytest.mark.parametrize("role", ROLES)
def test_start_that_fails_leaves_its_caller_alone(home: Home, role: str) -> None:
    """Nobody traces it a moment later, and its next start is seen again."""
    done = in_session(home, role, *started("failing starts")(FORBIDDEN))

    assert done.out == "0\n", done
    assert REASON in done.err, done


def test_without_a_boundary_only_what_asks_is_judged(home: Home) -> None:
    run = ("run", "--boundary", "none", "--")

    by_path = home.run(*run, "/bin/sh", "-c", FORBIDDEN)
    by_name = home.run(*run, "sh", "-c", FORBIDDEN)

    assert by_path.out == "said-2 forbidden-word\n"
    assert by_path.err.startswith("redlane: no boundary: ")
    assert by_name.code == 126


def test_role_with_system_calls_needs_its_boundary(home: Home) -> None:
    before = home.control.get("/api/sessions").json["sessions"]
    run = ("run", "--role", "calls", "--boundary", "none", "--", "true")

    assert "`redlane run`, without --boundary none" in home.run(*run).refusal
    assert home.control.get("/api/sessions").json["sessions"] == before


@pytest.mark.parametrize("role", ROLES)
def test_shell_under_a_filter_of_its_own_is_asked_for(home: Home, role: str) -> None:
    """By itself it would hear from whom the program wants."""
    done = in_session(home, role, *started("own filter")(FORBIDDEN))

    if done.out == "NOT TESTED\n":
        pytest.skip("NOT TESTED: the filter is one for x86_64")
    assert "said-2" not in done.out, done
    assert REASON in done.err, done


TRACED = "may not start a program, which could not be looked at: it is traced"


@pytest.mark.parametrize("role", ROLES)
def test_program_that_is_traced_starts_nothing(home: Home, role: str) -> None:
    """Its tracer could make anything of it."""
    done = in_session(home, role, *started("traced")(FORBIDDEN))

    assert "said-2" not in done.out, done
    assert role == "calls" or TRACED in done.err, done


@contextmanager
def agent(home: Home, role: str, *command: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [REDLANE, "run", "--role", role, "--", *command],
        env={**home.env, "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("role", ROLES)
def test_killed_supervisor_takes_what_is_being_started_along(
    home: Home, role: str
) -> None:
    """Whatever it had stopped just then runs no further, and nothing stays stopped."""
    with agent(home, role, *started("endless starts")("")) as process:
        assert process.stdout is not None
        starter = int(process.stdout.readline())
        parent = Path(f"/proc/{starter}/stat").read_text().rpartition(")")[2].split()[1]
        os.kill(int(parent), signal.SIGKILL)
        process.wait(20)

    wait_for(lambda: not Path(f"/proc/{starter}").exists())


@pytest.mark.parametrize("role", ROLES)
def test_session_is_frozen_in_the_middle_of_its_starts(home: Home, role: str) -> None:
    """All of it stops, whatever a start has come to, and all of it goes on."""
    with agent(home, role, *started("endless starts")("")) as process:
        assert process.stdout is not None
        process.stdout.readline()
        sessions = home.control.get("/api/sessions").json["sessions"]
        session = next(each for each in sessions if each["root_pid"] == process.pid)
        for _ in range(15):
            for action in ("freeze", "unfreeze"):
                path = f"/api/sessions/{session['id']}/{action}"
                assert home.control.post(path, {}).status == 200

    log = (home.dir / "logs" / "daemon.log").read_text()
    assert "not all processes" not in log, log


@pytest.mark.parametrize("role", ROLES)
def test_path_that_changes_meanwhile_gets_nothing_past(
    home: Home, role: str, tmp_path: Path
) -> None:
    flipping = compiled(PROGRAMS / "flipping.c", tmp_path / "flipping")

    done = in_session(home, role, str(flipping), "60", FORBIDDEN)

    assert "said-2" not in done.out, done
    assert REASON in done.err, done


@pytest.mark.parametrize("role", ROLES)
def test_threads_that_start_programs_at_once_hinder_nobody(
    home: Home, role: str, tmp_path: Path
) -> None:
    """The first ends the others, of which some have been stopped just then."""
    starting = compiled(PROGRAMS / "starting_at_once.c", tmp_path / "starting")

    done = in_session(home, role, str(starting), "echo said")

    assert (done.code, done.out, done.err) == (0, "said\n" * 5, ""), done


@pytest.mark.parametrize("role", ROLES)
def test_program_that_says_it_is_the_guarded_shell_is_not(
    home: Home, role: str, tmp_path: Path
) -> None:
    posing = compiled(PROGRAMS / "posing.c", tmp_path / "posing", "-static", "-no-pie")
    guarded = program("redlane-sh")

    done = in_session(home, role, str(posing), str(guarded), FORBIDDEN)

    assert done.out == "refused\n", done
    assert REASON in done.err, done


@pytest.mark.parametrize("role", ROLES)
def test_session_reaches_no_process_outside(home: Home, role: str) -> None:
    """Neither by signals nor by tracing (Landlock of Linux 6.12 and newer)."""
    with subprocess.Popen(["sleep", "600"]) as outside:
        try:
            done = in_session(home, role, *started("reach")(str(outside.pid)))
        finally:
            alive = outside.poll() is None
            outside.kill()

    assert alive
    assert done.out.split() == ["PermissionError"] * 4, done
