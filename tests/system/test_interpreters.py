"""A release works on every version of Python that it names, with what is locked."""

import os
import pwd
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from distributions import ROOT, Environment, dependencies, released, run
from fetching import fetch
from spec.redlane_home import Home, Ran

CORE = ROOT / "product_core"
VERSIONS = re.findall(
    r"Python :: (\d+\.\d+)$",
    "\n".join(
        tomllib.loads((CORE / "pyproject.toml").read_text())["project"]["classifiers"]
    ),
    re.MULTILINE,
)


def interpreter(version: str) -> Path:
    """An interpreter of a version, on PATH or where pyenv keeps them."""
    user = Path(pwd.getpwuid(os.getuid()).pw_dir)
    pyenv = Path(os.environ.get("PYENV_ROOT") or user / ".pyenv")
    places = [*os.environ["PATH"].split(os.pathsep), "/usr/bin"]
    places += map(str, sorted(pyenv.glob(f"versions/{version}.*/bin")))
    for place in places:
        found = shutil.which(f"python{version}", path=place)
        if found and is_of(found, version):
            return Path(found)
    pytest.skip(f"THERE IS NO PYTHON {version}, on PATH or below {pyenv}")


def is_of(python: str, version: str) -> bool:
    """Whether a program is what its name says: a shim of pyenv's may be of none."""
    program = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run(
        [python, "-I", "-c", program], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() == version


def locked(names: set[str]) -> str:
    """The part of the lock that pins these distributions, hashes included."""
    text = (ROOT / "constraints.txt").read_text()
    entries = re.findall(r"^[A-Za-z0-9][^\n]*\n(?:[ \t#][^\n]*\n)*", text, re.MULTILINE)
    return "".join(each for each in entries if each.partition("==")[0] in names)


def installed(place: Path, python: Path, releases: Path) -> Environment:
    """An environment of that interpreter with the locked dependencies and ours."""
    run(python, "-m", "venv", "--without-pip", place)
    environment = Environment(place)
    ours = ("redlane", "redlane-context-syscall")
    needed = chain.from_iterable(map(dependencies, ours))
    names = {each.metadata["Name"].lower() for each in needed}
    lock = place / "lock.txt"
    lock.write_text(locked(names))
    target = ("--python", str(environment.scripts / "python"))
    options = ("--quiet", "--disable-pip-version-check", "--no-deps")
    pip = (sys.executable, "-m", "pip", *target, "install", *options)
    fetch(*pip, "--require-hashes", "--requirement", lock)
    environment.install(releases, "redlane[standard]")
    return environment


@pytest.fixture(params=VERSIONS)
def environment(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Environment:
    python = interpreter(request.param)
    return installed(tmp_path / "environment", python, released(tmp_path_factory))


@pytest.mark.soak
@pytest.mark.timeout(600, func_only=True)  # installing has its own time
def test_release_works_on(environment: Environment, tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.env["PYTHONWARNINGS"] = "error"
    home.policies(
        {"id": "word", "type": "Simple", "action": "Block", "pattern": "rm -rf"},
        {"id": "expression", "type": "Regex", "action": "Block", "pattern": r"\bdd\b"},
        {"id": "program", "type": "Executable", "action": "Block", "pattern": "false"},
        {"id": "call", "type": "McpTool", "action": "Block", "tool": "delete"},
    )
    home.role("guard", "word", "expression", "program", "call")
    use(environment, home)


def use(environment: Environment, home: Home) -> None:
    """What every user does: check, judge, start, run, look, reload, stop."""
    redlane, shell = (environment.scripts / each for each in ("redlane", "redlane-sh"))

    def done(*words: str) -> Ran:
        ran = home.run(*words, program=redlane)
        assert ran.code == 0, ran
        assert "Warning" not in ran.said, ran
        return ran

    done("config", "check")
    for content, policy in {"rm -rf x": "word", "dd": "expression", "ls": None}.items():
        judged = home.run("validate", content, "-r", "guard", program=redlane)
        assert judged.json["policy"] == policy
        assert judged.err == ""
    done("start", "--role", "guard")
    try:
        assert home.control.analyze("rm -rf x")["policy"] == "word"
        assert home.run("-c", "echo ran", program=shell).out == "ran\n"
        assert home.run("-c", "rm -rf x", program=shell).code == 126
        assert "ran\n" in done("run", "--", "sh", "-c", "echo ran; true").out
        for words in (("session", "list"), ("session", "reload"), ("events",)):
            done(*words)
    finally:
        stopped = done("stop")
    assert "Warning" not in home.everything_said(stopped)
