"""The listener of a seccomp filter: what it stops, and what is answered to it."""

from dataclasses import dataclass

__all__ = ["Notification"]


@dataclass(frozen=True, slots=True)
class Notification:
    """One stopped system call: registers only, copied by the kernel.

    `pid` is the id of the calling thread; `args` are its six registers, unsigned.
    """

    id: int
    pid: int
    flags: int
    number: int
    arch: int
    ip: int
    args: tuple[int, int, int, int, int, int]
