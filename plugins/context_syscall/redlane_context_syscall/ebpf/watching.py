"""The process that answers fanotify: which programs may be executed.

Run as `python -I -m redlane_context_syscall.ebpf.watching SOCKET CGROUP`. While it is
alive every exec of the machine waits for its answer, so it must never wait itself: it
is a process of its own, which job control does not stop with the session; it lets
whatever is outside the session's cgroup go on at once, hands the others to the
supervisor through SOCKET, and refuses those that stay unanswered. When it ends, the
kernel lets everything go on. It ends when the supervisor does, whose child it is not:
a supervisor ends all its children when the session is over.
"""

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
from redlane_context_syscall.ebpf.marks import Marks

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
_FILES_OF_OUR_OWN = 256


class _Waiting:
    """One exec of the session that waits for its answer."""

    __slots__ = ("deadline", "file")

    def __init__(self, file: int) -> None:
        """`file` is the event's descriptor."""
        self.file = file
        self.deadline = time.monotonic() + _ANSWER_SECONDS


class Watcher:
    """One fanotify group, and the questions that are under way."""

    def __init__(self, connection: socket.socket, cgroup: str, most: int) -> None:
        """Ask over `connection` about what is in the cgroup; raises OSError.

        At most so many questions wait at once; what is more is refused.
        """
        self._connection = connection
        self._within = b"0::" + os.fsencode(cgroup) + b"/"
        self._most = most
        self._marks = Marks()
        self._questions: dict[int, _Waiting] = {}
        self._unsent: deque[bytes] = deque()
        self._number = 0

    def run(self) -> None:
        """Answer until the supervisor has gone."""
        connection, marks = self._connection.fileno(), self._marks
        self._renew()
        poll = select.poll()
        poll.register(marks.group, select.POLLIN)
        poll.register(marks.changes, select.POLLPRI)
        while True:
            writable = select.POLLOUT if self._unsent else 0
            poll.register(connection, select.POLLIN | writable)
            ready = dict(poll.poll(1000 if self._questions else None))
            if marks.group in ready:
                self._events()
            if connection in ready and not self._answers():
                return
            if marks.changes in ready:
                self._renew()
            self._send()
            self._refuse_late()

    def _renew(self) -> None:
        """Watch what is mounted, and tell the supervisor."""
        lists = (" ".join(map(str, sorted(each))) for each in self._marks.renew())
        head = ASKED.pack(MARKED, 0, os.getpid())
        self._unsent.append(head + "\0".join(lists).encode())

    def _events(self) -> None:
        """Answer the events that there are, or ask about them."""
        for file, thread in self._marks.events():
            if not self._is_inside(thread):
                self._marks.answer(file, allowed=True)
            elif len(self._questions) >= self._most:
                self._marks.answer(file, allowed=False)
            else:
                self._ask(file, thread)

    def _is_inside(self, thread: int) -> bool:
        """Whether a thread is in the session's cgroup; it waits, and cannot leave.

        When that cannot be told, the supervisor is asked: it knows its threads.
        """
        try:
            lines = Path(f"/proc/{thread}/cgroup").read_bytes().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            return False
        except OSError:
            return True
        return any((line + b"/").startswith(self._within) for line in lines)

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
                self._marks.answer(question.file, allowed=answer == YES)

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
                self._marks.answer(question.file, allowed=False)


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
            most = min(_MOST_WAITING, hard - _FILES_OF_OUR_OWN)
            Watcher(connection, cgroup, most).run()
        except OSError as error:
            with suppress(OSError):
                connection.send(ASKED.pack(FAILED, 0, 0) + str(error).encode())
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
