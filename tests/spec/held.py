"""What is held in a home, and how a command that was held ends."""

import subprocess
from pathlib import Path
from typing import Any

from spec.redlane_home import REDLANE_SH, Home, wait_for

__all__ = ["REFUSED", "ask", "ended", "held"]

REFUSED = 126
"""The exit status of a command that does not run."""


def held(home: Home) -> list[dict[str, Any]]:
    """The reviews that wait."""
    return home.control.rows("/api/reviews")


def ask(
    home: Home, *words: str, cwd: Path | None = None
) -> tuple[subprocess.Popen[str], str]:
    """Have a command held: its shell, and the review."""
    shell = subprocess.Popen(
        [REDLANE_SH, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=home.environment(),
        cwd=cwd or home.user,
        text=True,
    )
    (review,) = wait_for(lambda: held(home))
    return shell, str(review["id"])


def ended(
    home: Home, *words: str, decision: tuple[str, ...], cwd: Path | None = None
) -> int:
    """Have a command held and decided: how it ended."""
    shell, review = ask(home, *words, cwd=cwd)
    assert home.run("review", decision[0], review, *decision[1:]).code == 0
    shell.communicate(timeout=20)
    return int(shell.returncode)
