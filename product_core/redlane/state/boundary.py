"""What this machine's kernel holds of a session's boundary (docs/the-boundary.md).

Shells and programs are guarded on every kernel that is supported. What lies outside of
a session is kept from it by Landlock, which came to hold signals late.
"""

import ctypes
import platform
from functools import cache

__all__ = ["landlock_version", "not_held", "why_not_whole"]

_CREATE_RULESET = 444
_ASK_VERSION = 1
_SCOPES_FROM = 6
"""The version that has scopes."""

_SCOPED = (
    "signals to processes outside",
    "tracing processes outside",
    "abstract sockets outside",
)
_SCOPES_SINCE = "Linux 6.12"
_MACHINES = ("x86_64", "aarch64")


@cache
def landlock_version() -> int:
    """The version of Landlock's interface; 0 where there is none."""
    if platform.machine() not in _MACHINES:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    version: int = libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    return max(0, version)


def not_held(version: int) -> tuple[str, ...]:
    """What a kernel with this version of Landlock does not keep a session from."""
    return () if version >= _SCOPES_FROM else _SCOPED


def why_not_whole() -> str:
    """What this kernel does not hold, and which one does, or ""."""
    missing = not_held(landlock_version())
    if not missing:
        return ""
    return (
        f"this kernel does not hold {', '.join(missing)}: {_SCOPES_SINCE} does, "
        "with Landlock"
    )
