"""Which daemon to ask. Inside a session the kernel says so, not the environment."""

import posix

from .message import refuse

__all__ = ["Place", "locate", "own_directory", "read_file"]

_SOCKET = b"control.sock"
_MACHINES_SOCKET = b"/run/redlane/" + _SOCKET
_LONGEST_TIMEOUT = 86400.0


class Place:
    """A control socket, and the seconds that the daemon has for an answer."""

    def __init__(self, socket: bytes) -> None:
        """Read the timeout from the file beside the socket; 5 without a usable one."""
        self.socket = socket
        text = read_file(socket.rpartition(b"/")[0] + b"/shell-timeout", 64)
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0.0
        self.timeout = seconds if 0 < seconds <= _LONGEST_TIMEOUT else 5.0
        self.supervises = False
        """Whether who asks can have the system calls of what is run supervised."""
        self.role: bytes | None = None
        """The role under which the last answer wanted that."""


def locate(program: bytes, given: bytes = b"") -> Place:
    """The daemon to ask when called as `program`; `given` counts outside a session."""
    return Place(
        _from_supervisor()
        or given
        or _from_own_place(program)
        or _from_variables(posix.environ)
    )


def read_file(path: bytes | str, most: int) -> bytes:
    """At most `most` bytes of a file; nothing when it cannot be read."""
    try:
        file = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOCTTY)
    except OSError:
        return b""
    data = b""
    try:
        while len(data) < most and (piece := posix.read(file, 65536)):
            data += piece
    except OSError:
        data = b""
    posix.close(file)
    return data


def own_directory(program: bytes) -> bytes:
    """The directory that this very program lies in, links followed."""
    try:
        file = posix.open(program, posix.O_PATH | posix.O_CLOEXEC)
        path = posix.readlink(b"/proc/self/fd/%d" % file)
        posix.close(file)
    except OSError:
        return b""
    return path.rpartition(b"/")[0]


def _read_process(pid: int) -> "tuple[int, bytes] | None":
    """The parent and the name of a process: "PID (NAME) STATE PARENT …"."""
    head, _, tail = read_file(f"/proc/{pid}/stat", 1024).rpartition(b")")
    fields = tail.split(None, 2)
    if len(fields) < 2 or not fields[1].isdigit():  # noqa: PLR2004  # state and parent
        return None
    return int(fields[1]), head.partition(b"(")[2]


def _topmost_supervisor() -> int:
    """The topmost supervisor among the ancestors, 0 when there is none.

    A parent that ends in the middle of the walk is replaced by another in its child's
    record; one that is hidden stays there, and nothing above it can be seen.
    """
    topmost, child = 0, posix.getpid()
    now = _read_process(child)
    while now is not None and now[0] > 0:
        parent = now[0]
        above = _read_process(parent)
        if above is not None:
            topmost = parent if above[1] == b"redlane-run" else topmost
            child, now = parent, above
            continue
        now = _read_process(child)
        if now is None:
            topmost, child = 0, posix.getpid()
            now = _read_process(child)
        elif now[0] == parent:
            break
    if now is None:
        refuse(b"/proc cannot be read; not run")
    return topmost


def _from_supervisor() -> bytes:
    pid = _topmost_supervisor()
    if not pid:
        return b""
    words = read_file(f"/proc/{pid}/cmdline", 65536).split(b"\0")
    own = words[: words.index(b"--")] if b"--" in words else words
    if b"--socket" in own:
        socket = words[own.index(b"--socket") + 1]
        if socket.startswith(b"/"):
            return socket
    message = b"the session's supervisor (process %d) names no socket; not run"
    return refuse(message % pid)


def _from_own_place(program: bytes) -> bytes:
    directory, _, name = own_directory(program).rpartition(b"/")
    socket = directory + b"/" + _SOCKET
    return socket if name == b"bin" and _is_socket(socket) else b""


def _is_socket(path: bytes) -> bool:
    try:
        kind = posix.stat(path).st_mode & 0o170000
    except OSError:
        return False
    return kind == 0o140000  # noqa: PLR2004  # S_ISSOCK


def _from_variables(environ: "dict[bytes, bytes]") -> bytes:
    """The daemon that is named, the machine's where none is, or the user's own."""
    if environ.get(b"REDLANE_SOCKET"):
        return environ[b"REDLANE_SOCKET"]
    if not environ.get(b"REDLANE_HOME") and _is_socket(_MACHINES_SOCKET):
        return _MACHINES_SOCKET
    for name, rest in (
        (b"XDG_RUNTIME_DIR", b"/redlane/" + _SOCKET),
        (b"REDLANE_HOME", b"/run/" + _SOCKET),
        (b"HOME", b"/.redlane/run/" + _SOCKET),
    ):
        if environ.get(name):
            return environ[name] + rest
    return b"/.redlane/run/" + _SOCKET
