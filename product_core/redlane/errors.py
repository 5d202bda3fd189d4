"""The errors that Redlane raises on purpose; each message is one whole line."""

__all__ = ["ContentError", "DaemonError", "LoadError", "RedlaneError", "UsageError"]


class RedlaneError(Exception):
    """A failure with one line for a person: what, where and how to mend it."""


class UsageError(RedlaneError):
    """The caller asked for something that cannot be done as asked."""


class LoadError(RedlaneError):
    """Policies, roles or settings on disk do not load; nothing was changed."""


class ContentError(RedlaneError):
    """Content does not have the form that its context needs (decision: Block)."""


class DaemonError(RedlaneError):
    """The daemon cannot be reached, or answered something not understood."""
