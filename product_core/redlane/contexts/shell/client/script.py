"""Scripts: a file that the daemon opens by name, or text that only we can read."""

import posix

from .message import REFUSED, USAGE, fail, refuse
from .options import Invocation

__all__ = ["Script", "memory_file", "open_script", "read_script", "replace_script"]

_SCRIPT_MAX = 8 * 1024 * 1024
_STALL_MILLISECONDS = 100
_NOT_FOUND = 127
_READ = posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOCTTY


class Script:
    """A script file: `path` is for the shell, `seen` for the daemon.

    `text` is set when the daemon could not open the same file by a name.
    """

    def __init__(self, path: bytes) -> None:
        """Begin with the name as given."""
        self.path = path
        self.seen = b""
        self.text: bytes | None = None


def memory_file(content: bytes) -> int:
    """A nameless open file that holds `content`, at its beginning."""
    file = posix.memfd_create("script", posix.MFD_CLOEXEC)
    rest = memoryview(content)
    while rest:
        rest = rest[posix.write(file, rest) :]
    posix.lseek(file, 0, 0)
    return file


def read_script(file: int, *, may_stall: bool) -> "tuple[bytes, bool]":
    """What comes through a descriptor, and whether it has ended.

    It has not when the writer may be waiting for an answer: it has written whole lines
    and then nothing for a while.
    """
    import select  # noqa: PLC0415  # only scripts need it

    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    script = b""
    while True:
        impatient = may_stall and script.endswith(b"\n")
        if not waiting.poll(_STALL_MILLISECONDS if impatient else None):
            return script, False
        try:
            piece = posix.read(file, 65536)
        except BlockingIOError:
            continue
        except OSError as error:
            if error.errno == 9:  # noqa: PLR2004  # EBADF: closed, as good as empty
                return script, True
            reason = str(error.strerror).encode()
            refuse(b"the script cannot be read (%s); not run" % reason)
        if not piece:
            return script, True
        script += piece.replace(b"\0", b"")
        if len(script) > _SCRIPT_MAX:
            refuse(b"the script is longer than %d bytes; not run" % _SCRIPT_MAX)


def open_script(invocation: Invocation) -> Script:
    """The script that the command line names."""
    script = Script(invocation.subject)
    file = _open_named(invocation, script)
    script.seen = _shared_name(file)
    if script.seen:
        script.seen = _preferred(script.path, script.seen)
    else:
        script.text, _ = read_script(file, may_stall=False)
    posix.close(file)
    return script


def replace_script(script: Script, text: bytes) -> None:
    """Put `text` where the shell looks: under the same name if that is a descriptor."""
    file = memory_file(text)
    wanted = _named_descriptor(script.path)
    if wanted is not None and wanted != file:
        posix.dup2(file, wanted, inheritable=True)
        posix.close(file)
        return
    posix.set_inheritable(file, True)  # noqa: FBT003  # positional in the C library's way
    script.path = b"/dev/fd/%d" % file


def _open_named(invocation: Invocation, script: Script) -> int:
    name = script.path
    try:
        return posix.open(name, _READ)
    except FileNotFoundError as error:
        reason = error
        if b"/" not in name and not invocation.is_sh:
            found = _open_along_path(script)
            if found >= 0:
                return found
        status = USAGE if invocation.is_sh else _NOT_FOUND
    except OSError as error:
        reason = error  # type: ignore[assignment]  # any error will do
        status = USAGE if invocation.is_sh else REFUSED
    return fail(status, invocation.called, name + b": " + str(reason.strerror).encode())


def _open_along_path(script: Script) -> int:
    """Where bash finds a script that is not in the working directory."""
    name = script.path
    for directory in posix.environ.get(b"PATH", b"").split(b":"):
        path = directory + b"/" + name if directory else name
        try:
            file = posix.open(path, _READ)
        except OSError:
            continue
        script.path = path
        return file
    return -1


def _shared_name(file: int) -> bytes:
    """The name under which another process finds the opened file; empty without one."""
    seen = posix.readlink(b"/proc/self/fd/%d" % file)
    if not seen.startswith(b"/") or seen.startswith((b"/proc/", b"/dev/")):
        return b""
    try:
        opened, named = posix.fstat(file), posix.stat(seen)
    except OSError:
        return b""
    regular = opened.st_mode & 0o170000 == 0o100000  # noqa: PLR2004  # S_ISREG
    same = (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)
    return seen if regular and same else b""


def _preferred(given: bytes, seen: bytes) -> bytes:
    """The name as it was given when it is plainly the same: no link on its way."""
    while given.startswith(b"./"):
        given = given[2:]
    try:
        whole = given if given[:1] == b"/" else posix.getcwdb() + b"/" + given
    except OSError:
        return seen
    if whole != seen:
        return seen
    return b"./" + given if given[:1] == b"-" else given


def _named_descriptor(path: bytes) -> int | None:
    """The descriptor that a name such as /dev/fd/63 stands for."""
    if path == b"/dev/stdin":
        return 0
    for before in (b"/dev/fd/", b"/proc/self/fd/"):
        number = path.removeprefix(before)
        if number != path and number.isdigit():
            return int(number)
    return None
