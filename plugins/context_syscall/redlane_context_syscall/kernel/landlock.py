"""Landlock, for a thread of the supervisor that acts in another process's place."""

import os
import struct
from ctypes import c_char_p, c_long

from redlane_context_syscall.kernel.system import prctl, raw

__all__ = ["make_sockets_below"]

_NO_NEW_PRIVILEGES = 38
_MAKE_SOCKET = 1 << 9  # LANDLOCK_ACCESS_FS_MAKE_SOCK
_PATH_BENEATH = 1
_RULES = struct.Struct("=Q")
_BENEATH = struct.Struct("=Qi")

_create = raw("landlock_create_ruleset", c_char_p, c_long, c_long)
_add = raw("landlock_add_rule", c_long, c_long, c_char_p, c_long)
_restrict = raw("landlock_restrict_self", c_long, c_long)


def make_sockets_below(directory: int) -> None:
    """Have the calling thread make socket files nowhere else, for good.

    Raises OSError on a kernel that has it not (Linux 5.13) or has it switched off.
    """
    rules = _create(_RULES.pack(_MAKE_SOCKET), _RULES.size, 0)
    try:
        _add(rules, _PATH_BENEATH, _BENEATH.pack(_MAKE_SOCKET, directory), 0)
        prctl(_NO_NEW_PRIVILEGES, 1)
        _restrict(rules, 0)
    finally:
        os.close(rules)
