"""One child process: how it is fed, heard and always brought to an end."""

import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from contextlib import suppress

from redlane.execution.values import Command, Ending, Manner

__all__ = ["Child"]

CHUNK = 65_536
REAP_MILLISECONDS = 200
MEBI = 1024 * 1024


class Child:
    """A running command: its process, our ends of its pipes, and what it has written.

    `stdin` and `stdout` are None once there is nothing more to write or to read.
    """

    def __init__(
        self,
        command: Command,
        process: "subprocess.Popen[bytes]",
        pidfd: int,
        pipes: tuple[int, int | None],
    ) -> None:
        """Take over the descriptors, which are closed when the child ends."""
        self.pidfd = pidfd
        self.stdin: int | None = pipes[0]
        self.stdout = pipes[1]
        self._process = process
        self._most_output = command.most_output
        self._unsent = memoryview(command.stdin)
        self._output = bytearray()

    def awaited(self) -> Iterator[tuple[int, int]]:
        """The descriptors to watch, each with its event for `poll`."""
        yield self.pidfd, select.POLLIN
        if self.stdin is not None:
            yield self.stdin, select.POLLOUT
        if self.stdout is not None:
            yield self.stdout, select.POLLIN

    def act(self, descriptor: int) -> Ending | None:
        """Do what the readiness of a descriptor asks for; the ending, if it is one."""
        if descriptor == self.pidfd:
            return self._finish()
        if descriptor == self.stdin:
            self._feed()
        elif descriptor == self.stdout:
            return self._hear()
        return None

    def _feed(self) -> None:
        """Write what the pipe takes; a reader that went away has heard enough."""
        if self.stdin is None:
            return
        try:
            written = os.write(self.stdin, self._unsent[:CHUNK]) if self._unsent else 0
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = self._unsent[:0]
        else:
            self._unsent = self._unsent[written:]
        if not self._unsent:
            os.close(self.stdin)
            self.stdin = None

    def _hear(self) -> Ending | None:
        """Read what has been written; too much of it ends the child."""
        if self.stdout is None:
            return None
        try:
            piece = os.read(self.stdout, CHUNK)
        except BlockingIOError:
            return None
        self._output += piece
        if not piece:
            os.close(self.stdout)
            self.stdout = None
        if len(self._output) > self._most_output:
            self.stop()
            return _too_much_output(self._most_output)
        return None

    def _finish(self) -> Ending:
        """The ending of a child that has exited, whatever its pipes do.

        The group is killed first: as long as the child is a zombie, no other process
        can have got its number.
        """
        self.kill()
        self._drain()
        self._close()
        try:
            # Not Popen.wait: that takes a lost status for 0, which is a match.
            status = os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED)
        except ChildProcessError:
            status = None
        # Told to Popen, which would wait again; by now the number may be another's.
        self._process.returncode = status.si_status if status else -1
        os.close(self.pidfd)
        if status is None:
            return Ending(
                Manner.STATUS_LOST,
                "ended, but its exit status was lost",
            )
        if status.si_code != os.CLD_EXITED:
            return _killed_by(status.si_status)
        if len(self._output) > self._most_output:
            return _too_much_output(self._most_output)
        code = status.si_status
        told = f"exited with status {code}"
        return Ending(Manner.EXITED, told, code, bytes(self._output))

    def stop(self) -> None:
        """Kill the child and its group, and see to it that it leaves no zombie.

        What even SIGKILL does not end at once (another user's process, a file system
        that hangs) is left to a thread that does nothing but wait for it.
        """
        self.kill()
        self._close()
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        gone = bool(poll.poll(REAP_MILLISECONDS))
        os.close(self.pidfd)
        if gone:
            self._process.wait()
        else:
            threading.Thread(target=self._process.wait, daemon=True).start()

    def kill(self) -> None:
        """Kill the whole group, in one step that no fork can slip through.

        A process that made a session or group of its own has left ours and is not
        found; it no longer holds up any answer and cannot change one.
        """
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _drain(self) -> None:
        """Read what was in the pipe at the exit, and not what others write later."""
        if self.stdout is None:
            return
        counted = fcntl.ioctl(self.stdout, termios.FIONREAD, b"\0" * 4)
        left = struct.unpack("i", counted)[0]
        while left > 0:
            piece = os.read(self.stdout, left)
            self._output += piece
            left = left - len(piece) if piece else 0

    def _close(self) -> None:
        for descriptor in (self.stdin, self.stdout):
            if descriptor is not None:
                os.close(descriptor)
        self.stdin = self.stdout = None


def _killed_by(number: int) -> Ending:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return Ending(Manner.KILLED, f"was killed by {name}", number)


def _too_much_output(most: int) -> Ending:
    size = f"{most // MEBI} MiB" if most >= MEBI else f"{most // 1024} KiB"
    return Ending(Manner.TOO_MUCH_OUTPUT, f"wrote more than {size}")
