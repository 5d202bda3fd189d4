"""Whether settings can work, and what in them is probably not meant: before serving."""

import dataclasses
import ipaddress
import stat
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from redlane_hub.errors import OperatorError
from redlane_hub.mail.addresses import read_sender
from redlane_hub.mail.server_url import read_server
from redlane_hub.server.sockets import check_listen, check_loopback
from redlane_hub.settings import ENVIRONMENT_PREFIX, Settings, environment_name

__all__ = ["check", "warnings"]

_CHECKS: dict[str, Callable[[str], object]] = {
    "listen": check_listen,
    "metrics_listen": check_loopback,
    "smtp_url": read_server,
    "mail_from": read_sender,
}
_OTHER_VARIABLES = frozenset({f"{ENVIRONMENT_PREFIX}DEBUG"})


def check(settings: Settings, places: Mapping[str, str]) -> None:
    """Raise OperatorError for the first setting that cannot work, naming its place."""
    for name, try_it in _CHECKS.items():
        value = getattr(settings, name)
        if not value:
            continue
        try:
            try_it(value)
        except OperatorError as error:
            where = f" ({places[name]})" if name in places else ""
            raise OperatorError(f"{error}{where}") from None


def warnings(settings: Settings, environment: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each thing that works, and that few operators can want."""
    fields = {each.name: each for each in dataclasses.fields(Settings)}
    known = {environment_name(name) for name in fields}
    for name in sorted(environment.keys() - known - _OTHER_VARIABLES):
        if name.startswith(ENVIRONMENT_PREFIX):
            yield f"{name} is no setting and changes nothing."
    if settings.smtp_url and settings.mail_from == fields["mail_from"].default:
        yield "Mails have a sender at localhost, which many refuse: set 'mail_from'."
    if settings.smtp_url and not settings.public_url:
        yield "Links in mails lead to where the hub listens: set 'public_url'."
    if settings.payment_api_key and _is_open(settings.payment_api_url):
        yield "The key for Stripe's API travels in clear text: use https."
    if _others_read(settings):
        yield "Others on this machine can read the database: chmod 600 it."


def _is_open(url: str) -> bool:
    """Whether what is sent there can be read on the way."""
    found = urlsplit(url)
    if found.scheme != "http" or found.hostname == "localhost":
        return False
    try:
        return not ipaddress.ip_address(found.hostname or "").is_loopback
    except ValueError:
        return True


def _others_read(settings: Settings) -> bool:
    try:
        mode = settings.database_path.stat().st_mode
    except OSError:
        return False
    return bool(mode & (stat.S_IROTH | stat.S_IWOTH))
