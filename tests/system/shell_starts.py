"""Starts a shell, in one of many ways. Run as a program: `shell_starts.py WAY TEXT`."""

import ctypes
import os
import platform
import pty
import resource
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_BASH, _SH = "/bin/bash", "/bin/sh"
_TRACE_ME, _ATTACH = 0, 16
_CLONE_PARENT = 0x8000
_SECCOMP, _NO_NEW_PRIVILEGES = 22, 38
_SOCKET_CALL, _CONNECT_CALL = 41, 42
_LIBRARY = ctypes.CDLL(None, use_errno=True)


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _ended(status: int) -> int:
    return os.waitstatus_to_exitcode(status)


def _placed(name: str) -> Path:
    return Path(tempfile.mkdtemp()) / name


def _run(*words: str, executable: str | None = None) -> int:
    return subprocess.run(words, executable=executable, check=False).returncode


def _executable(text: str) -> Path:
    script = _placed("script")
    script.write_text(text)
    script.chmod(0o755)
    return script


def _system(text: str) -> int:
    return _ended(os.system(text))


def _by_shell(text: str) -> int:
    return subprocess.run(text, shell=True, check=False).returncode


def _posix_spawn(text: str) -> int:
    pid = os.posix_spawn(_SH, ["sh", "-c", text], os.environ)
    return _ended(os.waitpid(pid, 0)[1])


def _exec(text: str) -> int:
    os.execv(_BASH, ["bash", "-c", text])


def _exec_descriptor(text: str) -> int:
    os.execve(os.open(_BASH, os.O_RDONLY), ["bash", "-c", text], os.environ)


def _exec_in_thread(text: str) -> int:
    threading.Thread(target=_exec, args=(text,)).start()
    time.sleep(30)
    return 1


def _another_name(text: str) -> int:
    return _run("something", "-c", text, executable=_BASH)


def _no_name(text: str) -> int:
    return _run("", "-c", text, executable=_SH)


def _any_name(_: str) -> int:
    """One that begins as sh does."""
    return _run("shell", "-c", "[[ a == a ]] && echo a bash", executable=_BASH)


def _restricted(_: str) -> int:
    text = "shopt -q restricted_shell && echo restricted"
    return _run("rbash", "-c", text, executable=_BASH)


def _login(_: str) -> int:
    return _run("-bash", "-c", "shopt -q login_shell && echo login", executable=_BASH)


def _symlink(text: str) -> int:
    link = _placed("innocent")
    link.symlink_to(_BASH)
    return _run(str(link), "-c", text)


def _copy(text: str) -> int:
    return _run(shutil.copy(_BASH, _placed("copy")), "-c", text)


def _longer_copy(text: str) -> int:
    copy = Path(shutil.copy(_BASH, _placed("copy")))
    with copy.open("ab") as more:
        more.write(bytes(1000))
    return _run(str(copy), "-c", text)


def _copy_in_memory(text: str) -> int:
    memory = os.memfd_create("copy")
    os.write(memory, Path(_BASH).read_bytes())
    os.execve(memory, ["bash", "-c", text], os.environ)


def _input(text: str) -> int:
    return subprocess.run([_SH], input=text.encode(), check=False).returncode


def _waiting_writer(text: str, shell: str = _BASH) -> int:
    """Its lines come one by one, each once the one before has been answered."""
    words = ["bash"]
    with subprocess.Popen(
        words, executable=shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"echo ready\n")
        process.stdin.flush()
        first = process.stdout.readline()
        said, _ = process.communicate(text.encode())
    sys.stdout.write((first + said).decode().replace("ready\n", ""))
    sys.stdout.flush()
    return process.returncode


def _sibling(text: str) -> int:
    """A process that seems to be started by what reads a stream's commands."""
    os.environ["TEXT"] = text
    words = (sys.executable, "-I", __file__, "sibling, inside", "")
    return _waiting_writer(f"exec {shlex.join(words)}\n")


def _sibling_inside(_: str) -> int:
    call = {"x86_64": 56, "aarch64": 220}[platform.machine()]
    pid = _LIBRARY.syscall(call, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid < 0:
        return _by_shell(os.environ["TEXT"])
    if not pid:
        _exec(os.environ["TEXT"])
    time.sleep(2)
    return 0


def _planted_module(text: str) -> int:
    """The guarded shell itself, from where it was installed, with code of ours."""
    planted = _placed("sitecustomize.py")
    words = ["sh", "-c", text]
    planted.write_text(f"import os\nos.spawnv(os.P_WAIT, {_SH!r}, {words})\n")
    os.environ["PYTHONPATH"] = str(planted.parent)
    return _waiting_writer("true", os.environ["GUARDED_SHELL"])


def _terminal(text: str) -> int:
    """A shell that has a terminal, and is started by its path."""
    pid, terminal = pty.fork()
    if not pid:
        os.execv(_BASH, ["bash", "--norc", "--noediting"])
    os.write(terminal, f"{text} | tr - +\nexit\n".encode())
    said = b""
    with suppress(OSError):  # its other end is closed
        while piece := os.read(terminal, 4096):
            said += piece
    _say(next((each for each in ("said+2", "blocked") if each.encode() in said), said))
    return _ended(os.waitpid(pid, 0)[1])


def _script(text: str) -> int:
    return _run(_BASH, str(_executable(text)))


def _orphan(text: str) -> int:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)  # noqa: FBT003  # its end is the shell's
    supervisor = os.getppid()
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.close(reading)
            while os.getppid() != supervisor:
                time.sleep(0.01)
            os.execv(_SH, ["sh", "-c", text])
        os._exit(0)
    os.close(writing)
    os.wait()
    os.read(reading, 1)
    return 0


