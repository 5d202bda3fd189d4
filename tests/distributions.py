"""Releases of our distributions, and environments of their own to install them in."""

import fcntl
import importlib.metadata
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

__all__ = [
    "DISTRIBUTIONS",
    "ROOT",
    "SAMPLE",
    "Environment",
    "build",
    "copy_of",
    "dependencies",
    "link",
    "link_dependencies",
    "link_native",
    "make_environment",
    "pip",
    "released",
    "run",
]

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "tests" / "sample_plugin"
DISTRIBUTIONS = sorted(
    path.parent
    for pattern in ("*/pyproject.toml", "plugins/*/pyproject.toml")
    for path in ROOT.glob(pattern)
)
"""The directory of each distribution of this repository."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment of its own."""

    root: Path

    @property
    def scripts(self) -> Path:
        """Where its commands are."""
        return self.root / "bin"

    @property
    def site(self) -> Path:
        """Where its packages are."""
        (site,) = self.root.glob("lib/python3*/site-packages")
        return site

    def install(self, releases: Path, *requirements: str) -> None:
        """Install what is required from a directory of releases, and nothing else."""
        pip(
            *("--python", str(self.scripts / "python")),
            *("install", "--quiet", "--no-index", "--find-links", str(releases)),
            *requirements,
        )


def run(*command: str | Path) -> None:
    """Run a command that must succeed, without complaint of its own about warnings."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def pip(*arguments: str) -> None:
    """Run pip, with no setting but the arguments."""
    options = ("--isolated", "--no-cache-dir", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", *options, *arguments)


def copy_of(source: Path, place: Path) -> Path:
    """A copy of a distribution's sources, as building writes beside them."""
    copy = place / source.name
    made = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "bin")
    shutil.copytree(source, copy, ignore=made)
    return copy


def build(source: Path, releases: Path) -> None:
    """Build a source release of sources, and a wheel from that release."""
    options = ("--no-isolation", "--outdir", releases)
    run(sys.executable, "-m", "build", *options, source)


def released(factory: pytest.TempPathFactory) -> Path:
    """The releases of our distributions and of the sample, made once a test run."""
    with shared_place(factory, "releases") as (place, is_new):
        if is_new:
            for source in (*DISTRIBUTIONS, SAMPLE):
                build(copy_of(source, place / "sources"), place)
        return place


@contextmanager
def shared_place(
    factory: pytest.TempPathFactory, name: str
) -> Iterator[tuple[Path, bool]]:
    """A directory that all workers of a test run share, and whether it is new."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    place, done = base / name, base / f"{name}.done"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_new = not done.exists()
        if is_new:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        yield place, is_new
        done.touch()


def make_environment(place: Path) -> Environment:
    """A fresh environment that sees what Redlane depends on, and nothing of Redlane."""
    venv.create(place, symlinks=True)
    environment = Environment(place)
    others = place / "others"
    others.mkdir()
    link_dependencies("redlane", others)
    (environment.site / "others.pth").write_text(f"{others}\n")
    return environment


def link_dependencies(name: str, place: Path) -> None:
    """Link what a distribution needs, and what that needs, out of this environment."""
    for distribution in dependencies(name):
        link(distribution, place)


def link_native(place: Path) -> None:
    """Link what models run on, and all that this needs."""
    for name in ("onnxruntime", "numpy", "tokenizers"):
        link(importlib.metadata.distribution(name), place)
        link_dependencies(name, place)


def link(distribution: importlib.metadata.Distribution, place: Path) -> None:
    """Link the packages of a distribution of this environment into a directory."""
    tops = {file.parts[0] for file in distribution.files or ()} - {".."}
    for top in tops - {"__pycache__"}:
        here = place / top
        if not here.is_symlink():
            here.symlink_to(Path(str(distribution.locate_file(top))))


def dependencies(name: str) -> Iterator[importlib.metadata.Distribution]:
    """What a distribution of this environment needs, and what that needs in turn."""
    for written in importlib.metadata.requires(name) or ():
        needed = Requirement(written)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield importlib.metadata.distribution(needed.name)
            yield from dependencies(needed.name)
