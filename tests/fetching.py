"""What has to come over a network, which may fail: it is tried, and told of."""

import os
import shlex
import subprocess
from pathlib import Path

__all__ = ["fetch"]

_TRIES = 3
_SECONDS = 110


def fetch(*command: str | Path, directory: Path | None = None) -> None:
    """Run a command that fetches something; raises OSError when it keeps failing.

    No test's deadline is to pass meanwhile: it is for fixtures, before a test begins.
    """
    for _ in range(_TRIES):
        try:
            subprocess.run(
                command,
                cwd=directory,
                check=True,
                timeout=_SECONDS,
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONWARNINGS": ""},
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            why = f"{error} {error.stderr or ''}"
        else:
            return
    what = shlex.join(map(str, command))
    raise OSError(f"cannot be fetched, in {_TRIES} tries: {what}: {why}")
