"""One message as it travels (RFC 5322): plain text, from a machine."""

from datetime import datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid

__all__ = ["compose"]

_LONGEST_LINE = 998
"""Of a line in a message, without its end (RFC 5322, 2.1.1)."""


def compose(
    sender: Address, to: Address, subject: str, text: str, moment: datetime
) -> bytes:
    """The message's bytes; UTF-8 in its headers only if the address needs it.

    The parts of an address are never parsed again, and a header cannot hold a line
    break: the library refuses one.
    """
    message = EmailMessage(policy=policy.SMTP)
    message["From"] = sender
    message["To"] = to
    message["Subject"] = subject
    message["Date"] = format_datetime(moment)
    # The default domain is this machine's own name, which is nobody's business.
    message["Message-ID"] = make_msgid(domain=sender.domain)
    # Nobody's holiday notice shall answer (RFC 3834).
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text, charset="utf-8", cte=_encoding(text))
    international = not to.addr_spec.isascii()
    return message.as_bytes(policy=policy.SMTPUTF8 if international else policy.SMTP)


def _encoding(text: str) -> str:
    """Plain where that is possible, so that a link stays whole in the raw message."""
    short = max(map(len, text.splitlines()), default=0) <= _LONGEST_LINE
    return "7bit" if short and text.isascii() else "quoted-printable"
