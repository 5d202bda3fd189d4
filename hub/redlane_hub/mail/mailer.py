"""What a service asks of mail: one message to one address, accepted or not."""

from typing import Protocol

from redlane_hub.errors import HubError

__all__ = ["MailError", "MailRefusedError", "Mailer"]


class MailError(HubError):
    """The message was not taken now; later it may be.

    The text is for the operator's log: it says which step failed and holds no address,
    nor what the server said of it.
    """


class MailRefusedError(MailError):
    """The message will never be taken: trying again is of no use."""


class Mailer(Protocol):
    """Sends plain text."""

    def send(self, to: str, subject: str, text: str) -> None:
        """Hand one message over; returns once the mail server answers for it.

        Raises MailRefusedError when that can never be, MailError when not now.
        """
