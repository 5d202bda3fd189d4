"""Listening sockets: bound by us, or passed by systemd."""

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

from redlane_hub.errors import OperatorError

__all__ = [
    "bound_sockets",
    "check_listen",
    "check_loopback",
    "listening_sockets",
    "loopback_sockets",
    "url_of",
]

_UNIX = "unix:"
_BACKLOG = 1024
_FIRST_PASSED = 3
_HIGHEST_PORT = 65535
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\[\]:/\s]+):([0-9]{1,5})")


def listening_sockets(listen: str, environ: Mapping[str, str]) -> list[socket.socket]:
    """The sockets that systemd passed; or, when it passed none, those of `listen`.

    Raises OperatorError.
    """
    return _passed_sockets(environ) or bound_sockets(listen)


def check_listen(listen: str) -> None:
    """Raise OperatorError unless it is HOST:PORT or unix:PATH."""
    if not listen.startswith(_UNIX) or not listen.removeprefix(_UNIX):
        _host_and_port(listen)


def loopback_sockets(listen: str) -> list[socket.socket]:
    """Sockets on HOST:PORT that only this machine reaches. Raises OperatorError."""
    check_loopback(listen)
    return bound_sockets(listen)


def check_loopback(listen: str) -> None:
    """Raise OperatorError unless it is HOST:PORT that only this machine reaches."""
    host, port = _host_and_port(listen)
    for _, address in _addresses(listen, host, port):
        if not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            raise OperatorError(
                f"cannot listen on {listen}: it must be a loopback address, such as "
                "127.0.0.1:9090"
            )


def bound_sockets(listen: str) -> list[socket.socket]:
    """Sockets listening on HOST:PORT or unix:PATH; a name may have several addresses.

    Raises OperatorError.
    """
    check_listen(listen)
    if listen.startswith(_UNIX):
        return [_unix_socket(Path(listen.removeprefix(_UNIX)))]
    host, port = _host_and_port(listen)
    opened: list[socket.socket] = []
    failure: OSError | None = None
    for family, address in _addresses(listen, host, port):
        # The addresses of one name share the port that the first one got.
        wanted = (address[0], _port_of(opened[0]), *address[2:]) if opened else address
        try:
            opened.append(_tcp_socket(family, wanted))
        except OSError as error:
            failure = failure or error
    if not opened:
        reason = failure.strerror if failure else "no such address"
        raise OperatorError(f"cannot listen on {listen}: {reason}")
    return opened


def url_of(listener: socket.socket) -> str:
    """Where a socket listens, as `http://HOST:PORT` or `unix:PATH`."""
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"{_UNIX}{os.fsdecode(name)}"
    host = f"[{name[0]}]" if listener.family == socket.AF_INET6 else name[0]
    return f"http://{host}:{name[1]}"


def _host_and_port(listen: str) -> tuple[str, int]:
    found = _HOST_AND_PORT.fullmatch(listen)
    if found is None or int(found[2]) > _HIGHEST_PORT:
        raise OperatorError(
            f"cannot listen on {listen!r}: write HOST:PORT, [IPv6]:PORT or unix:PATH"
        )
    return found[1].strip("[]"), int(found[2])


def _addresses(
    listen: str, host: str, port: int
) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no host name"
        raise OperatorError(f"cannot listen on {listen}: {reason}") from None
    return list(dict.fromkeys((family, address) for family, *_, address in found))


def _tcp_socket(
    family: socket.AddressFamily, address: tuple[object, ...]
) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError:
        opened.close()
        raise
    return opened


def _port_of(opened: socket.socket) -> object:
    return opened.getsockname()[1]


def _unix_socket(path: Path) -> socket.socket:
    """A socket file that everybody may connect to; what a dead hub left is replaced."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        opened.bind(str(path))
        path.chmod(0o666)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        reason = error.strerror or str(error)
        raise OperatorError(f"cannot listen on unix:{path}: {reason}") from None
    return opened


def _remove_stale(path: Path) -> None:
    """Remove a socket that nobody listens on any more."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()


def _passed_sockets(environ: Mapping[str, str]) -> list[socket.socket]:
    """What systemd's socket unit opened for this very process (sd_listen_fds)."""
    count = environ.get("LISTEN_FDS", "")
    if environ.get("LISTEN_PID") != str(os.getpid()) or not count.isdecimal():
        return []
    return [_passed(_FIRST_PASSED + each) for each in range(int(count))]


def _passed(descriptor: int) -> socket.socket:
    """A passed descriptor, which must be a listening stream socket."""
    try:
        os.set_inheritable(descriptor, False)  # noqa: FBT003  # takes no keyword
        passed = socket.socket(fileno=descriptor)
        listens = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise OperatorError(
            f"systemd passed descriptor {descriptor}, which is no socket: "
            f"{error.strerror}"
        ) from None
    if not listens or passed.type != socket.SOCK_STREAM:
        raise OperatorError(
            f"systemd passed descriptor {descriptor}, which is no listening stream "
            "socket: use ListenStream= in the socket unit"
        )
    return passed
