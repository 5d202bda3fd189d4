"""Starting one child process: its words, its environment and nothing else of ours."""

import errno
import functools
import os
import pwd
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from redlane.execution.child import Child
from redlane.execution.commands import SEARCH_PATH
from redlane.execution.values import Command, Ending, Manner

__all__ = ["start"]


def start(command: Command, null: int) -> Child | Ending:
    """Start `command`, with `null` (an open /dev/null) for what is thrown away."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        reason = "SIGCHLD is ignored here, so that its exit status would be lost"
        return Ending(Manner.NOT_STARTED, f"could not be started: {reason}")
    try:
        return _start(command, null)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        if error.errno == errno.ENOEXEC:
            reason += " (does the script lack its #! line?)"
    except (ValueError, MemoryError, subprocess.SubprocessError) as error:
        reason = str(error) or type(error).__name__
    return Ending(Manner.NOT_STARTED, f"could not be started: {reason}")


def _start(command: Command, null: int) -> Child:
    with ExitStack() as theirs, ExitStack() as ours:
        child_stdin, stdin = _pipe(theirs, ours, child_reads=True)
        child_stdout, stdout = null, None
        if command.keeps_output:
            child_stdout, stdout = _pipe(theirs, ours, child_reads=False)
        process = _spawn(command.words, child_stdin, child_stdout, null)
        ours.callback(_give_up, process)
        pidfd = os.pidfd_open(process.pid)
        with suppress(OSError):  # a set-user-id program dumps no core anyway
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
        ours.pop_all()
    return Child(command, process, pidfd, (stdin, stdout))


def _spawn(
    words: tuple[str, ...], stdin: int, stdout: int, stderr: int
) -> "subprocess.Popen[bytes]":
    """Execute `words` in a new session and group.

    Popen rather than posix_spawn, which cannot change directory nor close descriptors
    that a library left open; and without `preexec_fn`, which is not safe in a program
    with threads. SIGPIPE gets its default back, which Python had changed; what the
    starter of Redlane ignores (nohup: SIGHUP) a command ignores as well.
    """
    if not words:
        raise ValueError("no program is named")
    with _no_signal_blocked():
        return subprocess.Popen(
            [word.encode(errors="surrogateescape") for word in words],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd="/",
            env=_environment(os.geteuid()),
            close_fds=True,
            restore_signals=True,
            start_new_session=True,
        )


@functools.cache
def _environment(user: int) -> dict[str, str]:
    """All that a command finds in its environment."""
    try:
        home = pwd.getpwuid(user).pw_dir
    except KeyError:
        home = "/"
    return {"PATH": SEARCH_PATH, "HOME": home, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


@contextmanager
def _no_signal_blocked() -> Iterator[None]:
    """Start children with no signal blocked: they inherit the mask of this thread."""
    before = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        yield
    finally:
        if before:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _pipe(theirs: ExitStack, ours: ExitStack, *, child_reads: bool) -> tuple[int, int]:
    """A pipe as (the child's end, our end); ours never blocks."""
    reading, writing = os.pipe()
    child, our = (reading, writing) if child_reads else (writing, reading)
    theirs.callback(os.close, child)
    ours.callback(os.close, our)
    os.set_blocking(our, False)
    return child, our


def _give_up(process: "subprocess.Popen[bytes]") -> None:
    """End a child that could be started but not watched."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
