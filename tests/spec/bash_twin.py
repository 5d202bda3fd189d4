"""Runs the same words with the shell wrapper and with bash, and compares."""

import subprocess
from pathlib import Path
from typing import Any

from spec.redlane_home import DEADLINE, Home, Ran

__all__ = ["run_bash", "same_as_bash"]


def run_bash(
    home: Home,
    *args: str | bytes | Path,
    stdin: str | bytes = b"",
    cwd: Path | None = None,
) -> Ran:
    """What bash itself does."""
    done = subprocess.run(
        ["bash", *args],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        env=home.environment(),
        cwd=cwd or home.user,
        timeout=DEADLINE,
        check=False,
    )
    return Ran(
        done.returncode,
        done.stdout.decode(errors="surrogateescape"),
        done.stderr.decode(errors="surrogateescape"),
    )


def same_as_bash(home: Home, *args: str | bytes | Path, **more: Any) -> Ran:
    """The wrapper's run, after it was found to be the same as bash's."""
    expected = run_bash(home, *args, **more)
    ran = home.shell(*args, **more)
    assert (ran.code, ran.out, ran.err) == (expected.code, expected.out, expected.err)
    return ran
