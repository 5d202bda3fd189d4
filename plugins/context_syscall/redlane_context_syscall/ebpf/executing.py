"""execve(2) made exact: what is judged is the file that the kernel has opened.

An exec that was judged is left to the kernel, which reads the path once more; another
thread may have changed it meanwhile. Therefore a process of its own (see `watching`)
has fanotify tell of every file that the kernel opens for execution, and the first one
after a thread's exec has been judged must be the file judged, or is judged itself.
So are those after it, a script's interpreter and its interpreter's, but for the dynamic
linker, which rules about programs do not mean. Policies see a file's canonical path
here: rules on how a path is written stay advisory.
"""

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from redlane_context_syscall.ebpf.cgroup import SessionCgroup
from redlane_context_syscall.ebpf.watching import (
    ANSWER,
    ASKED,
    MARKED,
    NO,
    QUESTION,
    YES,
)
from redlane_context_syscall.kernel.system import prctl

__all__ = ["Executing", "FileSystems"]

_START_SECONDS = 20.0
_END_SECONDS = 2.0
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37
_MESSAGE_BYTES = 65_536
_JUDGING_THREADS = 4
_FEW = 1024

Rule = Callable[[int, str, bytes | None], bool]
"""Whether a thread may execute a file by a call of this name; None is unreadable."""


@dataclass(frozen=True, slots=True)
class FileSystems:
    """The devices of file systems where every exec is seen, and of those that are not.

    Not watched are what the kernel cannot watch (/proc), and what waits for others to
    open a file (network file systems, FUSE): there an exec stays advisory.
    """

    watched: frozenset[int]
    others: frozenset[int]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a thread was judged to execute; no candidates once it has been opened."""

    name: str
    candidates: tuple[bytes | None, ...]


class Executing:
    """One session's watcher, and what its threads have been judged to execute."""

    def __init__(
        self,
        cgroup: SessionCgroup,
        rule: Rule,
        on_change: Callable[[FileSystems], None],
        on_loss: Callable[[str], None],
    ) -> None:
        """Start the watcher; raises OSError saying what this machine lacks.

        `on_change` is told of file systems that come and go. `process` is the
        watcher's, which the session must not be able to signal.
        """
        self._rule = rule
        self._on_change = on_change
        self._on_loss = on_loss
        self._expected: dict[int, Expected] = {}
        self._most_kept = _FEW
        self._linkers = _linkers()
        self._pool = ThreadPoolExecutor(_JUDGING_THREADS, "executing")
        self._stopping = False
        self._socket, other = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC
        )
        with other:
            _start(other, cgroup)
        try:
            self.process, self.file_systems = self._first()
            self._held = os.pidfd_open(self.process)
        except OSError:
            self._socket.close()
            raise
        on_change(self.file_systems)
        self._thread = threading.Thread(target=self._run, name="exec", daemon=True)
        self._thread.start()

    def expect(
        self, thread: int, name: str, candidates: tuple[bytes | None, ...]
    ) -> None:
        """An exec of a thread was judged, with these paths, and goes on now."""
        if len(self._expected) >= self._most_kept:
            self._forget_the_dead()
        self._expected[thread] = Expected(name, candidates or (None,))

    def stop(self) -> None:
        """End the watcher: the kernel asks no more."""
        self._stopping = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if not select.select([self._held], [], [], _END_SECONDS)[0]:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._held, signal.SIGKILL)
        os.close(self._held)
        self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._socket.close()

    def _first(self) -> tuple[int, FileSystems]:
        """What the watcher says once it is at work: its process, and what it sees."""
        if not select.select([self._socket], [], [], _START_SECONDS)[0]:
            raise TimeoutError("its process does not come up")
        data = self._socket.recv(_MESSAGE_BYTES)
        if data[:1] == MARKED:
            _, _, process = ASKED.unpack_from(data)
            return process, _file_systems(data[ASKED.size :])
        said = data[ASKED.size :].decode(errors="replace")
        raise OSError(said or "its process has ended")

    def _run(self) -> None:
        """Take questions until the watcher has gone; nothing executes then."""
        while True:
            try:
                data = self._socket.recv(_MESSAGE_BYTES)
            except OSError:
                data = b""
            if len(data) < ASKED.size:
                break
            kind, number, thread = ASKED.unpack_from(data)
            rest = data[ASKED.size :]
            if kind == MARKED:
                found = _file_systems(rest)
                self._on_change(found)
                self.file_systems = found
            elif kind == QUESTION:
                self._question(number, thread, rest)
        if not self._stopping:
            self._on_change(FileSystems(frozenset(), frozenset()))
            self._on_loss("the process that watches what is executed has ended")

    def _question(self, number: int, thread: int, path: bytes) -> None:
        """Answer at once for what was judged, is no exec of a policy, or the linker."""
        expected = self._expected.get(thread)
        if expected is None or (not expected.candidates and path in self._linkers):
            self._answer(number, allowed=True)
            return
        self._expected[thread] = Expected(expected.name, ())
        is_readable = path.startswith(b"/") and not path.endswith(b" (deleted)")
        if is_readable and path in expected.candidates:
            self._answer(number, allowed=True)
        else:
            canonical = path if is_readable else None
            self._pool.submit(self._judge, number, thread, expected.name, canonical)

    def _judge(
        self, number: int, thread: int, name: str, canonical: bytes | None
    ) -> None:
        """Rule on a file that was not judged before."""
        allowed = False
        try:
            allowed = self._rule(thread, name, canonical)
        finally:
            self._answer(number, allowed=allowed)

    def _forget_the_dead(self) -> None:
        """Drop threads that are no more; those that are must not be forgotten."""
        for thread in list(self._expected):
            if not Path(f"/proc/{thread}").exists():
                del self._expected[thread]
        self._most_kept = max(_FEW, 2 * len(self._expected))

    def _answer(self, number: int, *, allowed: bool) -> None:
        with suppress(OSError):  # it has gone, and the kernel lets nothing wait
            self._socket.send(ANSWER.pack(YES if allowed else NO, number))


def _start(connection: socket.socket, cgroup: SessionCgroup) -> None:
    """Have the watcher started, with nothing of ours but its end of the socket."""
    number = connection.fileno()
    module = "redlane_context_syscall.ebpf.watching"
    with _adopting_nobody():
        subprocess.run(
            [sys.executable, "-I", "-m", module, str(number), cgroup.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(number,),
            cwd="/",
            env={"PATH": os.defpath},
            start_new_session=True,
            check=False,
        )


@contextmanager
def _adopting_nobody() -> Iterator[None]:
    """Let orphans of now go to the machine's first process, not to a subreaper's."""
    before = ctypes.c_int()
    prctl(_GET_SUBREAPER, ctypes.addressof(before))
    prctl(_SET_SUBREAPER, 0)
    try:
        yield
    finally:
        prctl(_SET_SUBREAPER, before.value)


def _linkers() -> frozenset[bytes]:
    """The canonical paths of this machine's dynamic linkers."""
    found = [
        each
        for pattern in ("lib*/ld-linux*.so.*", "lib*/ld-musl-*.so.*", "lib*/ld64.so.*")
        for each in Path("/").glob(pattern)
    ]
    maps = Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
    paths = (Path(line.partition("/")[2]) for line in maps if "/" in line)
    found += [Path("/") / each for each in paths if each.name.startswith("ld-")]
    return frozenset(os.fsencode(each.resolve()) for each in found)


def _file_systems(data: bytes) -> FileSystems:
    watched, _, others = data.partition(b"\0")
    return FileSystems(
        frozenset(int(each) for each in watched.split()),
        frozenset(int(each) for each in others.split()),
    )
