"""The programs `redlane-sh` and `redlane-run`: built, or written in Python.

They are compiled when Redlane is installed. Without a C compiler the same behaviour is
installed in Python, which starts four times slower. `setup.py` calls `make_programs`.
"""

import marshal
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = [
    "PROGRAMS",
    "compile_programs",
    "make_programs",
    "program",
    "write_fallbacks",
]

PROGRAMS = ("redlane-sh", "redlane-run")

_HERE = Path(__file__).resolve().parent
_SOURCES = _HERE.parent.parent / "wrapper"
_SHARED = ("bytes", "descriptors", "link", "message")
_MODULES = {
    "redlane-sh": (
        *("main", "options", "become", "script", "input", "startup"),
        *("environment", "locate", "ask", "answer"),
    ),
    "redlane-run": ("supervisor", "filtered"),
}
_FLAGS = (
    *("-std=gnu17", "-O2", "-s", "-Wall", "-Wextra", "-Wshadow"),
    *("-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now"),
)
_LINKING = (("-static", "-no-pie"), ("-fPIE", "-pie"))
"""Statically, as one that starts fastest; dynamically where there is no libc.a."""

_CLIENT_ORDER = (
    *("", ".message", ".options", ".environment", ".locate", ".answer", ".ask"),
    *(".become", ".startup", ".main"),
)
_CLIENT = """\
#!{python} -IS
import marshal, sys
sys.path.insert(0, {directory!r})
try:
    with open({bundle!r}, "rb") as file:
        magic, codes = marshal.loads(file.read())
    if magic == sys.implementation.cache_tag:
        for name, code in codes:
            module = sys.modules[name] = type(sys)(name)
            module.__package__, module.__path__ = "client", [{directory!r} + "/client"]
            exec(code, module.__dict__)
except (OSError, ValueError, EOFError):
    pass
from client.main import main
main()
"""
_SUPERVISOR = """\
#!{python} -IS
import sys
package = sys.modules["session"] = type(sys)("session")
package.__path__ = [{directory!r}]
from session.supervisor import main
main()
"""


def program(name: str) -> Path:
    """Where one of PROGRAMS is installed; raises FileNotFoundError when it is not."""
    path = _HERE / "bin" / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: install Redlane again")
    return path


def make_programs(directory: Path, installed: Path | None = None) -> None:
    """Compile the programs into `directory`; without a compiler, write them in Python.

    `installed` is the directory that will hold these modules (default: where they are).
    """
    if not compile_programs(directory):
        write_fallbacks(directory, installed or _HERE)


def compile_programs(directory: Path, flags: Sequence[str] = ()) -> bool:
    """Compile into `directory`; False without a compiler that can."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return False
    directory.mkdir(parents=True, exist_ok=True)
    return all(_compile(compiler, name, directory, flags) for name in PROGRAMS)


def _compile(compiler: str, name: str, directory: Path, flags: Sequence[str]) -> bool:
    sources = [_SOURCES / f"{each}.c" for each in (*_MODULES[name], *_SHARED)]
    target = directory / f"{name}.new"
    for linking in _LINKING:
        command = [compiler, *_FLAGS, *flags, *linking, *map(str, sources)]
        done = subprocess.run(
            [*command, "-o", str(target)], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            target.chmod(0o755)
            target.replace(directory / name)
            return True
    sys.stderr.write(f"redlane: {name} does not compile:\n{done.stderr}")
    return False


def write_fallbacks(directory: Path, installed: Path = _HERE) -> None:
    """Write the programs in Python into `directory`.

    They find their modules in `installed` and start with what is compiled of them here,
    beside the program, when that is of the interpreter's version.
    """
    directory.mkdir(parents=True, exist_ok=True)
    bundle = directory / "redlane-sh.code"
    bundle.write_bytes(_bundle())
    where = {
        "python": str(
            Path(sys.executable).resolve()
        ),  # it needs no virtual environment
        "directory": str(installed),
        "bundle": str(installed / "bin" / bundle.name),
    }
    if installed == _HERE:
        where["bundle"] = str(bundle)
    for name, text in (("redlane-sh", _CLIENT), ("redlane-run", _SUPERVISOR)):
        target = directory / f"{name}.new"
        target.write_text(text.format(**where))
        target.chmod(0o755)
        target.replace(directory / name)


def _bundle() -> bytes:
    """The client's modules compiled, in the order in which they import each other."""
    codes = []
    for name in _CLIENT_ORDER:
        path = _HERE / "client" / f"{name[1:] or '__init__'}.py"
        code = compile(path.read_bytes(), str(path), "exec", optimize=2)
        codes.append((f"client{name}", code))
    return marshal.dumps((sys.implementation.cache_tag, codes))
