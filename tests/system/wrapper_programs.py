"""The wrapper's programs, compiled into a directory of their own."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redlane.contexts.shell.running.compiling import compile_programs, compiler_of

__all__ = ["Wrapper", "make_wrapper", "plain_environment"]


@dataclass(frozen=True)
class Wrapper:
    """The programs, under every name that they are called by."""

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


def make_wrapper(directory: Path) -> Path:
    """Compile the programs into `directory`, as the shims are called too."""
    compile_programs(directory, compiler_of(os.environ), ("-Werror",))
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
