"""What the filter refuses where a role tells in which places files may be changed.

The supervisor is asked about every call that makes, changes or removes a file by its
path or descriptor. What could be done past it, to one that is open for reading or by a
number that no path is known of, is refused.
"""

from collections.abc import Iterator
from errno import ENOSYS, EPERM

from redlane_context_syscall.bpf import NOTIFY, Condition, refuse
from redlane_context_syscall.filter_rules import FilterRule

__all__ = ["asked", "refused"]

_NEW = ("setxattrat", "removexattrat", "file_setattr")
_QUOTAS = ("quotactl", "quotactl_fd")
_ATTRIBUTES = (
    *(0x40086602, 0x40046602, 0x401C5820),  # FS_IOC_SETFLAGS, _FSSETXATTR
    *(0x40087602, 0x40047602),  # FS_IOC_SETVERSION
    *(0x40086604, 0x40046604),  # EXT4_IOC_SETVERSION
    *(0x40047211, 0x4004F50D),  # FAT_IOCTL_SET_ATTRIBUTES, F2FS_IOC_SET_PIN_FILE
)
_SEALING = (0x40806685, 0x800C6613)  # FS_IOC_ENABLE_VERITY, _SET_ENCRYPTION_POLICY
_SUBVOLUMES = (0x5000940E, 0x5000940F, 0x50009418, 0x5000943F, 0x4008941A)  # BTRFS_IOC_
_RECEIVED = 0xC0C89425  # BTRFS_IOC_SET_RECEIVED_SUBVOL
_FILE_SYSTEMS = (
    *(0x41009432, 0x4008662C),  # FS_IOC_SETFSLABEL, EXT4_IOC_SETFSUUID
    *(0x8004587D, 0xC0045877, 0xC0185879),  # EXT4_IOC_SHUTDOWN, FIFREEZE, FITRIM
)


def asked() -> Iterator[FilterRule]:
    """The calls that the supervisor is asked about in such sessions alone."""
    yield FilterRule("bind", NOTIFY, "makes a file of a Unix socket's path")


def refused() -> Iterator[FilterRule]:
    """The calls that are refused."""
    for name in _NEW:
        why = "it has a new form, and programs fall back on the old"
        yield FilterRule(name, refuse(ENOSYS), why)
    for name in _QUOTAS:
        yield FilterRule(name, refuse(EPERM), "changes what a file system keeps")
    kinds = (
        (_ATTRIBUTES, "changes a file that is open to be read only"),
        (_SEALING, "closes a file for good that is open to be read only"),
        ((*_SUBVOLUMES, _RECEIVED), "makes, removes or marks a whole tree by a number"),
        (
            _FILE_SYSTEMS,
            "changes a whole file system by a file that is open to be read",
        ),
    )
    for commands, why in kinds:
        yield FilterRule("ioctl", refuse(EPERM), why, (Condition(1, commands),))
