"""The listener of a seccomp filter: what it stops, and what is answered to it.

The calls below may come from several threads at once: what goes to the kernel is
packed into `bytes`, which `fcntl.ioctl` copies, so there is no buffer to share. The
threads had better block signals: each has the call begun once more.
"""

import errno
import os
import select
import struct
from contextlib import suppress
from fcntl import ioctl
from typing import NamedTuple

from redlane_context_syscall.kernel.features import Features

__all__ = ["Listener", "Notification"]

_RECEIVE = 0xC0502100
_SEND = 0xC0182101
_IS_VALID = 0x40082102
_ADD = 0x40182103
_SET_FLAGS = 0x40082104

_CONTINUE = 1
_WAKE_ON_THIS_CPU = 1

_NOTHING = bytes(80)  # the kernel insists on zeros
_REQUEST = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")
_ADDED = struct.Struct("=QIIII")
_ID = struct.Struct("=Q")


class Notification(NamedTuple):
    """One stopped system call: registers only, copied by the kernel.

    `pid` is the id of the calling thread; `args` are its six registers, unsigned. A
    tuple, since one is made for every call: it costs a fourth of a dataclass.
    """

    id: int
    pid: int
    flags: int
    number: int
    arch: int
    ip: int
    args: tuple[int, int, int, int, int, int]

    @classmethod
    def unpacked(cls, received: bytes) -> "Notification":
        """What the kernel has written into 80 bytes."""
        identity, pid, flags, number, arch, ip, *args = _REQUEST.unpack(received)
        return cls(identity, pid, flags, number, arch, ip, tuple(args))


class Listener:
    """A filter's listener, owned: closed by `close`."""

    def __init__(self, descriptor: int, features: Features | None = None) -> None:
        """Take the descriptor over and ask for cheap hand-overs (Linux 6.6)."""
        features = features or Features.of_this_kernel()
        self._descriptor = descriptor
        self._has_to_poll = not features.tells_of_the_end
        self._is_closing = False
        with suppress(OSError):
            ioctl(descriptor, _SET_FLAGS, _WAKE_ON_THIS_CPU)

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def receive(self) -> Notification | None:
        """Wait for the next call; None when nobody is left under the filter.

        A caller that died meanwhile is passed over, and so is a signal; but after
        `give_up` a signal to the waiting thread makes it return None.
        """
        while not self._is_closing:
            if self._has_to_poll and self._is_deserted(wait=True):
                return None
            try:
                received = ioctl(self._descriptor, _RECEIVE, _NOTHING)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.EINTR):
                    raise
                if self._is_deserted():
                    return None
                continue
            return Notification.unpacked(received)
        return None

    def _is_deserted(self, *, wait: bool = False) -> bool:
        """Whether nobody is left under the filter; `wait` for that or for a call."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return any(
            event & select.POLLHUP for _, event in poll.poll(None if wait else 0)
        )

    def is_valid(self, identity: int) -> bool:
        """Whether the caller is still alive and waits for its answer."""
        try:
            ioctl(self._descriptor, _IS_VALID, _ID.pack(identity))
        except FileNotFoundError:
            return False
        return True

    def answer(self, identity: int, *, value: int = 0, error: int = 0) -> bool:
        """Have the call return `value`, or fail with the errno `error`.

        False when the caller has gone. Raises OSError for a call answered before.
        """
        return self._send(_RESPONSE.pack(identity, value, -error, 0))

    def go_on(self, identity: int) -> bool:
        """Have the kernel do the call; False when the caller has gone."""
        return self._send(_RESPONSE.pack(identity, 0, 0, _CONTINUE))

    def _send(self, response: bytes) -> bool:
        while True:
            try:
                ioctl(self._descriptor, _SEND, response)
            except FileNotFoundError:
                return False
            except InterruptedError:
                continue
            return True

    def hand_over(self, identity: int, descriptor: int, *, close_on_exec: bool) -> int:
        """Put an open file of ours into the caller's table; its number there.

        -1 when the caller has gone. Raises OSError where it cannot be given one
        (EMFILE: its table is full). The call is not answered: where one step does both
        (ADDFD_FLAG_SEND) and we are stopped or frozen in the middle of it, the kernel
        answers without the file, with 0.
        """
        on_exec = os.O_CLOEXEC if close_on_exec else 0
        # What can be written to has ioctl return its result, the number.
        request = bytearray(_ADDED.pack(identity, 0, descriptor, 0, on_exec))
        while True:
            try:
                number: int = ioctl(self._descriptor, _ADD, request)
            except FileNotFoundError:
                return -1
            except InterruptedError:
                continue
            return number

    def give_up(self) -> None:
        """Receive nothing more; whoever waits returns at the next signal or call."""
        self._is_closing = True

    def close(self) -> None:
        """Close the listener: calls that still wait for an answer get ENOSYS."""
        self._is_closing = True
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)
