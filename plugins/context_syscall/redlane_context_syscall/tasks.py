"""What the kernel tells of a task: who it is to the file system, and its umask."""

import os
from dataclasses import dataclass

__all__ = ["Credentials", "Task"]

_LONGEST = 262_144  # a task may have 65,536 supplementary groups, and they are listed


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who a task is where it touches files; capabilities are masks of bits."""

    user: int
    group: int
    groups: tuple[int, ...]
    effective: int


@dataclass(frozen=True, slots=True)
class Task:
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
            text = os.read(descriptor, _LONGEST)
            while part := os.read(descriptor, _LONGEST):
                text += part
        finally:
            os.close(descriptor)
        try:
            return cls._parsed(text)
        except (KeyError, ValueError, IndexError) as error:
            raise ProcessLookupError(f"thread {thread} tells nothing") from error

    @classmethod
    def _parsed(cls, text: bytes) -> "Task":
        lines = (line.partition(b":") for line in text.splitlines())
        fields = {name: value for name, _, value in lines}
        users = tuple(map(int, fields[b"Uid"].split()))
        user_groups = tuple(map(int, fields[b"Gid"].split()))
        return cls(
            credentials=Credentials(
                user=users[3],
                group=user_groups[3],
                groups=tuple(map(int, fields[b"Groups"].split())),
                effective=int(fields[b"CapEff"], 16),
            ),
            process=int(fields[b"Tgid"]),
            users=users,
            user_groups=user_groups,
            permitted=int(fields[b"CapPrm"], 16),
            inheritable=int(fields[b"CapInh"], 16),
            ambient=int(fields[b"CapAmb"], 16),
            bounding=int(fields[b"CapBnd"], 16),
            umask=int(fields[b"Umask"], 8),
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
