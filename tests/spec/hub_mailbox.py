"""A mail server that keeps what the hub sends."""

import email
import email.policy
import re
import threading
from dataclasses import dataclass
from email.message import EmailMessage
from types import TracebackType
from typing import Any, Self

from aiosmtpd.controller import Controller

__all__ = ["Letter", "Mailbox"]

DEADLINE = 20.0
"""How long a letter may be on its way, in seconds."""
LINK = re.compile(r"\S*/reset-password\?token=(\S+)")


@dataclass(frozen=True)
class Letter:
    """One message as it was handed over."""

    sender: str
    to: str
    message: EmailMessage

    @property
    def text(self) -> str:
        """The plain text."""
        body = self.message.get_body(("plain",))
        assert body is not None, self
        return str(body.get_content())

    @property
    def link(self) -> str:
        """The one reset link."""
        found = list(LINK.finditer(self.text))
        assert len(found) == 1, self.text
        return found[0][0]

    @property
    def token(self) -> str:
        """The token in the reset link."""
        return self.link.partition("token=")[2]


class _OwnPort(Controller):
    """Finds out which port it was given, which the library does not."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


class Mailbox:
    """Listens while it is entered; letters can be waited for."""

    def __init__(self) -> None:
        """Make an empty mailbox that does not listen yet."""
        self._arrived = threading.Condition()
        self._letters: list[Letter] = []
        self._server = _OwnPort(self, hostname="127.0.0.1", port=0)

    def __enter__(self) -> Self:
        """Listen."""
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening."""
        self._server.stop()

    @property
    def url(self) -> str:
        """The setting that sends letters here."""
        return f"smtp://127.0.0.1:{self._server.port}"

    async def handle_DATA(  # noqa: N802  # the name that the library calls
        self, server: Any, session: Any, envelope: Any
    ) -> str:
        """Keep one letter for each of its recipients."""
        del server, session
        message = email.message_from_bytes(
            envelope.content, _class=EmailMessage, policy=email.policy.default
        )
        with self._arrived:
            for to in envelope.rcpt_tos:
                self._letters.append(Letter(envelope.mail_from, to, message))
            self._arrived.notify_all()
        return "250 OK"

    def to(self, address: str) -> list[Letter]:
        """The letters to one address so far."""
        with self._arrived:
            return [letter for letter in self._letters if letter.to == address]

    def wait(self, address: str, count: int = 1) -> list[Letter]:
        """The letters to one address, once there are as many as `count`."""
        with self._arrived:
            came = self._arrived.wait_for(
                lambda: len(self.to(address)) >= count, DEADLINE
            )
        assert came, f"{len(self.to(address))} letters, {count} expected"
        return self.to(address)
