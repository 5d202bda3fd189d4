"""What can go wrong when a hub is asked; each message is one whole line."""

from redlane.errors import RedlaneError

__all__ = ["HubError", "HubRefusedError", "HubUnavailableError"]


class HubError(RedlaneError):
    """A hub was asked, and what was wanted did not come of it."""


class HubRefusedError(HubError):
    """The hub answered that it will not; `status` is HTTP's, from 400 to 499."""

    exit_code = 1

    def __init__(self, message: str, status: int) -> None:
        """Keep the status beside the line for people."""
        super().__init__(message)
        self.status = status


class HubUnavailableError(HubError):
    """The hub cannot be reached, is broken, or answers what no hub may answer."""

    exit_code = 4
