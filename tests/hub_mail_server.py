"""Mail servers for the hub's tests: a real one, and one that follows a script."""

import asyncio
import email
import email.policy
import re
import shutil
import socket
import ssl
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from redlane_hub.mail.smtp import SmtpMailer
from redlane_hub.settings import Settings

__all__ = [
    "MOMENT",
    "TOKEN",
    "Certificate",
    "Letter",
    "MailServer",
    "mail_server",
    "mailer",
    "make_certificate",
    "scripted_server",
]

MOMENT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
"""When the messages of `mailer` are written."""
DEADLINE = 20.0
"""How long a letter may be on its way, in seconds."""
TOKEN = re.compile(r"/reset-password\?token=(\S+)")


@dataclass(frozen=True)
class Letter:
    """One message as it was handed over."""

    sender: str
    to: str
    raw: bytes
    over_tls: bool
    options: Sequence[str] = ()

    @property
    def message(self) -> EmailMessage:
        made = email.message_from_bytes(self.raw, policy=email.policy.default)
        assert isinstance(made, EmailMessage)
        return made

    @property
    def text(self) -> str:
        return str(self.message.get_content()).replace("\r\n", "\n")

    @property
    def token(self) -> str:
        """The token of the one link."""
        (found,) = TOKEN.findall(self.text)
        return str(found)


@dataclass
class MailServer:
    """What a server has got, and how it behaves; both may change while it runs."""

    port: int = 0
    letters: list[Letter] = field(default_factory=list)
    logins: list[tuple[str, str, str]] = field(default_factory=list)
    """Mechanism, user, password."""
    refuse_recipient: str = ""
    refuse_message: str = ""
    dies: str = ""
    """`before` or `after` it has taken the message, without an answer."""
    hold: threading.Event | None = None
    """What it waits for before it answers for a message."""
    reached: threading.Event = field(default_factory=threading.Event)
    """Set as soon as a message has been transferred."""
    arrived: threading.Condition = field(default_factory=threading.Condition)

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def wait(self, count: int = 1) -> list[Letter]:
        """The letters, once there are so many."""
        with self.arrived:
            came = self.arrived.wait_for(lambda: len(self.letters) >= count, DEADLINE)
        assert came, f"{len(self.letters)} letters, {count} expected"
        return list(self.letters)

    def to(self, address: str) -> list[Letter]:
        with self.arrived:
            return [each for each in self.letters if each.to == address]

    async def handle_RCPT(  # noqa: N802  # the name that the library calls
        self,
        server: SMTP,
        session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        del server, session, options
        if self.refuse_recipient:
            return f"{self.refuse_recipient} <{address}>: no"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802  # the name that the library calls
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        if self.dies != "before" and not self.refuse_message:
            self._keep(session, envelope)
        if self.hold is not None:
            self.reached.set()
            await asyncio.to_thread(self.hold.wait, DEADLINE)
        if self.refuse_message:
            return self.refuse_message
        if self.dies:
            server.transport.abort()
        return "250 OK"

    def _keep(self, session: Session, envelope: Envelope) -> None:
        assert isinstance(envelope.content, bytes)
        assert envelope.mail_from is not None
        with self.arrived:
            self.letters += [
                Letter(
                    envelope.mail_from,
                    to,
                    envelope.content,
                    over_tls=session.ssl is not None,
                    options=tuple(envelope.mail_options),
                )
                for to in envelope.rcpt_tos
            ]
            self.arrived.notify_all()

    def authenticate(
        self,
        _server: SMTP,
        _session: Session,
        _envelope: Envelope,
        mechanism: str,
        given: Any,
    ) -> AuthResult:
        assert isinstance(given, LoginPassword)
        user, password = given.login.decode(), given.password.decode()
        self.logins.append((mechanism, user, password))
        # `handled` would keep the library from answering a refusal.
        return AuthResult(success=password == "s3 cret/@:", handled=False)


@contextmanager
def mail_server(
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    starttls: ssl.SSLContext | None = None,
    smtps: ssl.SSLContext | None = None,
    **options: Any,
) -> Iterator[MailServer]:
    """A server that listens; with `authenticate=True` only for those who log in."""
    made = MailServer()
    if options.pop("authenticate", False):
        options |= {"authenticator": made.authenticate, "auth_required": True}
        options.setdefault("auth_require_tls", starttls is not None)

    def session() -> SMTP:
        with warnings.catch_warnings():
            # It warns of what is meant here: logging in without TLS, and more.
            warnings.simplefilter("ignore")
            return SMTP(
                made, hostname="mail.test", tls_context=starttls, loop=loop, **options
            )

    loop = asyncio.new_event_loop()
    # Only with the protocol spelled out does asyncio turn the delay of packets off.
    line = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    line.bind((host, port))
    made.port = line.getsockname()[1]
    server = loop.run_until_complete(loop.create_server(session, sock=line, ssl=smtps))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield made
    finally:
        if made.hold is not None:
            made.hold.set()
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(DEADLINE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(DEADLINE)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    own = asyncio.current_task()
    others = [each for each in asyncio.all_tasks() if each is not own]
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    # One more turn, for the connections that were closed just now.
    await asyncio.sleep(0)


@contextmanager
def scripted_server(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port where every connection is given to `talk`, one after the other."""
    line = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve() -> None:
        while True:
            try:
                connection, _peer = line.accept()
            except OSError:
                return
            with connection:
                try:
                    talk(connection)
                except OSError:
                    continue

    threads.append(threading.Thread(target=serve, daemon=True))
    threads[0].start()
    try:
        yield line.getsockname()[1]
    finally:
        line.shutdown(socket.SHUT_RDWR)
        line.close()
        threads[0].join(DEADLINE)


def mailer(
    url: str,
    *,
    sender: str = "Redlane hub <hub@localhost>",
    tls: ssl.SSLContext | None = None,
    seconds: float = 10.0,
) -> SmtpMailer:
    """The hub's own, patient or not."""
    settings = Settings(smtp_url=url, mail_from=sender)
    return SmtpMailer(settings, tls=tls, seconds=seconds, clock=lambda: MOMENT)


@dataclass(frozen=True)
class Certificate:
    """A certificate for localhost and 127.0.0.1 that signs itself."""

    path: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path, self.key)
        return context

    def client_context(self) -> ssl.SSLContext:
        """A client's, that trusts this certificate alone."""
        return ssl.create_default_context(cafile=str(self.path))


def make_certificate(directory: Path) -> Certificate:
    """A new one, for a day."""
    made = Certificate(directory / "certificate.pem", directory / "key.pem")
    openssl = shutil.which("openssl")
    assert openssl is not None, "install openssl"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-nodes", "-days", "1"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(made.key), "-out", str(made.path)),
        ],
        check=True,
        capture_output=True,
    )
    return made
