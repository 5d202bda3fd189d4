"""What a package bundles is told from the lock, and nothing is resolved."""

import subprocess
import sys
from pathlib import Path

import pytest
from distributions import ROOT

SCRIPT = ROOT / "packaging" / "locked.py"


def locked(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def names(*arguments: str | Path) -> set[str]:
    done = locked(*arguments)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return {line.split("==")[0] for line in lines if "==" in line}


def test_what_a_dependency_needs_comes_along() -> None:
    assert {"pynacl", "cffi", "pycparser"} <= names("hub")


def test_what_only_development_needs_stays_out() -> None:
    found = names("product_core", "hub", *Path("plugins").glob("*"))
    assert not found & {"pytest", "ruff", "mypy", "setuptools", "wheel", "build"}


def test_our_own_distributions_are_not_locked() -> None:
    assert not {each for each in names("plugins/match_regex") if "redlane" in each}


def test_what_is_left_out_is_left_out_alone() -> None:
    assert names("hub") - names("--without", "pip", "hub") == {"pip"}


def test_what_is_there_already_is_not_brought_again() -> None:
    beyond = names("--beyond", "product_core", "hub")
    assert beyond == names("hub") - names("product_core")
    assert "falcon" not in beyond


def test_every_release_has_its_hashes() -> None:
    text = locked("hub").stdout
    releases = text.split("==")[1:]
    assert releases
    assert all("--hash=sha256:" in each for each in releases)
    assert "#" not in text


@pytest.mark.parametrize("where", ["name", "project"])
def test_what_the_lock_lacks_is_one_line(where: str, tmp_path: Path) -> None:
    project = '[project]\nname = "thing"\ndependencies = ["nobody-has-this>=1"]\n'
    (tmp_path / "pyproject.toml").write_text(project)
    given = ("--name", "nobody-has-this") if where == "name" else (tmp_path,)
    done = locked(*given)
    assert done.returncode == 1
    assert done.stderr == "locked.py: not in the lock: nobody-has-this\n"
