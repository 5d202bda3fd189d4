"""The directory of shims: what a session finds first on its PATH.

`sh`, `bash` and `redlane-sh` there are the shell wrapper, `redlane` is the command line
of this very installation.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from redlane.contexts.shell.running.programs import program

__all__ = ["SHELL_NAMES", "install_shims"]

SHELL_NAMES = ("sh", "bash", "redlane-sh")

_COMMAND_LINE = """\
#!/bin/sh
exec {python} -I -c 'import sys
from redlane.cli.main import main
sys.argv[0] = "redlane"
sys.exit(main())' "$@"
"""


def install_shims(directory: Path) -> None:
    """Fill `directory` with the shims, each replaced in one step.

    Raises OSError when it cannot be written, or when the wrapper was never built.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    wrapper = program("redlane-sh")
    for name in SHELL_NAMES:
        _replace(directory / name, lambda new: _copy(wrapper, new))
    python = shlex.quote(sys.executable)
    text = _COMMAND_LINE.format(python=python)
    _replace(directory / "redlane", lambda new: _write(new, text))


def _replace(target: Path, make: Callable[[Path], None]) -> None:
    new = target.with_name(f".{target.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        new.unlink()
    make(new)
    new.replace(target)


def _copy(wrapper: Path, new: Path) -> None:
    """A copy, not a link: the wrapper tells where it is by the name it was run by."""
    shutil.copyfile(wrapper, new)
    new.chmod(0o755)


def _write(new: Path, text: str) -> None:
    new.write_text(text)
    new.chmod(0o755)
