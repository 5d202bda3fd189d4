"""The files that a shell runs at its start.

The user's own are theirs and run unjudged. With HOME elsewhere, or named by --rcfile,
they are the caller's, and each must be allowed as a script would be.
"""

import _socket
import posix

from .ask import ask
from .locate import Place, read_file
from .message import refuse
from .options import Invocation

__all__ = ["judge_startup", "quoted"]

_FILES = (b".bashrc", b".bash_profile", b".bash_login", b".profile", b".bash_logout")
_SAFE = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
)


def quoted(word: bytes) -> bytes:
    """`word` as a POSIX shell reads it back: bare when that is safe, else quoted."""
    if word and all(each in _SAFE for each in word):
        return word
    return b"'" + word.replace(b"'", b"'\\''") + b"'"


def judge_startup(invocation: Invocation, place: Place) -> None:
    """Have every startup file judged that is not the user's own."""
    if invocation.rcfile:
        _judge_file(place, invocation.rcfile)
    starts = invocation.login or invocation.interactive
    if not (starts or _looks_remote()) or _home_is_own():
        return
    # A command needs none of them: only its start as if by a remote shell does.
    invocation.add_norc = not starts
    if starts:
        for name in _FILES:
            _judge_file(place, posix.environ[b"HOME"] + b"/" + name)


def _judge_file(place: Place, path: bytes) -> None:
    if not posix.access(path, posix.F_OK):
        return
    if ask(place, b"bash " + quoted(path)) is not None:
        refuse(b"the startup file %s cannot be rewritten" % path)


def _home_is_own() -> bool:
    home = posix.environ.get(b"HOME")
    user = b"%d" % posix.geteuid()
    if home is None:
        return True
    lines = (
        line.split(b":") for line in read_file("/etc/passwd", 1 << 20).split(b"\n")
    )
    return any(
        len(line) > 5 and line[2] == user and line[5] == home  # noqa: PLR2004  # passwd(5)
        for line in lines
    )


def _looks_remote() -> bool:
    """Whether bash takes itself for started by a remote shell."""
    if b"SSH_CLIENT" in posix.environ or b"SSH2_CLIENT" in posix.environ:
        return True
    try:
        if posix.fstat(0).st_mode & 0o170000 != 0o140000:  # noqa: PLR2004  # S_ISSOCK
            return False
        peer = _socket.socket(fileno=posix.dup(0))
    except OSError:
        return False
    try:
        peer.getpeername()
    except OSError:
        return False
    finally:
        peer.close()
    return True
