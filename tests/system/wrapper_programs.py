"""The wrapper's programs, compiled and in Python, each in a directory of its own."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redlane.contexts.shell.programs import compile_programs, write_fallbacks

__all__ = ["KINDS", "Wrapper", "make_wrapper", "plain_environment"]

KINDS = ("compiled", "python")


@dataclass(frozen=True)
class Wrapper:
    """One kind of the programs, under every name that they are called by."""

    kind: str
    directory: Path
    environment: Mapping[str, str]

    def __call__(
        self,
        *words: str | bytes | Path,
        name: str = "redlane-sh",
        stdin: bytes | None = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run the wrapper to its end."""
        return subprocess.run(
            [self.directory / name, *words],
            input=stdin,
            capture_output=True,
            env={**self.environment, **(env or {})},
            cwd=cwd or self.directory,
            pass_fds=pass_fds,
            timeout=30,
            check=False,
        )


def make_wrapper(kind: str, directory: Path) -> Path:
    """Build one kind of the programs into `directory`, as the shims are called too."""
    if kind == "compiled":
        assert compile_programs(directory, ("-Werror",))
    else:
        write_fallbacks(directory)
    for name in ("bash", "sh", "another-name"):
        shutil.copy2(directory / "redlane-sh", directory / name)
    return directory


def plain_environment(home: Path, socket: Path) -> dict[str, str]:
    """An environment in which only `socket` says whom to ask."""
    return {
        "HOME": str(home),
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "REDLANE_SOCKET": str(socket),
    }
