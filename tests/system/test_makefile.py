"""What the Makefile and the CI entry do, with stand-ins for every tool."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from distributions import DISTRIBUTIONS, ROOT

TOOLS = ("python", "redlane", "ruff", "mypy", "lint-imports", "uv")
SCRIPTS = ("system-packages.sh", "environment.sh")
RECORDER = """\
#!/bin/sh
exec 3>> {log}
printf '%s' "${{0##*/}}" >&3; for each; do printf ' <%s>' "$each" >&3; done; echo >&3
env > {log}.env
exit ${{{status}:-0}}
"""
PYTEST = "python <tests/contained.py> <.venv/bin/python> <-m> <pytest> <-n>"
"""How the tests are started: what they leave behind fails the run."""
WHOLE = "<--tb=short> <--hypothesis-profile=thorough>"


@dataclass(frozen=True)
class Tree:
    """A repository whose environment records what is asked of it."""

    root: Path
    log: Path

    def make(
        self, *words: str, env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["make", *words],
            cwd=self.root,
            env={"PATH": os.environ["PATH"], **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def asked(self) -> list[str]:
        """The commands that were run, and forget them."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    def environment(self) -> dict[str, str]:
        """The environment of the last command."""
        lines = Path(f"{self.log}.env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)


def status_of(tool: str) -> str:
    """The variable that holds the exit status of a tool's stand-in."""
    return re.sub(r"\W", "_", tool) + "_STATUS"


def record(path: Path, log: Path) -> None:
    """A program that appends its arguments to `log`; exits as NAME_STATUS says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RECORDER.format(log=log, status=status_of(path.name)))
    path.chmod(0o755)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A copy of what the Makefile reads, with everything set up."""
    root = tmp_path / "tree"
    for source in DISTRIBUTIONS:
        for path in [*source.glob("*.*"), *source.glob("redlane/wrapper/*")]:
            copy = root / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    compiling = root / "product_core/redlane/contexts/shell/running/compiling.py"
    compiling.parent.mkdir(parents=True)
    compiling.touch()
    for name in ("Makefile", "constraints.txt"):
        shutil.copy(ROOT / name, root)
    log = tmp_path / "log"
    for script in SCRIPTS:
        record(root / "packaging" / script, log)
    for tool in TOOLS:
        record(root / ".venv" / "bin" / tool, log)
    for path in root.rglob("*"):
        os.utime(path, (1, 1))
    for age, stamp in enumerate((".locked", ".ready"), 2):
        (root / ".venv" / stamp).touch()
        os.utime(root / ".venv" / stamp, (age, age))
    return Tree(root, log)


def test_make_alone_lists_every_goal(tree: Tree) -> None:
    goals = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert goals
    listed = re.findall(r"^  make (\S+)  +\S", tree.make().stdout, re.MULTILINE)
    assert set(listed) | {"help"} == set(goals[1].split())


def test_set_up_does_nothing_twice(tree: Tree) -> None:
    assert tree.make("setup").returncode == 0
    assert tree.asked() == []


@pytest.mark.parametrize(
    "changed",
    [
        "product_core/pyproject.toml",
        "product_core/setup.py",
        "product_core/redlane/wrapper/ask.c",
        "product_core/redlane/wrapper/message.h",
        "product_core/redlane/contexts/shell/running/compiling.py",
        "plugins/match_mcp/pyproject.toml",
        "plugins/match_ml/pyproject.toml",
    ],
)
def test_change_builds_our_distributions_again(tree: Tree, changed: str) -> None:
    (tree.root / changed).touch()
    assert tree.make("setup").returncode == 0
    (asked,) = tree.asked()
    assert "<install>" in asked
    for source in DISTRIBUTIONS:
        assert f"<--editable> <./{source.relative_to(ROOT)}>" in asked
    assert "<--no-deps>" in asked


def test_changed_lock_is_installed_with_its_hashes(tree: Tree) -> None:
    (tree.root / "constraints.txt").touch()
    assert tree.make("setup").returncode == 0
    packages, environment, lock, ours = tree.asked()
    assert packages == "system-packages.sh"
    assert environment == "environment.sh </usr/bin/python3> <.venv>"
    assert lock.startswith("uv ")
    assert "<--require-hashes> <--requirement> <constraints.txt>" in lock
    assert "<--editable>" in ours


def test_what_uv_cannot_install_pip_does(tree: Tree) -> None:
    (tree.root / "constraints.txt").touch()
    assert tree.make("setup", env={"uv_STATUS": "1"}).returncode == 0
    asked = [each.split(" <install>") for each in tree.asked() if "install" in each]
    assert [each[0].split()[0] for each in asked] == ["uv", "python", "uv", "python"]
    for by_uv, by_pip in (asked[:2], asked[2:]):
        assert by_uv[1].endswith(by_pip[1])


@pytest.mark.parametrize("broken", [["uv", "python"], *([each] for each in SCRIPTS)])
def test_set_up_that_fails_is_tried_again(tree: Tree, broken: list[str]) -> None:
    (tree.root / "constraints.txt").touch()
    failing = {status_of(each): "1" for each in broken}
    assert tree.make("setup", env=failing).returncode != 0
    assert not [each for each in tree.asked() if "<--editable>" in each]
    assert tree.make("--question", "setup").returncode == 1


def test_missing_environment_is_made_with_the_interpreter_asked_for(
    tree: Tree,
) -> None:
    shutil.rmtree(tree.root / ".venv")
    assert tree.make("setup", "PYTHON=/a/python").returncode != 0
    made = "environment.sh </a/python> <.venv>"
    assert tree.asked() == ["system-packages.sh", made]


@pytest.mark.parametrize(
    "command",
    [
        "echo hi",
        "rm -rf ~",
        "echo $HOME $(id) ${x} `y`",
        "echo '\"\\",
        "echo a # b",
        "a; b && c | d > e",
        "-c",
        "one\ntwo",
        "grüße %s $$",
    ],
)
def test_run_passes_the_command_as_typed(tree: Tree, command: str) -> None:
    assert tree.make("run", f"CMD={command}").returncode == 0
    assert "\n".join(tree.asked()) == f"redlane <try> <-c> <{command}>"


def test_run_leaves_nothing_of_make_behind(tree: Tree) -> None:
    assert tree.make("run", "CMD=x", "JOBS=3").returncode == 0
    assert not {each for each in tree.environment() if "MAKE" in each or each == "CMD"}


def test_run_without_a_command_is_a_shell(tree: Tree) -> None:
    assert tree.make("run").returncode == 0
    assert tree.asked() == ["redlane <try>"]


@pytest.mark.parametrize("status", [1, 2, 126])
def test_run_tells_the_status_of_its_command(tree: Tree, status: int) -> None:
    done = tree.make("run", "CMD=x", env={"redlane_STATUS": str(status)})
    assert done.returncode != 0
    assert f"Error {status}" in done.stderr


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["test"], "<4> <--second-try> <-m> <not slow>"),
        (["test", "JOBS=1"], "<1> <--second-try> <-m> <not slow>"),
        (["test", "TESTS=a b -x"], "<4> <--second-try> <-m> <not slow> <a> <b> <-x>"),
        (["test", "QUICK=x"], "<4> <--second-try> <-m> <x>"),
        (["test", "STAGES=a"], "<4> <--second-try> <--stages=a> <-m> <not slow>"),
        (["test-all"], f"<4> <--second-try> <-m> <not soak> {WHOLE}"),
        (["test-all", "TESTS=a"], f"<4> <--second-try> <-m> <not soak> {WHOLE} <a>"),
        (["soak"], f"<4> <--second-try> <-m> <soak> {WHOLE}"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_tests_are_chosen(tree: Tree, words: list[str], options: str) -> None:
    assert tree.make(*words).returncode == 0
    assert tree.asked() == [f"{PYTEST} {options}"]


def test_boot_tests_are_chosen_once_their_programs_are_there(tree: Tree) -> None:
    record(tree.root / "packaging" / "boot-packages.sh", tree.log)
    assert tree.make("boot-test", "TESTS=-x").returncode == 0
    packages, tests = tree.asked()
    assert packages == "boot-packages.sh"
    assert tests == f"{PYTEST} <4> <--second-try> <-m> <boot> <tests/boot> <-x>"


def test_red_tests_are_a_failure(tree: Tree) -> None:
    assert tree.make("test", env={"python_STATUS": "1"}).returncode != 0


@pytest.mark.parametrize("red", ["ruff", "mypy", "lint-imports"])
def test_check_fails_when_one_does(tree: Tree, red: str) -> None:
    assert tree.make("check").returncode == 0
    names = [each.split()[0] for each in tree.asked()]
    assert names == ["ruff", "ruff", "mypy", "mypy", "lint-imports"]
    assert tree.make("check", env={status_of(red): "1"}).returncode != 0


def test_bench_runs_what_is_a_program(tree: Tree) -> None:
    benchmarks = tree.root / "benchmarks"
    benchmarks.mkdir()
    (benchmarks / "measure.py").write_text("__all__ = []\n")
    for name in ("wrapper.py", "evaluation.py"):
        (benchmarks / name).write_text('if __name__ == "__main__":\n    main()\n')
    assert tree.make("bench").returncode == 0
    wanted = ["python <benchmarks/evaluation.py>", "python <benchmarks/wrapper.py>"]
    assert tree.asked() == wanted
    assert tree.make("bench", env={"python_STATUS": "1"}).returncode != 0


def test_lock_is_made_of_what_is_required(tree: Tree) -> None:
    assert tree.make("lock").returncode == 0
    (uv,) = tree.asked()
    assert "<--generate-hashes>" in uv
    assert uv.endswith("<--output-file> <constraints.txt> <requirements.in>")


GOALS = ("setup", "check", "deb", "deb SUITE=trixie", "test-on SUITE=trixie")
BEFORE = ("test-packages.sh", "example-packages.sh", "boot-packages.sh")


@pytest.mark.parametrize("red", [None, *BEFORE, "setup", "check", "deb", "test-on"])
def test_ci_stops_at_what_fails_and_ends_with_the_tests(
    tmp_path: Path, red: str | None
) -> None:
    log = tmp_path / "log"
    entry = tmp_path / "tree" / ".ci" / "run"
    entry.parent.mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", entry)
    for script in BEFORE:
        record(tmp_path / "tree" / "packaging" / script, log)
    stub = tmp_path / "bin" / "make"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho "$*" >> {log}\n[ "$1" != "{red}" ]\n')
    stub.chmod(0o755)
    path = f"{stub.parent}:{os.environ['PATH']}"
    failing = {status_of(red): "1"} if red in BEFORE else {}
    done = subprocess.run(
        [entry], env={"PATH": path} | failing, stdin=subprocess.DEVNULL, check=False
    )
    asked = [*BEFORE, *GOALS, "test"]
    names = [each.split()[0] for each in asked]
    *before, last = log.read_text().splitlines()
    seen = [*before, last.split()[0]] if red is None else [*before, last]
    assert seen == asked[: names.index(red) + 1 if red else None]
    assert (done.returncode == 0) == (red is None)
