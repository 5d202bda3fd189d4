"""Builds the extension that answers plain calls without Python, where it can be built.

Without a compiler, or with REDLANE_BUILD_HOT=none, the plugin is installed without it
and does the same in Python.
"""

import os
from pathlib import Path

from setuptools import Extension, setup

SOURCES = ("module", "opening", "caller", "rulings")
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

setup(
    ext_modules=[] if IS_LEFT_OUT else [EXTENSION],
    # One build serves every Python from the oldest on.
    options={} if IS_LEFT_OUT else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
