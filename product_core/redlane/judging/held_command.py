"""A command that may be held, and what it would use: a person decides on both.

What lies there may be replaced while somebody reads. So a command that was held and is
to go on is read once more, and its files have to be those that were there before.
"""

import hashlib
from collections.abc import Callable

from redlane.errors import ContentError
from redlane.judging.used_files import Used, used_by
from redlane.model.content import Content, Reader
from redlane.model.policy import Action

__all__ = ["HeldCommand"]


class HeldCommand:
    """One question; what is found of the process `pid` tells which files it means."""

    def __init__(self, read: Callable[[], Content], pid: int) -> None:
        """`read` reads the command, and the scripts that it names, as they are."""
        self._read = read
        self._pid = pid
        self._content: Content | None = None
        self._used: Used | None = None

    def judged(self, content: Content) -> Content:
        """The same content, which is what is judged."""
        self._content = content
        return content

    @property
    def unknown_words(self) -> int:
        """How many words of its scripts are known only when it runs."""
        return 0 if self._content is None else self._content.unknown_words

    @property
    def is_open(self) -> bool:
        """Whether more may run than was judged."""
        return self._content is not None and self._content.is_open

    def hold(self) -> bytes | None:
        """Remember what the command uses: it is about to wait.

        A digest of it and of the command; None where not all of that can be told.
        """
        if self._content is None:
            return None
        self._used = used = used_by(self._content, self._pid)
        if used.more or self.is_open or self.unknown_words:
            return None
        seen = repr((_texts(self._content), used))
        return hashlib.sha256(seen.encode()).digest()

    @property
    def has_changed(self) -> bool:
        """Whether it was held, and is not what it was any more."""
        if self._used is None or self._content is None:
            return False
        try:
            texts = _texts(self._read())
        except ContentError:
            return True
        now = used_by(self._content, self._pid)
        return texts != _texts(self._content) or now != self._used


def _texts(content: Content) -> tuple[bytes, ...]:
    """All that a Block sees: the command, and what is inside of it."""
    return content.views(Action.BLOCK, Reader.PATTERN)
