"""The process that answers fanotify: which programs may be executed.

Run as `python -I -m redlane_context_syscall.ebpf.watching SOCKET CGROUP`. While it is
alive every exec of the machine waits for its answer, so it must never wait itself: it
is a process of its own, which job control does not stop with the session; it lets
whatever is outside the session's cgroup go on at once, hands the others to the
supervisor through SOCKET, and refuses those that stay unanswered. When it ends, the
kernel lets everything go on. It ends when the supervisor does, whose child it is not:
a supervisor ends all its children when the session is over.
"""

import ctypes
import os
import resource
import select
import socket
import struct
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

from redlane_context_syscall.ebpf.cgroup import SessionCgroup

__all__ = ["ANSWER", "ASKED", "FAILED", "MARKED", "NO", "QUESTION", "YES", "main"]

ASKED = struct.Struct("=cIi")
"""From here: what it is, its number, the thread; then the file's path."""

MARKED = b"M"
"""From here: the file systems, and its process in place of a thread.

Then "device device …\\0device …", those that are watched and those that are not.
"""

QUESTION = b"Q"
"""From here: a file is about to be executed; then its canonical path."""

FAILED = b"X"
"""From here: why there is no watching; then the text."""

ANSWER = struct.Struct("=cI")
"""To here: YES or NO, and the question's number."""

YES, NO = b"Y", b"N"

_ANSWER_SECONDS = 30.0
_MOST_WAITING = 1024

_LIBRARY = ctypes.CDLL(None, use_errno=True)
# Content class, close-on-exec, non-blocking, no bounds on queue and marks, thread ids.
_INIT_FLAGS = 0x4 | 0x1 | 0x2 | 0x10 | 0x20 | 0x100
# O_NONBLOCK: opening a file that somebody holds a lease on must not wait for it.
_EVENT_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_MARK_ADD, _MARK_FILE_SYSTEM = 0x1, 0x100
_OPEN_EXEC_PERMISSION = 0x40000
_EVENT = struct.Struct("=IBBHQii")
_RESPONSE = struct.Struct("=iI")
_FAN_ALLOW, _FAN_DENY = 1, 2
_READ_BYTES = 64 * _EVENT.size

