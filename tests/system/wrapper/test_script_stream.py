"""A shell kept open by a program that writes commands and waits for answers."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from spec.redlane_home import REDLANE_SH, Home


@contextmanager
def _open_shell(daemon: Home, *words: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [REDLANE_SH, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=daemon.environment(),
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _say(process: "subprocess.Popen[str]", text: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(text)
    process.stdin.flush()
    return process.stdout.readline()


def test_it_answers_and_keeps_its_state(daemon: Home) -> None:
    with _open_shell(daemon) as process:
        assert _say(process, "x=1; cd /usr; echo $x\n") == "1\n"
        assert _say(process, 'echo "$x $PWD $0"\n') == "1 /usr bash\n"
        out, err = process.communicate("exit 7\n", timeout=20)

    assert (out, err, process.returncode) == ("", "", 7)


def test_half_a_command_waits_for_the_rest(daemon: Home) -> None:
    with _open_shell(daemon) as process:
        assert _say(process, "echo one\n") == "one\n"
        assert process.stdin is not None
        for piece in ("if true\n", "then cat <<E\n", "two\n", "E\n"):
            process.stdin.write(piece)
            process.stdin.flush()
        assert _say(process, "fi\n") == "two\n"


def test_what_a_command_reads_is_what_comes_next(daemon: Home) -> None:
    with _open_shell(daemon) as process:
        assert _say(process, "echo ready; read line\n") == "ready\n"
        assert _say(process, "some words\necho got $line\n") == "got some words\n"


def test_a_refusal_ends_it(daemon: Home) -> None:
    with _open_shell(daemon) as process:
        assert _say(process, "echo one\n") == "one\n"
        out, err = process.communicate("echo two; rm -rf x\n", timeout=20)

    assert (out, process.returncode) == ("", 126)
    assert err.startswith("redlane: ")
    assert len(err.splitlines()) == 1


def test_a_rewritten_command_is_run(daemon: Home) -> None:
    with _open_shell(daemon) as process:
        assert _say(process, "echo one\n") == "one\n"
        assert _say(process, "echo beer\n") == "tea\n"


@pytest.mark.parametrize(
    ("end", "status"), [("exit 3\n", 3), ("false", 1), ("", 0), ("kill -9 $$\n", -9)]
)
def test_its_status_is_the_shells(daemon: Home, end: str, status: int) -> None:
    with _open_shell(daemon, "-s", "a") as process:
        assert _say(process, "echo $1\n") == "a\n"
        process.communicate(end, timeout=20)

    assert process.returncode == status


def test_a_dead_daemon_ends_it(daemon: Home) -> None:
    with _open_shell(daemon) as process:
        assert _say(process, "echo one\n") == "one\n"
        daemon.stop()
        out, err = process.communicate("echo two\n", timeout=20)

    assert (out, process.returncode) == ("", 126)
    assert err.startswith("redlane: no daemon")


def test_what_was_set_before_is_known(daemon: Home) -> None:
    (daemon.user / "canary").touch()
    with _open_shell(daemon) as process:
        assert _say(process, f"x='rm -r'; cd {daemon.user}; echo set\n") == "set\n"
        _, err = process.communicate("${x}f canary\n", timeout=20)
        assert process.returncode == 126
    assert "blocked" in err
    assert (daemon.user / "canary").exists()
