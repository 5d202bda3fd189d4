"""The errors that Redlane raises on purpose; each message is one whole line."""

__all__ = [
    "ContentError",
    "DaemonError",
    "ForbiddenError",
    "LoadError",
    "NotFoundError",
    "OverloadedError",
    "RedlaneError",
    "UsageError",
]


class RedlaneError(Exception):
    """A failure with one line for a person: what, where and how to mend it."""


class UsageError(RedlaneError):
    """The caller asked for something that cannot be done as asked."""


class ForbiddenError(UsageError):
    """Whoever asks has no right to it."""


class NotFoundError(UsageError):
    """What is asked about is not there, or not for whoever asks."""


class OverloadedError(UsageError):
    """Whoever asks has as much under way as one may have."""


class LoadError(RedlaneError):
    """Policies, roles or settings on disk do not load; nothing was changed."""


class ContentError(RedlaneError):
    """Content does not have the form that its context needs (decision: Block)."""


class DaemonError(RedlaneError):
    """The daemon cannot be reached, or answered something not understood."""
