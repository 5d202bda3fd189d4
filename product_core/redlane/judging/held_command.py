"""A command that may be held, and what it would use: a person decides on both.

What lies there may be replaced while somebody reads. So a command that was held and is
to go on is read once more, and its files have to be those that were there before.
"""

import hashlib
import time
from collections.abc import Callable

from redlane.errors import ContentError
from redlane.judging.seen_texts import Part, Seen, texts_of
from redlane.judging.used_files import Used, used_by
from redlane.model.content import Content, Reader
from redlane.model.policy import Action

__all__ = ["HeldCommand"]


class HeldCommand:
    """One question; what is found of the process `pid` tells which files it means."""

    def __init__(
        self, read: Callable[[], Content], pid: int, *, has_arguments: bool = False
    ) -> None:
        """`read` reads the command, and the scripts that it names, as they are."""
        self._read = read
        self.pid = pid
        self._content: Content | None = None
        self._used: Used | None = None
        self._held_at = 0
        self._has_arguments = has_arguments

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

    @property
    def may_be_exchanged(self) -> bool:
        """Whether it runs files, which others may be by then."""
        return self._content is not None and self._content.runs_files

    def hold(self) -> bytes | None:
        """Remember what the command uses: it is about to wait.

        A digest of it and of the command; None where not all of that can be told.
        """
        if self._content is None:
            return None
        self._held_at = time.time_ns()
        self._used = used = used_by(self._content, self.pid)
        if used.more or self.is_open or self.unknown_words:
            return None
        seen = repr((_texts(self._content), used))
        return hashlib.sha256(seen.encode()).digest()

    def seen(self) -> Seen | None:
        """What whoever decides on it sees, once it was held."""
        content = self._content
        if content is None or self._used is None:
            return None
        return Seen(content.data, texts_of(content), self._used, self._held_at)

    def part(self) -> Part | None:
        """What it is where it may be a part of another one; None before it was read."""
        content = self._content
        if content is None:
            return None
        used = used_by(content, self.pid)
        return Part(content.data, texts_of(content), used, self._has_arguments)

    @property
    def has_changed(self) -> bool:
        """Whether it was held, and is not what it was any more."""
        if self._used is None or self._content is None:
            return False
        try:
            texts = _texts(self._read())
        except ContentError:
            return True
        now = used_by(self._content, self.pid)
        return texts != _texts(self._content) or now != self._used


def _texts(content: Content) -> tuple[bytes, ...]:
    """All that a Block sees: the command, and what is inside of it."""
    return content.views(Action.BLOCK, Reader.PATTERN)
