"""Where things are: everything is found from the environment that is passed in.

The machine's daemon is the exception: its places are fixed, so that no environment
leads those whom it serves, or itself, to another.
"""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from redlane.errors import UsageError

__all__ = [
    "SHELL_SOCKET",
    "SYSTEM_HOME",
    "SYSTEM_LOGS",
    "SYSTEM_RUN",
    "SYSTEM_STATE",
    "Paths",
]

SYSTEM_HOME = Path("/etc/redlane")
SYSTEM_RUN = Path("/run/redlane")
SYSTEM_LOGS = Path("/var/log/redlane")
SYSTEM_STATE = Path("/var/lib/redlane")
SHELL_SOCKET = "shell.sock"
"""The name of the shell wrapper's socket, beside the control socket."""

_SOCKET = "control.sock"


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of one daemon (policy format: File locations).

    `home` holds policies, roles, settings and models; `run` the control socket and
    what lives as long as the daemon; `logs` the event logs. `is_system`: they are the
    machine's, which serves every user.
    """

    home: Path
    legacy_policies: Path
    run: Path
    socket: Path
    is_system: bool = False

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
            socket=_absolute(Path(socket) if socket else run / _SOCKET),
        )

    @classmethod
    def system(cls) -> "Paths":
        """The paths of the machine's daemon."""
        return cls(
            home=SYSTEM_HOME,
            legacy_policies=SYSTEM_HOME / "policies.json",
            run=SYSTEM_RUN,
            socket=SYSTEM_RUN / _SOCKET,
            is_system=True,
        )

    @classmethod
    def of_daemon_to_ask(cls, environ: Mapping[str, str]) -> "Paths":
        """The paths of the daemon that commands ask.

        REDLANE_SOCKET names it; without, REDLANE_HOME says that it is the user's own.
        With neither it is the machine's, where there is one.
        """
        named = environ.get("REDLANE_SOCKET") or environ.get("REDLANE_HOME")
        if not named and _is_socket(SYSTEM_RUN / _SOCKET):
            return cls.system()
        own = cls.from_environment(environ)
        return cls.system() if own.socket == SYSTEM_RUN / _SOCKET else own

    @property
    def shell_socket(self) -> Path:
        """The socket of the shell wrapper, beside the control socket."""
        return self.socket.with_name(SHELL_SOCKET)

    @property
    def policies(self) -> Path:
        """The directory of policy files."""
        return self.home / "policies"

    @property
    def hub_policies(self) -> Path:
        """The directory of the policy files that came from a hub."""
        return self.policies / "hub"

    @property
    def roles(self) -> Path:
        """The directory of role files."""
        return self.home / "roles"

    @property
    def projects(self) -> Path:
        """The directory of the projects that are trusted."""
        return self.home / "projects"

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.home / "settings.json"

    @property
    def logs(self) -> Path:
        """The directory of event logs."""
        return SYSTEM_LOGS if self.is_system else self.home / "logs"

    @property
    def authority(self) -> Path:
        """The directory of the certificate authority of TLS interception."""
        return (SYSTEM_STATE if self.is_system else self.home) / "ca"

    @property
    def pins(self) -> Path:
        """The directory of what is pinned of MCP servers."""
        return (SYSTEM_STATE if self.is_system else self.home) / "pins"

    @property
    def hub_logins(self) -> Path:
        """The directory of the tokens of hubs."""
        return self.home / "hub-logins"

    @property
    def hub_keys(self) -> Path:
        """The directory of the keys to sign with what is published."""
        return self.home / "keys"

    @property
    def hub_lock(self) -> Path:
        """The file that says which versions came from a hub."""
        return self.home / "hub.lock"

    @property
    def hub_trust(self) -> Path:
        """The file of the publishers that are trusted."""
        return self.home / "hub-trust.json"

    @property
    def hub_subscription(self) -> Path:
        """The file of the last status of a subscription."""
        return self.home / "hub-subscription.json"

    @property
    def models(self) -> Path:
        """The directory of installed classifier models."""
        return self.home / "models"


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False


def _absolute(path: Path) -> Path:
    """`path` from the root; a relative one counts from the working directory."""
    try:
        return path.absolute()
    except OSError as error:
        raise UsageError(
            f"{path}: the working directory is gone, so HOME, REDLANE_HOME and "
            "REDLANE_SOCKET must be whole paths"
        ) from error
