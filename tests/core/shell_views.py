"""What Block and Flag policies are shown of a command."""

from redlane.contexts.shell.content import ShellContent
from redlane.model.content import Reader
from redlane.model.policy import Action

__all__ = ["checker_views", "views"]


def views(
    text: str | bytes, *arguments: bytes, cwd: str | None = None
) -> tuple[str, ...]:
    """The texts that a pattern of a Block sees."""
    data = text.encode() if isinstance(text, str) else text
    content = ShellContent(data, arguments, cwd)
    assert content.problem is None, content.problem
    return tuple(view.decode() for view in content.views(Action.BLOCK, Reader.PATTERN))


def checker_views(text: str) -> tuple[str, ...]:
    """The texts that a checker of a Block sees."""
    content = ShellContent(text.encode())
    return tuple(view.decode() for view in content.views(Action.BLOCK, Reader.CHECKER))
