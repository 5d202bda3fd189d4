"""What this machine's kernel offers to a supervisor of system calls."""

import os
import re
from dataclasses import dataclass

__all__ = ["Features"]

_VERSION = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Features:
    """A kernel's version, and what came with which; a value, so that tests give others.

    The properties are named after what they allow; the flag of the kernel stands by.
    """

    version: tuple[int, int]

    @classmethod
    def of(cls, release: str) -> "Features":
        """Read a release as uname(2) tells it, like "6.1.0-13-amd64".

        What cannot be read is version 0.0, which offers nothing.
        """
        found = _VERSION.match(release)
        return cls((int(found[1]), int(found[2])) if found else (0, 0))

    @classmethod
    def of_this_kernel(cls) -> "Features":
        """What the running kernel offers."""
        return cls.of(os.uname().release)

    @property
    def goes_on(self) -> bool:
        """A call that was asked about can be left to the kernel (FLAG_CONTINUE)."""
        return self.version >= (5, 5)

    @property
    def resolves(self) -> bool:
        """Paths can be looked at in the process's own view (openat2, pidfd_getfd)."""
        return self.version >= (5, 6)

    @property
    def injects(self) -> bool:
        """Opened files can be handed to the caller (ADDFD): opens are exact."""
        return self.version >= (5, 9)

    @property
    def tells_of_the_end(self) -> bool:
        """Waiting for calls ends when the last process under the filter has."""
        return self.version >= (6, 11)
