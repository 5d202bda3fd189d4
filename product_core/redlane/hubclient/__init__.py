"""Asking a hub: what the commands of `redlane hub` go through, and other programs may.

Public: `Hub` asks one hub, the values are what it answers, and what goes wrong is a
`HubError`. The page docs/hub-client.md shows it at work.
"""

from typing import TYPE_CHECKING

from redlane.hubclient.documents import (
    Account,
    Artifact,
    Dependency,
    Endorsement,
    Login,
    Members,
    NewEmail,
    Published,
    Registered,
    Release,
    Resolution,
    Resolved,
    SearchPage,
    SigningKey,
    Subscription,
    Summary,
)
from redlane.hubclient.errors import HubError, HubRefusedError, HubUnavailableError

if TYPE_CHECKING:
    from redlane.hubclient.hub import Hub

__all__ = [
    "Account",
    "Artifact",
    "Dependency",
    "Endorsement",
    "Hub",
    "HubError",
    "HubRefusedError",
    "HubUnavailableError",
    "Login",
    "Members",
    "NewEmail",
    "Published",
    "Registered",
    "Release",
    "Resolution",
    "Resolved",
    "SearchPage",
    "SigningKey",
    "Subscription",
    "Summary",
]


def __getattr__(name: str) -> object:
    """What imports much is imported when it is used: commands start light."""
    if name == "Hub":
        from redlane.hubclient.hub import Hub  # noqa: PLC0415  # see above

        return Hub
    raise AttributeError(name)
