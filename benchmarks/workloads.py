"""The programs whose system calls the benchmark has judged."""

import shutil
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Workload", "workloads"]

FILES, FILES_OF_A_DIRECTORY = 8000, 10
MODULES = 60
DIST = "sample-1.0.dist-info"


@dataclass(frozen=True, slots=True)
class Workload:
    """A program, where it runs, and what has to be done each time before it."""

    name: str
    words: tuple[str, ...]
    directory: Path
    prepare: Callable[[], None] = lambda: None


def workloads(place: Path) -> tuple[Workload, ...]:
    """Those that are measured, what they work on made under `place`."""
    wheel, source = _wheel(place), _source(place)
    _tree(place / "tree", FILES // FILES_OF_A_DIRECTORY, FILES_OF_A_DIRECTORY)
    _tree(place / "directories", FILES, 0)
    target = place / "target"
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    options = ("install", "--no-index", "--no-deps", "--target", str(target))

    archive = shutil.make_archive(str(place / "tree"), "tar", place, "tree")
    options_of_tar = ("-C", str(target), "-xf", archive)

    def forget() -> None:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()

    def plant() -> None:
        shutil.rmtree(place / "leaves", ignore_errors=True)
        _tree(place / "leaves", FILES // FILES_OF_A_DIRECTORY, FILES_OF_A_DIRECTORY)

    return (
        Workload("pip install of a wheel", (*pip, *options, str(wheel)), place, forget),
        Workload("gcc of a file", ("gcc", "-O1", "-c", str(source)), place),
        Workload("find, 8,000 files", ("find", "tree", "-name", "x"), place),
        Workload("find, 8,000 directories", ("find", "directories"), place),
        Workload("tar, 8,000 files", ("tar", "-cf", "out.tar", "tree"), place),
        Workload("tar -x, 8,000 files", ("tar", *options_of_tar), place, forget),
        Workload("rm -rf, 8,000 files", ("rm", "-rf", "leaves"), place, plant),
    )


def _wheel(place: Path) -> Path:
    """A wheel of pure Python, as large as many are."""
    wheel = place / "sample-1.0-py3-none-any.whl"
    body = "def rule(argument: object) -> str:\n    return repr(argument)\n\n\n" * 40
    metadata = "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n"
    kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    members = {f"sample/module_{number}.py": body for number in range(MODULES)}
    members |= {"sample/__init__.py": ""}
    members |= {f"{DIST}/METADATA": metadata, f"{DIST}/WHEEL": kind}
    record = "".join(f"{name},,\n" for name in [*members, f"{DIST}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in (members | {f"{DIST}/RECORD": record}).items():
            archive.writestr(name, text)
    return wheel


def _source(place: Path) -> Path:
    """A C file that brings in many headers."""
    headers = ("stdio", "stdlib", "string", "pthread", "sys/socket", "sys/stat")
    lines = [f"#include <{header}.h>" for header in (*headers, "netdb", "signal")]
    lines += [f"int f{n}(int x) {{ return x * {n} + rand(); }}" for n in range(400)]
    source = place / "sample.c"
    source.write_text("\n".join(lines) + "\n")
    return source


def _tree(root: Path, directories: int, files: int) -> None:
    for number in range(directories):
        directory = root / f"{number % 50}" / f"{number}"
        directory.mkdir(parents=True)
        for file in range(files):
            (directory / f"{file}.h").write_text(f"#define N {file}\n")
