"""Which Python and which packages a run of the tests proves something about."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

__all__ = ["described", "refuse_another"]

PROMISED = {"12": (3, 11), "13": (3, 13)}
"""The Python of each Debian release that our packages run on."""

SHOWN = (
    "redlane",
    "redlane-hub",
    "falcon",
    "google-re2",
    "hypothesis",
    "mitmproxy",
    "pytest",
    "pytest-xdist",
    "waitress",
)


def refuse_another() -> None:
    """Refuse a Python that the packages do not run on, where there is the right one.

    A green run on another proves nothing: Debian mends and breaks its own.
    """
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return
    promised = PROMISED.get(system.get("VERSION_ID", ""))
    if system.get("ID") != "debian" or os.environ.get("REDLANE_ANY_PYTHON") == "1":
        return
    if promised is None or (sys.base_prefix, sys.version_info[:2]) != (
        "/usr",
        promised,
    ):
        raise pytest.UsageError(
            f"these tests are for Debian's own /usr/bin/python3, not {sys.executable} "
            f"({platform.python_version()} of {sys.base_prefix}): make clean, then "
            "make setup; REDLANE_ANY_PYTHON=1 runs them all the same"
        )


def described() -> Iterator[str]:
    """The lines at the head of a run."""
    yield f"interpreter: {sys.executable} of {sys.base_prefix}, Python {sys.version}"
    if packaged := _packaged():
        yield f"of Debian's packages: {packaged}"
    versions = (f"{each} {_version(each)}" for each in SHOWN)
    yield f"with {', '.join(versions)}"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def _packaged() -> str:
    if shutil.which("dpkg-query") is None:
        return ""
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    command = ("dpkg-query", "-W", "-f", "${Package} ${Version} ", python, "libc6")
    done = subprocess.run(
        (*command, "libseccomp2", "systemd"),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()