def _interpreter(text: str) -> int:
    return _run(str(_executable(f"#!{_SH}\n{text}\n")))


def _interpreter_option(text: str) -> int:
    return _run(str(_executable(f"#!{_BASH} -e\n{text}\n")))


def _dash_as_bash(text: str) -> int:
    return _run("bash", "-c", text, executable=_SH)


def _exec_file(name: str) -> int:
    os.execv(f"/usr/bin/{name}", [name, "--version"])


def _failing_starts(text: str) -> int:
    for _ in range(3):
        with suppress(FileNotFoundError):
            os.execv("/nowhere/at/all", ["nothing"])
    deadline = time.monotonic() + 20
    while _tracer() and time.monotonic() < deadline:
        time.sleep(0.01)
    _say(_tracer())
    return _exec(text)


def _tracer() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(each.split()[1]) for each in lines if each.startswith("TracerPid"))


def _path_as_option(text: str) -> int:
    """A shell in which the path that it is started by stands where a script's would."""
    os.environ["TEXT"] = text
    inner = f'{_SH} -c "$TEXT"; true'
    os.execv(_BASH, ["bash", "--rcfile", _BASH, "-c", inner])


def _own_filter(text: str) -> int:
    """A guarded shell whose socket is another, and which connects to whatever that is.

    The agent's own filter answers those calls with 0. The other end answers ALLOW.
    """
    if platform.machine() != "x86_64":
        _say("NOT TESTED")
        return 0
    ours, theirs = socket.socketpair()
    if not os.fork():
        os.dup2(theirs.fileno(), 0)
        _filter(_SOCKET_CALL, _CONNECT_CALL)
        _exec(text)
    theirs.close()
    with suppress(OSError):
        ours.recv(65536)
        ours.sendall(b"ALLOW\n")
        ours.shutdown(socket.SHUT_WR)
    os.wait()
    return 0


def _filter(one: int, other: int) -> None:
    """Have two system calls return 0 and do nothing."""
    code = (
        *((0x20, 0, 0, 0), (0x15, 2, 0, one), (0x15, 1, 0, other)),
        *((6, 0, 0, 0x7FFF0000), (6, 0, 0, 0x00050000)),
    )
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *e) for e in code))
    program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text))
    _LIBRARY.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if _LIBRARY.prctl(_SECCOMP, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter")


def _open_files(limit: str) -> int:
    """A shell that may open so many files and has some at either end."""
    most = int(limit)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    high = most - 1
    os.dup2(1, high)
    os.set_inheritable(high, True)  # noqa: FBT003  # it is the shell's
    os.execv(_BASH, ["bash", "-c", f"echo kept >/proc/self/fd/{high}"])


def _traced(text: str) -> int:
    pid = os.fork()
    if not pid:
        _LIBRARY.ptrace(_TRACE_ME, 0, 0, 0)
        try:
            _exec(text)
        finally:
            os._exit(1)
    os.waitpid(pid, 0)
    return 0


def _endless_starts(_: str) -> int:
    _say(os.getpid())
    while True:
        with suppress(PermissionError):  # in a session that is frozen just then
            _run(_SH, "-c", "true")


def _reach(process: str) -> int:
    """What comes of signals, of looking into its memory, and of tracing it."""
    pid = int(process)
    descriptor = os.pidfd_open(pid)

    def signal_descriptor() -> None:
        signal.pidfd_send_signal(descriptor, 0)

    def trace() -> None:
        if _LIBRARY.ptrace(_ATTACH, pid, 0, 0) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def look() -> None:
        Path(f"/proc/{pid}/mem").open("rb").close()

    for attempt in (lambda: os.kill(pid, 0), signal_descriptor, look, trace):
        try:
            attempt()
        except OSError as error:
            _say(type(error).__name__)
        else:
            _say("done")
    os.kill(os.getpid(), 0)
    return 0


_WAYS: dict[str, Callable[[str], int]] = {
    "system": _system,
    "shell=True": _by_shell,
    "posix_spawn": _posix_spawn,
    "exec": _exec,
    "exec of a descriptor": _exec_descriptor,
    "exec in a thread": _exec_in_thread,
    "another name": _another_name,
    "no name": _no_name,
    "any name": _any_name,
    "restricted": _restricted,
    "login": _login,
    "symlink": _symlink,
    "copy": _copy,
    "copy with more bytes": _longer_copy,
    "copy in memory": _copy_in_memory,
    "input": _input,
    "writer that waits": _waiting_writer,
    "sibling": _sibling,
    "sibling, inside": _sibling_inside,
    "planted module": _planted_module,
    "terminal": _terminal,
    "script": _script,
    "orphan": _orphan,
    "interpreter of a script": _interpreter,
    "interpreter with an option": _interpreter_option,
    "dash as bash": _dash_as_bash,
    "exec file": _exec_file,
    "failing starts": _failing_starts,
    "path as option": _path_as_option,
    "own filter": _own_filter,
    "open files": _open_files,
    "traced": _traced,
    "endless starts": _endless_starts,
    "reach": _reach,
}

if __name__ == "__main__":
    sys.exit(_WAYS[sys.argv[1]](sys.argv[2]))
