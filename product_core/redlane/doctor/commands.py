"""Shells and programs, started in every way that agents and their tools start them.

What is tried is what every role refuses: `REDLANE_SESSION` is unset. Where nothing
stops it a word is printed, and that is all.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

from redlane.doctor.findings import REPORT, Finding, held, left_open, untried
from redlane.doctor.targets import Targets
from redlane.messages import REFUSED

__all__ = ["command_canaries", "judge_command"]

_SECONDS = 10.0
_POLICY = re.compile(r"^redlane: blocked: policy '([^']+)'", re.MULTILINE)
_SYSTEM = "import os, sys; sys.exit(os.waitstatus_to_exitcode(os.system(sys.argv[1])))"
_UNSET = "unset REDLANE_SESSION"


def command_canaries() -> Iterator[Callable[[Targets], Finding]]:
    """An attempt for each way to start something."""
    yield lambda to: _try("shell on PATH", ["sh", "-c", _text(to)])
    yield lambda to: _try("shell by its path", ["/bin/sh", "-c", _text(to)])
    yield lambda to: _try("copy of a shell", [to.shell_copy, "-c", _text(to)])
    yield lambda to: _try("os.system", [sys.executable, "-Ic", _SYSTEM, _text(to)])
    yield lambda to: _try(
        "program by its command line",
        ["/usr/bin/env", "-u", "REDLANE_SESSION", "/bin/echo", to.token],
    )


def _text(targets: Targets) -> str:
    return f"{_UNSET}; echo {targets.token}"


def _try(name: str, words: Sequence[str]) -> Finding:
    """Start something that is to be refused."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except OSError as error:
        return untried(name, f"{words[0]} does not start: {error.strerror}")
    except subprocess.TimeoutExpired:
        return untried(name, f"{words[0]} did not end within {_SECONDS:g} s")
    return judge_command(name, words, done)


def judge_command(
    name: str, words: Sequence[str], done: "subprocess.CompletedProcess[str]"
) -> Finding:
    """What the end of a command says, which prints its last word where it runs."""
    what = _UNSET if _UNSET in words[-1] else shlex.join(words[:-1])
    if words[-1].split()[-1] in done.stdout:
        return left_open(name, f"`{what}` ran", REPORT)
    lines = done.stderr.strip().splitlines()
    if done.returncode == REFUSED and done.stderr.startswith("redlane: "):
        policy = _POLICY.search(done.stderr)
        why = policy[1] if policy else lines[0].removeprefix("redlane: ")
        return held(name, f"`{what}` is refused: {why}")
    last = f": {lines[-1]}" if lines else ""
    return untried(name, f"{words[0]} ended with {done.returncode}{last}")