# Opening a file of these waits for somebody else, who may be in the session.
_WAITING_KINDS = ("fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "autofs", "coda")


class _Waiting:
    """One exec of the session that waits for its answer."""

    __slots__ = ("deadline", "file")

    def __init__(self, file: int) -> None:
        """`file` is the event's descriptor."""
        self.file = file
        self.deadline = time.monotonic() + _ANSWER_SECONDS


class Watcher:
    """One fanotify group, and the questions that are under way."""

    def __init__(self, connection: socket.socket, cgroup: str) -> None:
        """Ask over `connection` about what is in the cgroup; raises OSError."""
        self._connection = connection
        self._cgroup = cgroup
        self._group = _checked(
            _LIBRARY.fanotify_init(_INIT_FLAGS, ctypes.c_uint(_EVENT_FLAGS))
        )
        self._mounts = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._questions: dict[int, _Waiting] = {}
        self._unsent: deque[bytes] = deque()
        self._number = 0

    def run(self) -> None:
        """Answer until the supervisor has gone."""
        connection, group, mounts = (
            self._connection.fileno(),
            self._group,
            self._mounts,
        )
        self._mark()
        poll = select.poll()
        poll.register(group, select.POLLIN)
        poll.register(mounts, select.POLLPRI)
        while True:
            writable = select.POLLOUT if self._unsent else 0
            poll.register(connection, select.POLLIN | writable)
            ready = dict(poll.poll(1000 if self._questions else None))
            if group in ready:
                self._events()
            if connection in ready and not self._answers():
                return
            if mounts in ready:
                self._mark()
            self._send()
            self._refuse_late()

    def _mark(self) -> None:
        """Watch every file system that is mounted, and tell the supervisor which."""
        watched: set[int] = set()
        others: set[int] = set()
        for line in _whole(self._mounts).decode("latin-1").splitlines():
            fields, _, kind = line.partition(" - ")
            mount, _, device, _, path, *_ = fields.split(" ")
            number = os.makedev(*(int(part) for part in device.split(":")))
            found = self._watch(path, kind.split(" ")[0], mount)
            if found or (found is False and kind.split(" ")[0] != "proc"):
                (watched if found else others).add(number)
        lists = (
            " ".join(map(str, sorted(each))) for each in (watched, others - watched)
        )
        self._unsent.append(
            ASKED.pack(MARKED, 0, os.getpid()) + "\0".join(lists).encode()
        )

    def _watch(self, path: str, kind: str, mount: str) -> bool | None:
        """Mark the file system mounted at a path; False where it cannot be watched.

        None when the mount is not to be seen there: another one covers it.
        """
        name = path.encode("latin-1").decode("unicode_escape").encode("latin-1")
        try:
            directory = os.open(name, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if f"mnt_id:\t{mount}" not in _lines(f"/proc/self/fdinfo/{directory}"):
                return None
            if kind.startswith(_WAITING_KINDS):
                return False
            self._mark_file_system(directory)
        except OSError:
            return False
        finally:
            os.close(directory)
        return True

    def _mark_file_system(self, directory: int) -> None:
        """Have the kernel ask before anything on it is executed."""
        own = f"/proc/self/fd/{directory}".encode()
        mask = ctypes.c_uint64(_OPEN_EXEC_PERMISSION)
        flags = _MARK_ADD | _MARK_FILE_SYSTEM
        _checked(_LIBRARY.fanotify_mark(self._group, flags, mask, -100, own))

    def _events(self) -> None:
        """Answer the events that there are, or ask about them."""
        try:
            data = os.read(self._group, _READ_BYTES)
        except OSError:  # the kernel has refused what it could not open for us
            return
        for at in range(0, len(data), _EVENT.size):
            *_, file, thread = _EVENT.unpack_from(data, at)
            if file < 0:
                continue
            if not self._is_inside(thread):
                self._respond(file, allowed=True)
            elif len(self._questions) >= _MOST_WAITING:
                self._respond(file, allowed=False)
            else:
                self._ask(file, thread)

    def _is_inside(self, thread: int) -> bool:
        """Whether a thread is in the session's cgroup; it waits, and cannot leave."""
        try:
            lines = _lines(f"/proc/{thread}/cgroup")
        except OSError:
            return False
        within = f"0::{self._cgroup}/"
        return any(f"{line}/".startswith(within) for line in lines)

    def _ask(self, file: int, thread: int) -> None:
        self._number = (self._number + 1) & 0xFFFFFFFF
        try:
            path = os.readlink(f"/proc/self/fd/{file}".encode())  # noqa: PTH115  # bytes
        except OSError:
            path = b""
        self._questions[self._number] = _Waiting(file)
        self._unsent.append(ASKED.pack(QUESTION, self._number, thread) + path)

    def _answers(self) -> bool:
        """Take the supervisor's answers; False when it has gone."""
        while True:
            try:
                data = self._connection.recv(ANSWER.size)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if len(data) < ANSWER.size:
                return False
            answer, number = ANSWER.unpack(data)
            question = self._questions.pop(number, None)
            if question is not None:
                self._respond(question.file, allowed=answer == YES)

    def _send(self) -> None:
        with suppress(OSError):  # full: the rest goes when there is room
            while self._unsent:
                self._connection.send(self._unsent[0])
                self._unsent.popleft()

    def _refuse_late(self) -> None:
        now = time.monotonic()
        for number, question in list(self._questions.items()):
            if question.deadline <= now:
                del self._questions[number]
                self._respond(question.file, allowed=False)

    def _respond(self, file: int, *, allowed: bool) -> None:
        verdict = _FAN_ALLOW if allowed else _FAN_DENY
        with suppress(OSError):  # its process has gone
            os.write(self._group, _RESPONSE.pack(file, verdict))
        os.close(file)


def _whole(file: int) -> bytes:
    """All of a file, read anew from its beginning."""
    os.lseek(file, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(file, 65_536), b""))


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def main() -> int:
    """Watch until the other end of the socket is closed; returns the exit status."""
    number, cgroup = sys.argv[1:]
    if os.fork():
        return 0
    os.setsid()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with socket.socket(fileno=int(number)) as connection:
        connection.setblocking(False)  # noqa: FBT003  # the socket's own signature
        try:
            # Frozen with the session, it would keep the whole machine from executing.
            SessionCgroup.put_apart(os.getpid())
            Watcher(connection, cgroup).run()
        except OSError as error:
            with suppress(OSError):
                connection.send(ASKED.pack(FAILED, 0, 0) + str(error).encode())
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
