"""The mail server, read from the setting `smtp_url`."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from redlane_hub.errors import OperatorError

__all__ = ["MailServer", "read_server"]

_PORTS = {"smtp": 25, "smtps": 465}


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed over; `user` is empty where nobody logs in.

    `tls` is TLS from the first byte; otherwise STARTTLS is used when it is offered.
    """

    host: str
    port: int
    tls: bool
    user: str = ""
    password: str = field(default="", repr=False)


def read_server(url: str) -> MailServer:
    """The server of `smtp://[USER:PASSWORD@]HOST[:PORT]` or `smtps://…`.

    Raises OperatorError, which never shows the password.
    """
    try:
        found = urlsplit(url)
        port = found.port
        user = unquote(found.username or "", errors="strict")
        password = unquote(found.password or "", errors="strict")
    except ValueError:
        raise _unusable("it is no address, or not valid UTF-8") from None
    if found.scheme not in _PORTS or not found.hostname:
        raise _unusable("it must be smtp://HOST or smtps://HOST")
    if found.path.strip("/") or found.query or found.fragment:
        raise _unusable("nothing may follow the port; percent-encode the password")
    if bool(user) != bool(password):
        raise _unusable("it must hold a user and a password, or neither")
    # The SMTP library logs in with ASCII alone.
    if not (user + password).isascii() or not (user + password).isprintable():
        raise _unusable("the user and the password must be printable ASCII")
    tls = found.scheme == "smtps"
    return MailServer(found.hostname, port or _PORTS[found.scheme], tls, user, password)


def _unusable(why: str) -> OperatorError:
    return OperatorError(f"'smtp_url' cannot be used: {why}")
