"""Builds the extension that answers plain calls without Python, where it can be built.

Without a compiler, or with REDLANE_BUILD_HOT=none, the plugin is installed without it
and does the same in Python.
"""

import os
import re
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

SOURCES = (
    *("module", "serving", "paths", "opening", "entries"),
    *("answering", "caller", "rulings"),
)
OLDEST_PYTHON = "0x030b0000"

EXTENSION = Extension(
    "redlane_context_syscall._hot",
    sources=[str(Path("native") / f"{name}.c") for name in SOURCES],
    depends=[str(Path("native") / "hot.h")],
    define_macros=[("Py_LIMITED_API", OLDEST_PYTHON)],
    extra_compile_args=[
        *("-std=gnu17", "-O2", "-Wall", "-Wextra", "-Wshadow"),
        *("-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"),
    ],
    extra_link_args=["-Wl,-z,relro,-z,now"],
    py_limited_api=True,
    optional=True,
)
IS_LEFT_OUT = os.environ.get("REDLANE_BUILD_HOT") == "none"


class PortableWheel(bdist_wheel):
    """A wheel for every C library that has what the extension wants of one."""

    def get_tag(self) -> tuple[str, str, str]:
        """The oldest glibc that will do, in place of this machine's own."""
        python, abi, platform = super().get_tag()
        build = Path(self.get_finalized_command("build_ext").build_lib)
        for extension in build.glob("redlane_context_syscall/_hot.*"):
            wanted = re.findall(rb"GLIBC_2\.(\d+)", extension.read_bytes())
            if wanted:
                oldest = f"manylinux_2_{max(map(int, wanted))}_"
                platform = re.sub("^linux_", oldest, platform)
        return (python, abi, platform)


setup(
    cmdclass={"bdist_wheel": PortableWheel},
    ext_modules=[] if IS_LEFT_OUT else [EXTENSION],
    # One build serves every Python from the oldest on.
    options={} if IS_LEFT_OUT else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
