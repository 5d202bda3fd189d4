"""Commands whose streams are closed or full, and whose directory is gone."""

import subprocess
from pathlib import Path

import pytest
from spec.redlane_home import REDLANE, Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.policies({"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm"})
    made.role("guard", "no-rm")
    return made


def in_shell(home: Home, command: str) -> tuple[int, str]:
    """Exit status and standard error of a shell command about `$R`."""
    done = subprocess.run(
        ["sh", "-c", command],
        env={**home.environment(), "R": str(REDLANE)},
        cwd=home.user,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_closed_standard_input_is_said_in_one_line(home: Home) -> None:
    code, said = in_shell(home, '"$R" validate - -r guard <&-')
    assert code == 2
    assert said == (
        "redlane: standard input is closed: give the content as an argument\n"
    )


@pytest.mark.parametrize("content", ["ls", "rm"])
def test_full_output_is_no_verdict(home: Home, content: str) -> None:
    code, said = in_shell(home, f'"$R" validate {content} -r guard >/dev/full')
    assert code == 2
    assert said.startswith("redlane: standard input or output: ")
    assert said.count("\n") == 1


def test_full_standard_error_changes_no_exit_status(home: Home) -> None:
    try:
        for command in ("config check", "start", "session reload", "stop", "stop"):
            code, _ = in_shell(home, f'"$R" {command} 2>/dev/full')
            assert (command, code) == (command, 0)
    finally:
        home.stop()


@pytest.mark.parametrize("name", ["REDLANE_HOME", "HOME"])
def test_relative_home_in_a_directory_that_is_gone_is_one_line(
    home: Home, name: str
) -> None:
    gone = home.user / "gone"
    gone.mkdir()
    command = f'cd gone && rmdir ../gone && {name}=x exec "$R" validate ls -r guard'
    code, said = in_shell(home, command)
    assert code == 2
    assert said.startswith("redlane: ")
    assert "working directory is gone" in said
