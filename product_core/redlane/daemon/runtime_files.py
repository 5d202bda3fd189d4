"""What the daemon leaves beside its socket for the shell wrapper.

`shell-timeout` says how many seconds the wrapper waits, which is longer than a verdict
may take: what is late is told by the verdict, which names it. `bin/` holds the wrapper
under the names of the shells that it stands for.
"""

from redlane.contexts.shell.running.shims import install_shims
from redlane.errors import DaemonError
from redlane.model.settings import Settings
from redlane.paths import Paths

__all__ = ["SHIMS", "write_shims", "write_timeout"]

SHIMS = "bin"
"""The directory of the shims, below the run directory."""

_MARGIN_SECONDS = 2
"""What an answer may take besides the verdict: programs are ended, an event is written,
and on a busy machine either side waits for its turn."""


def write_timeout(paths: Paths, settings: Settings) -> None:
    """Write the timeout, if it is another; the file is whole or not there."""
    file, fresh = paths.run / "shell-timeout", paths.run / ".shell-timeout.new"
    # Everybody's wrappers read it where the daemon is the machine's.
    mode = 0o644 if paths.is_system else 0o600
    seconds = settings.sevsh.validation_timeout_seconds + _MARGIN_SECONDS
    text = f"{seconds:g}\n"
    try:
        # A reload that leaves it as it is must work on a full disk as well.
        if file.is_file() and file.read_text(errors="replace") == text:
            return
        fresh.write_text(text)
        fresh.chmod(mode)
        fresh.replace(file)
    except OSError as error:
        raise DaemonError(f"{fresh}: {error.strerror}") from error


def write_shims(paths: Paths) -> None:
    """Install the shims; raises DaemonError when that is not possible."""
    try:
        install_shims(paths.run / SHIMS)
        if paths.is_system:
            (paths.run / SHIMS).chmod(0o755)
    except OSError as error:
        raise DaemonError(f"the shell wrapper cannot be installed: {error}") from error
