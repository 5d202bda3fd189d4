"""What the kernel tells of a task: who it is to the file system, and its umask."""

import os
import re
from typing import NamedTuple

__all__ = ["Credentials", "Task"]

_LONGEST = 4096  # at once; a task with many supplementary groups has more to tell

# In the kernel's order. A name with line breaks in it comes escaped.
_STATUS = re.compile(
    rb"^Umask:\t(?P<umask>[0-7]+)$"
    rb".*?^Tgid:\t(?P<process>\d+)$"
    rb".*?^Uid:\t(?P<users>[\d\t]+)$"
    rb".*?^Gid:\t(?P<groups_of_user>[\d\t]+)$"
    rb".*?^Groups:\t(?P<groups>[\d ]*)$"
    rb".*?^CapInh:\t(?P<inheritable>[0-9a-f]+)$"
    rb".*?^CapPrm:\t(?P<permitted>[0-9a-f]+)$"
    rb".*?^CapEff:\t(?P<effective>[0-9a-f]+)$"
    rb".*?^CapBnd:\t(?P<bounding>[0-9a-f]+)$"
    rb".*?^CapAmb:\t(?P<ambient>[0-9a-f]+)$",
    re.DOTALL | re.MULTILINE,
)


class Credentials(NamedTuple):
    """Who a task is where it touches files; capabilities are masks of bits."""

    user: int
    group: int
    groups: tuple[int, ...]
    effective: int


class Task(NamedTuple):
    """One thread as /proc/TID/status has it, in the ids of the reader's namespace."""

    credentials: Credentials
    process: int
    users: tuple[int, ...]  # real, effective, saved, file system
    user_groups: tuple[int, ...]
    permitted: int
    inheritable: int
    ambient: int
    bounding: int
    umask: int

    @classmethod
    def read(cls, thread: "int | str") -> "Task":
        """Read a thread's status; raises OSError where that cannot be had.

        The id may have passed to another thread meanwhile: whoever acts on what this
        tells has to ask the listener whether the caller is still there.
        """
        descriptor = os.open(f"/proc/{thread}/status", os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = part = os.read(descriptor, _LONGEST)
            while len(part) == _LONGEST:
                part = os.read(descriptor, _LONGEST)
                text += part
        finally:
            os.close(descriptor)
        found = _STATUS.search(text)
        if found is None:
            raise ProcessLookupError(f"thread {thread} tells nothing")
        return cls._told(found)

    @classmethod
    def _told(cls, status: re.Match[bytes]) -> "Task":
        users = tuple(map(int, status["users"].split()))
        groups_of_user = tuple(map(int, status["groups_of_user"].split()))
        return cls(
            credentials=Credentials(
                user=users[3],
                group=groups_of_user[3],
                groups=tuple(map(int, status["groups"].split())),
                effective=int(status["effective"], 16),
            ),
            process=int(status["process"]),
            users=users,
            user_groups=groups_of_user,
            permitted=int(status["permitted"], 16),
            inheritable=int(status["inheritable"], 16),
            ambient=int(status["ambient"], 16),
            bounding=int(status["bounding"], 16),
            umask=int(status["umask"], 8),
        )

    @property
    def keeps_capabilities(self) -> bool:
        """Whether a program that it starts has the very capabilities that it has."""
        effective = self.credentials.effective
        if not any(self.users):
            return not effective & ~self.bounding
        return effective == self.ambient

    @property
    def can_change_itself(self) -> bool:
        """Whether it, or what it starts, may ever come to other credentials.

        With no_new_privs, and without a user namespace of its own, only what is here
        can be made use of.
        """
        held = self.permitted | self.inheritable | self.ambient
        one_user = len(set(self.users)) == 1
        return bool(held) or not (one_user and len(set(self.user_groups)) == 1)
