"""Where things are: everything is found from the environment that is passed in."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from redlane.errors import UsageError

__all__ = ["SHELL_SOCKET", "SYSTEM_HOME", "SYSTEM_RUN", "Paths"]

SYSTEM_HOME = Path("/etc/redlane")
SYSTEM_RUN = Path("/run/redlane")
SHELL_SOCKET = "shell.sock"
"""The name of the shell wrapper's socket, beside the control socket."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of one daemon (policy format: File locations).

    `home` holds policies, roles, settings and models; `run` the control socket and
    what lives as long as the daemon; `logs` the event logs.
    """

    home: Path
    legacy_policies: Path
    run: Path
    socket: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "Paths":
        """The paths of a user's daemon: from HOME, REDLANE_HOME and REDLANE_SOCKET."""
        user = Path(environ.get("HOME") or "/")
        override = environ.get("REDLANE_HOME")
        home = Path(override) if override else user / ".redlane"
        runtime = environ.get("XDG_RUNTIME_DIR")
        run = Path(runtime) / "redlane" if runtime else home / "run"
        socket = environ.get("REDLANE_SOCKET")
        if socket:
            run = Path(socket).parent
        return cls(
            home=_absolute(home),
            legacy_policies=_absolute(user) / ".config" / "redlane" / "policies.json",
            run=_absolute(run),
            socket=_absolute(Path(socket) if socket else run / "control.sock"),
        )

    @classmethod
    def system(cls) -> "Paths":
        """The paths of the system-wide daemon."""
        return cls(
            home=SYSTEM_HOME,
            legacy_policies=SYSTEM_HOME / "policies.json",
            run=SYSTEM_RUN,
            socket=SYSTEM_RUN / "control.sock",
        )

    @property
    def shell_socket(self) -> Path:
        """The socket of the shell wrapper, beside the control socket."""
        return self.socket.with_name(SHELL_SOCKET)

    @property
    def policies(self) -> Path:
        """The directory of policy files."""
        return self.home / "policies"

    @property
    def roles(self) -> Path:
        """The directory of role files."""
        return self.home / "roles"

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.home / "settings.json"

    @property
    def models(self) -> Path:
        """The directory of installed classifier models."""
        return self.home / "models"

    @property
    def logs(self) -> Path:
        """The directory of event logs."""
        return self.home / "logs"


def _absolute(path: Path) -> Path:
    """`path` from the root; a relative one counts from the working directory."""
    try:
        return path.absolute()
    except OSError as error:
        raise UsageError(
            f"{path}: the working directory is gone, so HOME, REDLANE_HOME and "
            "REDLANE_SOCKET must be whole paths"
        ) from error
