"""Builds the programs of the shell wrapper along with the distribution.

`redlane-sh` and `redlane-run` are installed as commands, and kept beside their Python
modules so that shims can be made from them. REDLANE_BUILD_WRAPPER=python leaves the
compiler alone.
"""

import os
import shutil
import sys
import sysconfig
from distutils.command.build_scripts import build_scripts
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from redlane.contexts.shell.programs import (  # noqa: E402  # needs the path above
    PROGRAMS,
    make_programs,
    write_fallbacks,
)

MODULES = Path("redlane/contexts/shell")


def programs(directory: Path, installed: Path | None = None) -> None:
    """Put the programs into `directory`, compiled unless told otherwise."""
    if os.environ.get("REDLANE_BUILD_WRAPPER") == "python":
        write_fallbacks(directory, installed or HERE / MODULES)
    else:
        make_programs(directory, installed)


class BuildPython(build_py):
    """Adds the programs as data of the package."""

    def run(self) -> None:
        """Build as usual, then the programs."""
        super().run()
        if self.editable_mode:
            programs(HERE / MODULES / "bin")
        else:
            purelib = Path(sysconfig.get_path("purelib"))
            programs(Path(self.build_lib) / MODULES / "bin", purelib / MODULES)


class BuildScripts(build_scripts):
    """Adds the programs as commands."""

    def run(self) -> None:
        """Copy what the other command has built; they are no Python to rewrite."""
        build = self.get_finalized_command("build_py")
        root = HERE if build.editable_mode else Path(build.build_lib)
        self.mkpath(self.build_dir)
        for name in PROGRAMS:
            shutil.copy2(root / MODULES / "bin" / name, Path(self.build_dir) / name)


class BinaryWheel(bdist_wheel):
    """A wheel for one kind of machine and, when compiled, for any Python 3."""

    def finalize_options(self) -> None:
        """The programs need the machine that they are compiled for, and no Python."""
        self.plat_name = self.plat_name or sysconfig.get_platform()
        super().finalize_options()

    def get_tag(self) -> tuple[str, str, str]:
        """Programs written in Python name the interpreter that wrote them."""
        python, abi, platform = super().get_tag()
        build = Path(self.get_finalized_command("build_py").build_lib)
        if (build / MODULES / "bin" / "redlane-sh.code").exists():
            python = sys.implementation.cache_tag.replace("cpython-", "cp")
        return (python, abi, platform)


setup(
    scripts=[str(Path("redlane/wrapper/main.c"))],
    cmdclass={
        "bdist_wheel": BinaryWheel,
        "build_py": BuildPython,
        "build_scripts": BuildScripts,
    },
)
