"""Addresses that mail is sent to, and the one that it comes from.

An account's address was typed by a stranger. Only what is plainly one mailbox is
mailed: no quoting, comments, lists or address literals, that one reader would take
apart otherwise than another.
"""

import re
import unicodedata
from email import policy
from email.headerregistry import Address
from typing import Any

from redlane_hub.errors import OperatorError
from redlane_hub.mail.mailer import MailRefusedError
from redlane_hub.unseen import DECEPTIVE, INVISIBLE

__all__ = ["read_recipient", "read_sender"]

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+"
_LABEL = r"[A-Za-z0-9\u0080-\U0010ffff-]+"
_MAILBOX = re.compile(
    rf"(?P<user>{_ATOM}(?:\.{_ATOM})*)@(?P<domain>{_LABEL}(?:\.{_LABEL})*)"
)
_UNSEEN = re.compile(f"[{INVISIBLE}{DECEPTIVE}]")
_LETTERS_DIGITS_AND_MARKS = ("L", "N", "M")


def read_recipient(address: str) -> Address:
    """The address, taken apart. Raises MailRefusedError for what is not mailed."""
    found = _MAILBOX.fullmatch(address)
    if found is None or not all(map(_is_plain, address)):
        raise MailRefusedError("the address cannot be mailed")
    domain = found["domain"]
    if any(each.startswith("-") or each.endswith("-") for each in domain.split(".")):
        raise MailRefusedError("the address's domain cannot be mailed")
    return Address(username=found["user"], domain=domain)


def _is_plain(character: str) -> bool:
    """Of what is not ASCII: nothing that looks like a dot, a bracket or nothing."""
    return character.isascii() or (
        unicodedata.category(character).startswith(_LETTERS_DIGITS_AND_MARKS)
        and not _UNSEEN.match(character)
    )


def read_sender(text: str) -> Address:
    """The setting `mail_from`. Raises OperatorError unless it is one ASCII address."""
    try:
        header: Any = policy.SMTP.header_factory("Sender", text)
        address: Address = header.address
    except (ValueError, IndexError):
        header = None
    if (
        header is None
        or header.defects
        or not address.domain
        or not address.addr_spec.isascii()
    ):
        raise OperatorError(
            "'mail_from' must be one address in ASCII: NAME <USER@HOST> or USER@HOST"
        )
    return address
