"""The numbers of system calls on this machine, and their names."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import pyseccomp  # type: ignore[import-untyped]  # it brings no types

__all__ = ["NATIVE", "name_of", "number_of"]

NATIVE: int = pyseccomp.system_arch()
"""The architecture as notifications carry it (AUDIT_ARCH_…)."""

_NEWER: Mapping[str, int] = MappingProxyType(
    {
        "process_madvise": 440,
        "epoll_pwait2": 441,
        "mount_setattr": 442,
        "quotactl_fd": 443,
        "landlock_create_ruleset": 444,
        "landlock_add_rule": 445,
        "landlock_restrict_self": 446,
        "memfd_secret": 447,
        "process_mrelease": 448,
        "futex_waitv": 449,
        "set_mempolicy_home_node": 450,
        "cachestat": 451,
        "fchmodat2": 452,
        "map_shadow_stack": 453,
        "futex_wake": 454,
        "futex_wait": 455,
        "futex_requeue": 456,
        "statmount": 457,
        "listmount": 458,
        "lsm_get_self_attr": 459,
        "lsm_set_self_attr": 460,
        "lsm_list_modules": 461,
        "mseal": 462,
        "setxattrat": 463,
        "getxattrat": 464,
        "listxattrat": 465,
        "removexattrat": 466,
        "open_tree_attr": 467,
        "file_getattr": 468,
        "file_setattr": 469,
        "listns": 470,
    }
)
"""Calls that an older libseccomp does not know; new ones have one number everywhere."""

_NEWER_NAMES = MappingProxyType({number: name for name, number in _NEWER.items()})


@cache
def number_of(name: str) -> int | None:
    """The number of a system call; None where this machine has none of that name."""
    number: int = pyseccomp.resolve_syscall(NATIVE, name)
    return number if number >= 0 else _NEWER.get(name)


@cache
def name_of(number: int) -> str | None:
    """The name of a system call; None for a number that nothing is known of."""
    try:
        name: bytes = pyseccomp.resolve_syscall(NATIVE, number)
    except ValueError:
        return _NEWER_NAMES.get(number)
    return name.decode()
