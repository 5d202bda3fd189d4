"""What a package bundles is told from the lock, and nothing is resolved."""

import re
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


def test_what_only_downloads_stays_out_with_all_that_it_wants() -> None:
    found = names("--without", "huggingface-hub", "plugins/match_ml")
    assert {"onnxruntime", "numpy", "tokenizers"} <= found
    left_out = names("plugins/match_ml") - found
    assert {"huggingface-hub", "httpx", "tqdm", "fsspec", "pyyaml"} <= left_out


def test_what_is_there_already_is_not_brought_again() -> None:
    beyond = names("--beyond", "product_core", "hub")
    assert beyond == names("hub") - names("product_core")
    assert "falcon" not in beyond


def test_what_an_extra_wants_comes_when_it_is_asked() -> None:
    assert "mitmproxy" not in names("product_core")
    asked = names("--extra", "proxy", "product_core")
    assert asked > names("product_core")
    assert {"mitmproxy", "h2", "cryptography", "brotli", "zstandard"} <= asked


def test_unknown_extra_is_one_line() -> None:
    done = locked("--extra", "no-such", "product_core")
    assert done.returncode == 1
    assert done.stderr == "locked.py: no such extra: no-such\n"


@pytest.mark.parametrize(("series", "major"), [("3.11", 11), ("3.13", 12)])
def test_each_python_has_the_releases_for_it(series: str, major: int) -> None:
    """The tools run on one Python, and may lay out another one's environment."""
    done = locked("--series", series, "--extra", "proxy", "product_core")
    pins = re.findall(r"^(\S+)==(\S+) \\$", done.stdout, re.MULTILINE)
    assert pins
    by_name = dict(pins)
    assert len(by_name) == len(pins), "two releases of one distribution"
    assert by_name["mitmproxy"].startswith(f"{major}.")
    assert ";" not in done.stdout
    assert not {each for each in by_name if "windows" in each or "macos" in each}


@pytest.mark.parametrize(
    "directories", [("hub",), ("--extra", "proxy", "product_core")]
)
def test_every_release_has_its_hashes(directories: tuple[str, ...]) -> None:
    text = locked(*directories).stdout
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
