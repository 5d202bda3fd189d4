"""How `redlane-sh` and `redlane-run` are compiled, for `setup.py`."""

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redlane.contexts.shell.running.programs import PROGRAMS

__all__ = [
    "CompileError",
    "Compiled",
    "compile_programs",
    "compiler_of",
]

_SOURCES = Path(__file__).resolve().parents[3] / "wrapper"
_SHARED = (
    *("bytes", "command_line", "descriptors", "frame", "link", "message"),
    "processes",
)
_UNITS = {
    "redlane-sh": (
        *("main", "options", "become", "script", "input", "startup"),
        *("environment", "locate", "ask", "answer", "installed", "program", "home"),
    ),
    "redlane-run": (
        *("supervisor", "given", "filtered", "leash"),
        *("asked", "keeper", "notified", "bounds", "call", "actor", "doing"),
        *("opening", "binding", "connecting", "egress", "egress_filter"),
        *("datagrams", "sockets", "internet", "whole_network"),
        *("names", "dns", "session_proxy", "leading"),
        *("domains", "kept", "table", "places", "reached", "walk", "proc", "mounts"),
        *("devices", "hidden", "owner", "reading", "apart", "peeking", "pipes"),
        *("crew", "file"),
        *("request", "report", "complaint"),
        *("execs", "starts", "becoming", "judged", "questions", "passes"),
        *("images", "redirect", "registers", "alone", "whole", "secure", "locate"),
        *("pending", "instead", "installed", "answer", "options", "environment"),
        "home",
    ),
}
_FLAGS = (
    *("-std=gnu17", "-O2", "-s", "-Wall", "-Wextra", "-Wshadow"),
    *("-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now"),
)
_DYNAMICALLY = ("-fPIE", "-pie")
_STATICALLY = {
    "redlane-sh": ("-static", "-no-pie"),
    "redlane-run": ("-static-pie", "-fPIE"),
}
"""`redlane-sh` starts with each command, as fast as it can. `redlane-run` starts once,
and reads what a session's programs write: they are not to know where its code lies."""
_COMPILERS = ("cc", "gcc", "clang")
_MENDED_BY = "or install a wheel of Redlane, which has its programs compiled"


class CompileError(Exception):
    """The programs cannot be made here: one line that says why, and what mends it."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What was made: for which `machine`, as `uname -m` names it there.

    `is_static`: it runs with any C library, or none.
    """

    machine: str
    is_static: bool


def compiler_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The C compiler: what CC says, as for make, or what is there.

    Raises CompileError where there is none.
    """
    named = shlex.split(environ.get("CC", ""))
    for words in [named] if named else [[each] for each in _COMPILERS]:
        if shutil.which(words[0], path=environ.get("PATH")):
            return tuple(words)
    missing = f"no C compiler {named[0]} (CC names it)" if named else "no C compiler"
    raise CompileError(
        f"{missing}: install one (Debian: apt install gcc libc6-dev), {_MENDED_BY}"
    )


def compile_programs(
    directory: Path, compiler: Sequence[str], flags: Sequence[str] = ()
) -> Compiled:
    """Compile into `directory`, statically where the C library is there for that.

    A program that needs no loader starts fastest. Raises CompileError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    machine = _run((*compiler, "-dumpmachine")).stdout.partition("-")[0]
    linked = [_compile(compiler, name, directory, flags) for name in PROGRAMS]
    return Compiled(machine, is_static=_DYNAMICALLY not in linked)


def _compile(
    compiler: Sequence[str], name: str, directory: Path, flags: Sequence[str]
) -> tuple[str, ...]:
    """Make one program; how it could be linked."""
    sources = [str(_SOURCES / f"{each}.c") for each in (*_UNITS[name], *_SHARED)]
    target = directory / f"{name}.new"
    for linking in (_STATICALLY[name], _DYNAMICALLY):
        done = _run((*compiler, *_FLAGS, *flags, *linking, *sources, "-o", str(target)))
        if done.returncode == 0:
            target.chmod(0o755)
            target.replace(directory / name)
            return linking
    raise CompileError(
        f"{name} does not compile ({_first_error(done.stderr)}): install the C "
        f"library's headers (Debian: apt install libc6-dev), {_MENDED_BY}"
    )


def _run(words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, check=False)


def _first_error(said: str) -> str:
    """The line of a compiler's that tells most."""
    lines = said.strip().splitlines() or ["it says nothing"]
    return next((each for each in lines if "error" in each), lines[-1]).strip()
