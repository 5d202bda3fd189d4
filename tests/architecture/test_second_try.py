"""Red means that something is broken: what fails is tried once more, alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(TESTS),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
CONFTEST = """\
from second_try import SecondTry
def pytest_addoption(parser):
    parser.addoption("--second-try", action="store_true")
def pytest_configure(config):
    if config.getoption("--second-try"):
        config.pluginmanager.register(SecondTry(config))
"""
ONCE = """\
import pytest
from pathlib import Path
def once(name):
    if not Path(name).exists():
        Path(name).touch()
        raise OSError(f"only once: {name}")
@pytest.fixture
def late():
    yield
    once("late")
"""
UNSTEADY = "def test_unsteady(late): once('unsteady')\n"
BROKEN = "def test_broken(): assert 1 == 2\n"
MANY = "@pytest.mark.parametrize('n', range(6))\ndef test_unsteady(n): once(str(n))\n"


@pytest.mark.parametrize(
    ("tests", "status", "said"),
    [
        (UNSTEADY, 0, ("unsteady: test_it.py::test_unsteady", "OSError: only once")),
        (UNSTEADY + BROKEN, 1, ("1 failed, 2 unsteady",)),
        (MANY, 1, ("more than 5 tests are unsteady",)),
        (UNSTEADY + "import nothing", 2, ("error",)),
    ],
    ids=["unsteady", "broken", "many", "unreadable"],
)
def test_failures_are_tried_again(
    tmp_path: Path, tests: str, status: int, said: tuple[str, ...]
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(ONCE + tests)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--second-try"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert [each for each in said if each not in done.stdout] == []
    assert done.returncode == status
