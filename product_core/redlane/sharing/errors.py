"""Why something from a hub is not taken."""

from redlane.errors import RedlaneError

__all__ = ["RefusedError"]


class RefusedError(RedlaneError):
    """What the hub offers is not to be had here; nothing was changed."""

    exit_code = 1
