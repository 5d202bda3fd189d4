"""An agent whose system calls are filtered, and asked about at its supervisor.

It behaves as `redlane/wrapper/filtered.c` does, function for function, and says there
how. It stands alone, as `supervisor.py` does.
"""

import ctypes
import fcntl
import mmap
import os
import signal
import socket
import struct
import time
from contextlib import suppress
from errno import EINVAL

__all__ = ["FilterError", "Filtered"]

_FILTER_MAX, _INSTRUCTION_BYTES = 4096 * 8, 8
_PATIENT_LOOKS = 1 << 18
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_NO_NEW_PRIVS = 1, 4, 38
_CLONE_FILES, _SET_MODE_FILTER = 0x400, 1
_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5
_STOPPED, _ENDED, _HAS_LISTENER = b"s", b"e", b"l"
_NUMBERS = {"x86_64": (56, 317), "aarch64": (220, 277)}
"""Of clone and of seccomp."""


class FilterError(Exception):
    """The agent cannot be started under its filter: why, and the status to end with."""

    def __init__(self, message: str, status: int = 126) -> None:
        """`status` is 2 for wrong usage."""
        super().__init__(message)
        self.status = status


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class Filtered:
    """The way from the filter's coming to its being served."""

    def __init__(self, descriptor: int) -> None:
        """Take the filter from the socket; its end is our end from now on.

        Raises FilterError when none comes.
        """
        # Not the C library as usual: another thread's turn would be a system call.
        self._library = ctypes.PyDLL(None, use_errno=True)
        # Whoever supervises may end while the session is frozen: wake, and end it.
        self._library.prctl(_SET_PDEATHSIG, signal.SIGCONT, 0, 0, 0)
        numbers = _NUMBERS.get(os.uname().machine)
        if numbers is None:
            raise FilterError("system calls cannot be filtered on this machine")
        self._clone, self._seccomp = numbers
        try:
            os.set_inheritable(descriptor, False)  # noqa: FBT003  # positional only
            self._link = socket.socket(fileno=descriptor)
        except OSError as error:
            raise FilterError(f"--filter: {error.strerror}", 2) from None
        (length,) = struct.unpack("<I", self._receive(4))
        if not length or length > _FILTER_MAX or length % _INSTRUCTION_BYTES:
            message = f"the filter of the session's system calls has {length} bytes"
            raise FilterError(message)
        self._code = ctypes.create_string_buffer(self._receive(length), length)
        self._program = _Program(
            length // _INSTRUCTION_BYTES, ctypes.addressof(self._code)
        )
        page = mmap.mmap(-1, mmap.PAGESIZE)
        self._listener = ctypes.c_int.from_buffer(page, 0)  # and 1 more: 0 is none yet
        self._reason = ctypes.c_int.from_buffer(page, 4)
        self._served = ctypes.c_int.from_buffer(page, 8)

    def _receive(self, length: int) -> bytes:
        try:
            received = self._link.recv(length, socket.MSG_WAITALL)
        except OSError:
            received = b""
        if len(received) != length:
            raise FilterError("no filter has come for the session's system calls")
        return received

    def fork(self) -> int:
        """Fork, and share the table of descriptors until the child is a program."""
        child: int = self._library.syscall(
            self._clone, _CLONE_FILES | signal.SIGCHLD, 0, 0, 0, 0
        )
        if child < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return child

    def load(self) -> None:
        """In the agent: load the filter and return when it is served."""
        library, served = self._library, self._served
        library.prctl(_SET_DUMPABLE, 1, 0, 0, 0)
        library.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        program = ctypes.byref(self._program)
        call, mode = self._seccomp, _SET_MODE_FILTER
        listener = library.syscall(call, mode, _NEW_LISTENER | _WAIT_KILLABLE, program)
        if listener < 0 and ctypes.get_errno() == EINVAL:
            listener = library.syscall(call, mode, _NEW_LISTENER, program)
        if listener < 0:
            self._reason.value = ctypes.get_errno()
            os._exit(126)
        self._listener.value = listener + 1
        for _ in range(_PATIENT_LOOKS):
            if served.value:
                return
        while not served.value:
            os.sched_yield()

    def hand_over(self, agent: int) -> None:
        """Give the listener away and let the agent go on once it is served.

        Raises FilterError when the agent could not load its filter.
        """
        ended = False
        while not self._listener.value and not ended:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            ended = os.waitid(os.P_PID, agent, flags) is not None
            time.sleep(0.000_05)
        if self._reason.value:
            reason = os.strerror(self._reason.value)
            message = f"the session's system calls cannot be supervised: {reason}"
            raise FilterError(message)
        if not self._listener.value:
            return
        if self._exchange(self._listener.value - 1):
            self._served.value = 1
        else:
            self._link.shutdown(socket.SHUT_RDWR)
        fcntl.fcntl(self._link, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(self._link, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)

    def _exchange(self, listener: int) -> bool:
        """Send the listener and wait for the word that it is served."""
        try:
            socket.send_fds(self._link, [_HAS_LISTENER], [listener])
            return bool(self._link.recv(1))
        except OSError:
            return False
        finally:
            os.close(listener)

    def is_lost(self) -> bool:
        """Whether the supervisor has ended."""
        try:
            while self._link.recv(1, socket.MSG_DONTWAIT):
                continue
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True
        return True

    def tell_stop(self) -> None:
        """Tell the supervisor that we stop because the agent has."""
        self._say(_STOPPED)

    def tell_end(self) -> None:
        """Tell the supervisor that we end because the agent has.

        When we are killed, that is said by nobody.
        """
        self._say(_ENDED)

    def _say(self, byte: bytes) -> None:
        with suppress(OSError):
            self._link.send(byte, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
