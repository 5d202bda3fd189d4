"""What the control API needs of the proxy: to offer it to sessions, and to show it."""

from collections.abc import Mapping
from typing import Protocol

__all__ = ["SessionProxy"]

Document = Mapping[str, object]


class SessionProxy(Protocol):
    """The proxy of a daemon, running or not, installed or not."""

    def prepare(self) -> None:
        """Have it ready for a session; raises RedlaneError when it cannot be."""

    def offer(self, session_id: str, role: str | None) -> Document | None:
        """`{url, bundle, authority}` for the session's opener; None: there is none."""

    def status(self) -> Document:
        """How it is now."""

    def regenerate(self) -> Document:
        """Make another certificate authority; the paths of its files.

        Raises RedlaneError when that is not possible.
        """
