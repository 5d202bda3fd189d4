"""Mail by SMTP: what was said wrong and when becomes one of two errors."""

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from redlane_hub.clock import Clock, system_clock
from redlane_hub.mail.addresses import read_recipient, read_sender
from redlane_hub.mail.conversation import Conversation, TimeLimit
from redlane_hub.mail.mailer import MailError, MailRefusedError
from redlane_hub.mail.message import compose
from redlane_hub.mail.server_url import read_server
from redlane_hub.settings import Settings

__all__ = ["SEND_SECONDS", "SmtpMailer"]

SEND_SECONDS = 30.0
"""How long handing over one message may take, from the first packet to the last."""

_PERMANENT = range(500, 600)

_REFUSALS: dict[type[smtplib.SMTPException], str] = {
    smtplib.SMTPSenderRefused: "refused the sender with",
    smtplib.SMTPAuthenticationError: "refused the password with",
}
"""What the operator can mend, so that it is never for good."""


class SmtpMailer:
    """The `Mailer` for the settings' `smtp_url` and `mail_from`.

    Raises OperatorError for a setting that cannot be used. `tls` replaces the system's
    certificate authorities.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        tls: ssl.SSLContext | None = None,
        seconds: float = SEND_SECONDS,
        clock: Clock = system_clock,
    ) -> None:
        self._server = read_server(settings.smtp_url)
        self._sender = read_sender(settings.mail_from)
        self._tls = tls or ssl.create_default_context()
        self._seconds = seconds
        self._clock = clock

    def send(self, to: str, subject: str, text: str) -> None:
        """Hand one message over. Raises what `Mailer.send` does."""
        recipient = read_recipient(to)
        message = compose(self._sender, recipient, subject, text, self._clock())
        with self._conversation() as server:
            options: tuple[str, ...] = ()
            if not recipient.addr_spec.isascii():
                if not server.has_extn("smtputf8"):
                    raise MailRefusedError(
                        "the mail server takes no internationalised addresses"
                    )
                options = ("SMTPUTF8", "BODY=8BITMIME")
            server.sendmail(
                self._sender.addr_spec, [recipient.addr_spec], message, options
            )
            server.leave()

    @contextmanager
    def _conversation(self) -> Iterator[Conversation]:
        """A server that listens and knows us; its refusals leave as mail errors."""
        with _mail_errors(), TimeLimit(self._seconds) as limit:
            server = Conversation(self._server, self._tls, limit)
            try:
                server.encrypt()
                self._log_in(server)
                yield server
            finally:
                server.close()

    def _log_in(self, server: Conversation) -> None:
        if not self._server.user:
            return
        if not server.is_private():
            raise MailError(
                "the mail server offers no STARTTLS, and the password is not sent in "
                "clear text"
            )
        server.login(self._server.user, self._server.password)


@contextmanager
def _mail_errors() -> Iterator[None]:
    """Tell a refusal for good from one for now.

    What the server said is left out: it likes to repeat the address.
    """
    try:
        yield
    except smtplib.SMTPException as error:
        raise _refusal(error) from None
    except (OSError, ValueError) as error:
        raise MailError(f"the mail server {_failure(error)}") from None


def _refusal(error: smtplib.SMTPException) -> MailError:
    match error:
        case smtplib.SMTPRecipientsRefused(recipients=refused):
            code = max(code for code, _text in refused.values())
            return _kind(code)(f"the mail server refused the recipient with {code}")
        case smtplib.SMTPDataError(smtp_code=code):
            return _kind(code)(f"the mail server refused the message with {code}")
        case smtplib.SMTPResponseException(smtp_code=code):
            did = _REFUSALS.get(type(error), "answered")
            return MailError(f"the mail server {did} {code}")
        case smtplib.SMTPServerDisconnected():
            return MailError("the mail server hung up, took too long or said too much")
    name = type(error).__name__
    return MailError(f"the mail server cannot be used ({name})")


def _kind(code: int) -> type[MailError]:
    return MailRefusedError if code in _PERMANENT else MailError


def _failure(error: OSError | ValueError) -> str:
    match error:
        case ssl.SSLCertVerificationError(verify_message=why):
            return f"has a certificate that is not trusted: {why}"
        case ssl.SSLError():
            return "does not speak TLS as it should"
        case OSError(strerror=why):
            return f"cannot be reached: {why or type(error).__name__}"
    return "says what is no SMTP"
