"""A conversation with a mail server that is over in time, whatever the server does.

The library's timeout is for one packet: a server that sends a byte now and then would
hold a sender for days.
"""

import smtplib
import socket
import ssl
import threading
from contextlib import suppress
from io import BufferedReader
from ipaddress import IPv6Address, ip_address
from types import TracebackType
from typing import Self

from redlane_hub.mail.server_url import MailServer

__all__ = ["Conversation", "TimeLimit", "is_loopback"]

_CONNECT_SECONDS = 10.0
"""For one of the server's addresses; then the next one is tried."""

_GOODBYE_SECONDS = 2.0

_MOST_REPLIED = 64 * 1024
"""Bytes that a server may say; the library would keep whatever comes."""


class TimeLimit:
    """Cuts a connection off when its time is over, from a thread of its own."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._over = False
        self._line: socket.socket | None = None

    def __enter__(self) -> Self:
        """Start counting."""
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop counting; nothing of it goes on."""
        self._timer.cancel()
        self._timer.join()
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None

    def watch(self, line: socket.socket) -> None:
        """Make this the connection that is cut off, under TLS or not."""
        with self._lock:
            # A descriptor of its own: TLS takes the other one over.
            self._line = line.dup()
            if self._over:
                _cut(self._line)

    def _end(self) -> None:
        with self._lock:
            self._over = True
            if self._line is not None:
                _cut(self._line)


def _cut(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


class Conversation(smtplib.SMTP):
    """SMTP with one server: certificates are verified wherever TLS is spoken."""

    def __init__(
        self, server: MailServer, tls: ssl.SSLContext, limit: TimeLimit
    ) -> None:
        self._server = server
        self._tls = tls
        self._limit = limit
        super().__init__(server.host, server.port, timeout=limit.seconds)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        connect_timeout = min(_CONNECT_SECONDS, timeout)
        line = socket.create_connection((host, port), connect_timeout)
        line.settimeout(timeout)
        self._limit.watch(line)
        if not self._server.tls:
            return line
        try:
            return self._tls.wrap_socket(line, server_hostname=host)
        except (OSError, ValueError):
            line.close()
            raise

    def getreply(self) -> tuple[int, bytes]:
        """The server's next reply, of bounded length."""
        if self.file is None:
            self.file = _Bounded(self._line().makefile("rb"))
        return super().getreply()

    def encrypt(self) -> None:
        """Speak TLS from here on, if the server offers it."""
        self.ehlo_or_helo_if_needed()
        if not self._server.tls and self.has_extn("starttls"):
            self.starttls(context=self._tls)

    def is_private(self) -> bool:
        """Whether what is said here stays between the two."""
        line = self._line()
        return isinstance(line, ssl.SSLSocket) or is_loopback(line.getpeername()[0])

    def leave(self) -> None:
        """Say goodbye; what was sent is sent, however the server takes it."""
        with suppress(OSError, smtplib.SMTPException):
            self._line().settimeout(_GOODBYE_SECONDS)
            self.docmd("QUIT")

    def _line(self) -> socket.socket:
        line: socket.socket | None = self.sock
        if line is None:
            raise smtplib.SMTPServerDisconnected("the connection is closed")
        return line


class _Bounded:
    """The replies of one connection, as far as anybody means to read them."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._left = _MOST_REPLIED

    def readline(self, size: int) -> bytes:
        line = self._file.readline(size)
        self._left -= len(line)
        if self._left < 0:
            raise OSError("the server says too much")
        return line

    def close(self) -> None:
        self._file.close()


def is_loopback(peer: str) -> bool:
    """Whether this IP address is of this machine alone."""
    address = ip_address(peer.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
