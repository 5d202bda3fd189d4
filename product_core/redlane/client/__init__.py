"""Asking the daemon: what every program beside it goes through.

Public: `Client` waits for its answers, `AsyncClient` is for asyncio, `operations` is
what can be asked, `EventFollower` and `ReviewFollower` are what can be followed. The
page docs/client.md shows each at work.
"""

from typing import TYPE_CHECKING

from redlane.client.errors import NotRunningError, RefusedError
from redlane.client.following import EventFollower, ReviewFollower
from redlane.client.operations import Operation

if TYPE_CHECKING:
    from redlane.client.asynchronous import AsyncClient
    from redlane.client.synchronous import Client

__all__ = [
    "AsyncClient",
    "Client",
    "EventFollower",
    "NotRunningError",
    "Operation",
    "RefusedError",
    "ReviewFollower",
]


def __getattr__(name: str) -> object:
    """What imports much is imported when it is used: commands start light."""
    if name == "Client":
        from redlane.client.synchronous import Client  # noqa: PLC0415  # see above

        return Client
    if name == "AsyncClient":
        from redlane.client.asynchronous import AsyncClient  # noqa: PLC0415  # see above

        return AsyncClient
    raise AttributeError(name)
