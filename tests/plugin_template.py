"""The template of a third party's plugin: copies, environments and packages of it."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from distributions import ROOT

__all__ = ["TEMPLATE", "copy_template", "make_host", "needs_debhelper", "run_in"]

TEMPLATE = ROOT / "examples" / "plugin"

needs_debhelper = pytest.mark.skipif(
    not all(map(shutil.which, ("dh_python3", "pybuild", "dpkg-buildpackage"))),
    reason="packaging/example-packages.sh installs what builds a package",
)


def copy_template(place: Path) -> Path:
    """A copy to build in, with nothing that an earlier build has left."""
    made = shutil.ignore_patterns(
        "build", "dist", "*.egg-info", "__pycache__", ".*_cache"
    )
    return Path(shutil.copytree(TEMPLATE, place, ignore=made))


def make_host(place: Path, plugins: Iterable[Path] = ()) -> Path:
    """An environment with Redlane in it that finds plugins in further directories.

    Returns its interpreter. The directories are found as those of the packaged service
    are: by a .pth file.
    """
    venv.create(place, symlinks=True)
    (site,) = place.glob("lib/python3*/site-packages")
    here = next(each for each in sys.path if each.endswith("site-packages"))
    (site / "host.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    lines = "".join(f"{each}\n" for each in plugins)
    (site / "redlane-plugins.pth").write_text(lines)
    return place / "bin" / "python"


def run_in(
    place: Path, *command: str | Path, more: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command there, with a home of its own and nothing from any index."""
    environment = {
        "HOME": str(place),
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "PYTHON": sys.executable,
        "PIPFLAGS": "--no-build-isolation",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_BUILD_ISOLATION": "false",
        "PIP_ROOT_USER_ACTION": "ignore",
        "DEB_BUILD_OPTIONS": "nocheck",
        "DEB_BUILD_PROFILES": "nocheck",
        **(more or {}),
    }
    return subprocess.run(
        command,
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
