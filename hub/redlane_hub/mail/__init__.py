"""Mail: what is sent, and how it leaves."""

from redlane_hub.mail.mailer import Mailer, MailError, MailRefusedError

__all__ = ["MailError", "MailRefusedError", "Mailer"]
