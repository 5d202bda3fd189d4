"""A command that may be held, and the files that it names: a person decides on both.

What lies there may be replaced while somebody reads. So a command that was held and is
to go on is read once more, and its files have to be those that were there before.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from stat import S_ISREG

from redlane.errors import ContentError
from redlane.model.content import Content, Reader
from redlane.model.policy import Action

__all__ = ["HeldCommand"]

_MOST_FILES = 1000
_Identity = tuple[int, ...]


class HeldCommand:
    """One question; what is found of the process `pid` tells which files it means."""

    def __init__(self, read: Callable[[], Content], pid: int) -> None:
        """`read` reads the command, and the scripts that it names, as they are."""
        self._read = read
        self._pid = pid
        self._content: Content | None = None
        self._files: Mapping[str, _Identity] | None = None

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

    def hold(self) -> None:
        """Remember what the command names: it is about to wait."""
        if self._content is not None:
            self._files = dict(_files(self._content, self._pid))

    @property
    def has_changed(self) -> bool:
        """Whether it was held, and is not what it was any more."""
        if self._files is None or self._content is None:
            return False
        try:
            texts = _texts(self._read())
        except ContentError:
            return True
        return (
            texts != _texts(self._content)
            or dict(_files(self._content, self._pid)) != self._files
        )


def _texts(content: Content) -> tuple[bytes, ...]:
    """All that a Block sees: the command, and what is inside of it."""
    return content.views(Action.BLOCK, Reader.PATTERN)


def _files(content: Content, pid: int) -> Iterator[tuple[str, _Identity]]:
    """The regular files that words of a command name, and which ones they are.

    A time of change is the kernel's own: nobody sets it back.
    """
    words = (word for command in content.commands for word in command.words)
    for word in islice(dict.fromkeys(words), _MOST_FILES):
        top = f"/proc/{pid}/root" if word.startswith("/") else f"/proc/{pid}/cwd"
        try:
            about = Path(f"{top}/{word}").stat()
        except (OSError, ValueError):  # ValueError: a NUL
            continue
        if S_ISREG(about.st_mode):
            times = (about.st_mtime_ns, about.st_ctime_ns)
            yield word, (about.st_dev, about.st_ino, about.st_size, *times)
