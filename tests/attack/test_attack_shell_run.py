"""What an agent in a session of `redlane run` finds: what it would find alone."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec.redlane_home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    made.policies({"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm"})
    made.role("guard", "no-rm")
    made.start("--role", "guard")
    yield made
    made.stop()


def test_agent_ignores_no_signal_that_its_caller_did_not(home: Home) -> None:
    command = ["grep", "SigIgn", "/proc/self/status"]
    alone = subprocess.run(command, capture_output=True, text=True, check=True)
    assert home.run("run", "--", *command).out == alone.stdout


@pytest.mark.parametrize("number", [1, 2, 6, 9, 11, 13, 15])
def test_agent_that_ends_by_a_signal_ends_the_run_by_it(
    home: Home, number: int
) -> None:
    code = f"import os; os.kill(os.getpid(), {number})"
    restore = "import signal; signal.signal(13, signal.SIG_DFL);"
    restore += "signal.signal(2, signal.SIG_DFL);"
    ran = home.run("run", "--", "/usr/bin/env", "python3", "-c", restore + code)
    assert ran.code == -number
