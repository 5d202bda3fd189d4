"""The wrapper reads its arguments as bash does, and none of them runs unjudged."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spec.bash_twin import run_bash
from spec.cases import simple
from spec.redlane_home import REDLANE_SH, Home, Ran
from tiers import examples

FORBIDDEN = "touch CANARY; : forbidden"
OPTIONS = (
    "-c", "-ec", "-ce", "-co", "-oc", "-cO", "-e", "-x", "+e", "-o", "+o", "-O", "+O",
    "pipefail", "extglob", "-s", "-cs", "-", "--", "-i", "-l", "-lc", "-ic", "-r", "-p",
    "-n", "-v", "+c", "-u", "-a", "-f", "--norc", "--noprofile", "--posix", "--login",
    "--rcfile", "--init-file", "--verbose", "--restricted", "name", "",
)  # fmt: skip
COMMAND_OPTIONS = ("-c", "-ec", "-ce", "-co")
OTHER_OPTIONS = ("-e", "+e", "-u", "-o", "-s", "--", "--norc", "--posix")
WORDS = ("pipefail", "name", "plain")
COMMANDS = ("echo hello $# $1", "exit 3")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("arguments"))
    home.policies({"id": "forbid", **simple("Block", "forbidden")})
    home.role("agent", "forbid")
    # The names of scripts and of the canary hold no forbidden word.
    (home.user / "script").write_text("touch CANARY; : forbidden\n")
    (home.user / "plain").write_text('echo "plain $0 $# $*"\n')
    try:
        home.start("--role", "agent")
        yield home
    finally:
        home.stop()


def _wrapper(home: Home, args: list[str], stdin: str) -> Ran:
    done = subprocess.run(
        [REDLANE_SH, *args],
        input=stdin,
        capture_output=True,
        env=home.environment(),
        cwd=home.user,
        timeout=30,
        check=False,
        text=True,
        start_new_session=True,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@settings(
    max_examples=examples(150),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    args=st.lists(
        st.sampled_from([*OPTIONS, FORBIDDEN, "script", "echo hello"]), max_size=6
    ),
    stdin=st.sampled_from(["", FORBIDDEN + "\n", "echo hello\n"]),
)
def test_no_arguments_run_what_is_forbidden(
    running: Home, args: list[str], stdin: str
) -> None:
    canary = running.user / "CANARY"

    _wrapper(running, args, stdin)

    ran = canary.exists()
    canary.unlink(missing_ok=True)
    assert not ran


@settings(
    max_examples=examples(100),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    args=st.lists(
        st.sampled_from([*COMMAND_OPTIONS, *OTHER_OPTIONS, *WORDS, *COMMANDS]),
        max_size=5,
    ),
    stdin=st.sampled_from(["", "echo from stdin $#\n"]),
)
def test_other_arguments_are_as_with_bash_or_refused(
    running: Home, args: list[str], stdin: str
) -> None:
    # A command without -c is a command too for the wrapper, where bash sees a script.
    words = set(args)
    assume(words & {*COMMAND_OPTIONS} or not words & {*COMMANDS})

    ran = _wrapper(running, args, stdin)

    if ran.code == 126 and ran.err.startswith("redlane: "):
        assert ran.out == ""
        return
    expected = run_bash(running, *args, stdin=stdin)
    # What bash says when it starts nothing depends on options that were not yet read.
    if ran.code in (2, 127) and ran.err.startswith("bash: "):
        assert ran.out == ""
        assert expected.code or args[-1].endswith("o")
        return
    assert (ran.code, ran.out) == (expected.code, expected.out)


FILES = {
    "source": "source ./script",
    "dot": ". ./script",
    "dot-on-path": "PATH=$PWD:$PATH; . script",
    "bash": "bash script",
    "bash-options": "bash -e script",
    "sh-with-arguments": "sh ./script a b",
    "env-bash": "env bash script",
    "exec-bash": "exec bash script",
    "redirected": "bash < script",
    "redirected-s": "bash -s a < ./script",
    "rcfile": "bash --rcfile script -ic true",
    "in-a-list": "echo hi; . ./script",
    "in-bash-c": "bash -c '. ./script'",
    "quoted": "bash 'scr'ipt",
    "in-another-directory": "cd sub && . ../script",
}


@pytest.mark.parametrize("command", FILES.values(), ids=FILES.keys())
def test_what_a_script_holds_is_judged(running: Home, command: str) -> None:
    canary = running.user / "CANARY"
    sub = running.user / "sub"
    sub.mkdir(exist_ok=True)

    ran = running.shell("-c", command)

    assert ran.code == 126
    for place in (canary, sub / "CANARY"):
        assert not place.exists()


def test_a_script_that_is_read_is_not_run(running: Home) -> None:
    ran = running.shell("-c", "wc -l script")

    assert ran.code == 0


@pytest.mark.parametrize(
    "variable", ["LD_PRELOAD", "BASH_ENV", "ENV", "PROMPT_COMMAND"]
)
def test_what_runs_before_the_command_is_judged_or_taken_out(
    running: Home, variable: str
) -> None:
    value = str(running.user / "forbidden-thing.so")

    ran = running.shell("-c", f"printenv {variable}", env={variable: value})

    assert value not in ran.out


def test_bash_itself_would_have_run_the_script(running: Home, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text((running.user / "script").read_text())

    run_bash(running, "-c", ". ./script", cwd=tmp_path)

    assert (tmp_path / "CANARY").exists()
