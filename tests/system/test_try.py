"""`redlane try`: a guarded shell with nothing configured, and nothing left of it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from spec.redlane_home import REDLANE, Home, wait_for

pytest.importorskip("redlane.cli.init")


@pytest.fixture
def empty(tmp_path: Path) -> Home:
    """A home without any policies; temporary files go below it."""
    home = Home(tmp_path)
    home.env["TMPDIR"] = str(tmp_path)
    return home


def _left(home: Home) -> list[Path]:
    return list(Path(home.env["TMPDIR"]).glob("redlane-try-*"))


def test_a_command_runs_and_its_status_is_kept(empty: Home) -> None:
    ran = empty.run("try", "-c", "echo in $PWD; exit 5")

    assert (ran.code, ran.out, ran.err) == (5, f"in {empty.user}\n", "")
    assert not _left(empty)


def test_the_starter_policies_are_in_force(empty: Home) -> None:
    ran = empty.run("try", "-c", "rm -rf /")

    assert ran.code == 126
    assert ran.err.startswith("redlane: ")


def test_the_home_is_the_users_own(empty: Home) -> None:
    assert empty.run("try", "-c", "echo $HOME").out == f"{empty.user}\n"


def test_a_script_on_standard_input(empty: Home) -> None:
    ran = empty.run("try", stdin="echo one\nexit 6\n")

    assert (ran.code, ran.out) == (6, "one\n")


def test_a_death_by_signal_is_kept(empty: Home) -> None:
    assert empty.run("try", "-c", "kill -TERM $$").code == -signal.SIGTERM


def test_an_unknown_role(empty: Home) -> None:
    ran = empty.run("try", "--role", "nonsense", "-c", "echo ran")

    assert (ran.code, ran.out) == (1, "")
    assert "nonsense" in ran.refusal
    assert not _left(empty)


def test_ending_it_ends_everything(empty: Home) -> None:
    process = subprocess.Popen(
        [REDLANE, "try", "-c", "echo $$; exec sleep 1000"],
        env=empty.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    agent = int(process.stdout.readline())

    process.terminate()

    assert process.wait(30) == -signal.SIGTERM
    process.stdout.close()
    assert wait_for(lambda: not _exists(agent))
    assert not _left(empty)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
