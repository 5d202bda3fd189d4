"""Builds the programs of the shell wrapper along with the distribution.

`redlane-sh` and `redlane-run` are installed as commands, and kept beside their Python
modules so that shims can be made from them. CC names the compiler, and with it the
machine that they are for.
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

from redlane.contexts.shell.running.compiling import (  # noqa: E402  # needs the path above
    Compiled,
    CompileError,
    compile_programs,
    compiler_of,
)
from redlane.contexts.shell.running.programs import PROGRAMS  # noqa: E402  # as above

MODULES = Path("redlane/contexts/shell")
MACHINES = ("x86_64", "aarch64")
"""For these there are released wheels, which name the machine as the compiler does."""

ANY_LIBC = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"
"""What runs with no C library runs with each."""


class BuildPython(build_py):
    """Adds the programs as data of the package."""

    compiled: Compiled | None = None
    """What was made, once it is."""

    def run(self) -> None:
        """Build as usual, then the programs."""
        root = HERE if self.editable_mode else Path(self.build_lib)
        try:
            compiler = compiler_of(os.environ)
            super().run()
            self.compiled = compile_programs(root / MODULES / "bin", compiler)
        except CompileError as error:
            raise SystemExit(f"redlane: {error}") from None
        if not self.compiled.is_static:
            sys.stderr.write(
                "redlane: there is no static C library (libc.a; Debian: libc6-dev), so "
                "redlane-sh is linked dynamically, and starts a little slower\n"
            )


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
    """A wheel for one kind of machine and any Python 3: the programs need none."""

    def finalize_options(self) -> None:
        """Without a platform it would be for any machine."""
        self.plat_name = self.plat_name or sysconfig.get_platform()
        super().finalize_options()

    def get_tag(self) -> tuple[str, str, str]:
        """The machine is what the compiler has compiled for."""
        python, abi, platform = super().get_tag()
        compiled = self.get_finalized_command("build_py").compiled
        if compiled is not None and compiled.machine in MACHINES:
            any_libc = ANY_LIBC if compiled.is_static else "linux_{0}"
            platform = any_libc.format(compiled.machine)
        return (python, abi, platform)


setup(
    scripts=[str(Path("redlane/wrapper/main.c"))],
    cmdclass={
        "bdist_wheel": BinaryWheel,
        "build_py": BuildPython,
        "build_scripts": BuildScripts,
    },
)
