"""Which hub is asked, and as whom."""

import argparse
import os
from typing import TYPE_CHECKING

from redlane.cli.output import print_note
from redlane.errors import LoadError, UsageError
from redlane.hubclient import HubRefusedError
from redlane.hubclient.address import is_private, normal_address
from redlane.hubclient.logins import Logins
from redlane.model.problem import Severity
from redlane.model.settings import Hub as HubSettings
from redlane.paths import Paths
from redlane.policies.files import read_file
from redlane.wire.strict_json import JsonError, parse_json

if TYPE_CHECKING:
    from redlane.hubclient import Hub

__all__ = [
    "add_hub",
    "add_json",
    "add_system",
    "address_of",
    "exact",
    "hub_of",
    "hub_settings",
    "kept_logins",
    "paths_of",
]

_UNAUTHORIZED = 401
_ADDRESS, _TOKEN = "REDLANE_HUB_URL", "REDLANE_HUB_TOKEN"


def add_hub(parser: argparse.ArgumentParser) -> None:
    """Give a command the option that names the hub."""
    parser.add_argument(
        "--hub",
        metavar="URL|NAME",
        help="the hub's address, or its name in the setting hub.names (default: "
        f"{_ADDRESS}, else the setting hub.url)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Give a command the option for scripts."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def hub_of(
    arguments: argparse.Namespace,
    *,
    as_nobody: bool = False,
    as_somebody: bool = False,
    otherwise: str = "",
) -> "Hub":
    """The hub that the command is to ask, with the token of whoever logged in.

    `otherwise` is asked where none is named. Raises UsageError when no hub is named, or
    by no address, and HubRefusedError when the command is for `somebody` and nobody is
    logged in.
    """
    from redlane.hubclient import Hub  # noqa: PLC0415  # the others do without

    address = address_of(arguments, otherwise)
    if not is_private(address):
        print_note(f"{address} is asked without encryption: others may read along")
    is_named = bool(_named(arguments))
    token = None if as_nobody else _token(address, is_named=is_named)
    if as_somebody and token is None:
        raise HubRefusedError(
            f"nobody is logged in to {address}: redlane hub login EMAIL", _UNAUTHORIZED
        )
    return Hub(address, token)


def address_of(arguments: argparse.Namespace, otherwise: str = "") -> str:
    """The address of the hub that the command is to ask; raises UsageError."""
    named = _named(arguments) or otherwise
    if not named:
        raise UsageError(
            f"no hub is named: say --hub URL, or set {_ADDRESS} or the setting hub.url"
        )
    return normal_address(named)


def _named(arguments: argparse.Namespace) -> str | None:
    """The address that somebody has named for it, or the one of the name; or none."""
    named = arguments.hub or os.environ.get(_ADDRESS)
    if named and "://" in named:
        return named
    settings = hub_settings(paths_of(arguments))
    named, names = named or settings.url, settings.names or {}
    if not named or not names or "://" in named:
        return named
    if named not in names:
        known = ", ".join(sorted(names))
        raise UsageError(
            f"the hub {named!r} is no address, nor in the setting hub.names: {known}"
        )
    return names[named]


def exact(named: str) -> tuple[str, str]:
    """Name and version of NAME@VERSION; raises UsageError."""
    name, at, version = named.partition("@")
    if not name or not at or not version:
        raise UsageError(f"{named!r} must be NAME@VERSION")
    return name, version


def kept_logins() -> Logins:
    """The logins of whoever runs the command."""
    return Logins(Paths.from_environment(os.environ).hub_logins)


def _token(address: str, *, is_named: bool) -> str | None:
    """The token for a hub; that of the environment is for one that somebody named."""
    named = os.environ.get(_TOKEN)
    if not named or not is_named:
        return kept_logins().token(address)
    token = named.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise UsageError(f"{_TOKEN} is no token")
    return token


def paths_of(arguments: argparse.Namespace) -> Paths:
    """Where what came from a hub is: with --system, for the whole machine."""
    if getattr(arguments, "system", False):
        return Paths.system()
    return Paths.from_environment(os.environ)


def add_system(parser: argparse.ArgumentParser) -> None:
    """Give a command the option that it is about the machine's home."""
    parser.add_argument(
        "--system", action="store_true", help="for the machine's daemon: /etc/redlane"
    )


def hub_settings(paths: Paths) -> HubSettings:
    """What settings.json says of hubs; what is wrong elsewhere in it is not told.

    Raises UsageError, also for a setting of hubs that nobody knows: it may be meant to
    forbid something.
    """
    path = paths.settings
    if not path.exists() and not path.is_symlink():
        return HubSettings()
    from redlane.policies.settings import parse_settings  # noqa: PLC0415  # much to load

    try:
        settings, findings = parse_settings(parse_json(read_file(path)), str(path))
    except (JsonError, LoadError) as error:
        raise UsageError(f"{path}: {error}") from error
    for each in findings:
        is_broken = each.severity is Severity.ERROR and not each.subject
        if is_broken or each.subject.lower().partition(".")[0] == "hub":
            raise UsageError(f"{path}: {each.subject}: {each.message}")
    return settings.hub
