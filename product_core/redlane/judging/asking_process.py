"""The process that asks: where it is, its variables, and where its paths are for us."""

import hashlib
import os
from collections.abc import Mapping

__all__ = ["AskingProcess"]

_PASSING = frozenset({b"_", b"SHLVL", b"PWD", b"OLDPWD"})
"""Variables of a shell's own that differ each time."""


class AskingProcess:
    """One process as /proc shows it; `is_hidden`: not all of that is shown."""

    def __init__(self, pid: int) -> None:
        """Read the environment of `pid`."""
        self.is_hidden = False
        self._own = f"/proc/{pid}"
        self._environment = self._read_environment()

    def place(self) -> tuple[tuple[int, int], ...]:
        """Which directories its own and its root are."""
        try:
            found = [os.stat(f"{self._own}/{each}") for each in ("cwd", "root")]  # noqa: PTH116  # as its other paths
        except OSError:
            self.is_hidden = True
            return ()
        return tuple((each.st_dev, each.st_ino) for each in found)

    def variables(self) -> bytes:
        """A digest of the variables that a command is given."""
        kept = sorted(i for i in self._environment.items() if i[0] not in _PASSING)
        return hashlib.sha256(repr(kept).encode()).digest()

    def program_places(self) -> list[str]:
        """The directories of its PATH, as they stand there."""
        return os.fsdecode(self._environment.get(b"PATH", b"")).split(":")

    def seen(self, path: str) -> str:
        """Where a path of the process is for us."""
        if path == "~" or path.startswith("~/"):
            home = os.fsdecode(self._environment.get(b"HOME", b""))
            path = f"{home}{path[1:]}"
        top = "root" if path.startswith("/") else "cwd"
        return f"{self._own}/{top}/{path}"

    def _read_environment(self) -> Mapping[bytes, bytes]:
        """By names; of two of one name, the guarded shell keeps the first."""
        try:
            with open(f"{self._own}/environ", "rb") as file:  # noqa: PTH123  # as above
                entries = file.read().split(b"\0")
        except OSError:
            self.is_hidden = True
            return {}
        parts = (each.partition(b"=") for each in reversed(entries) if b"=" in each)
        return {name: value for name, _, value in parts}
