"""Files that policies keep: they must not be had by moving or linking them elsewhere.

A policy on opening or removing a path would be void if a rename took the file, or a
directory above it, to another path, or put something else in its place. So what a
rename or a link does to paths is judged as opening and removing them would be.
"""

import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from errno import ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR
from itertools import islice

from redlane_context_syscall.emulated_call import NameRules
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.kernel.system import RESOLVE_NO_SYMLINKS, openat2

__all__ = ["MOST_ENTRIES", "Moved", "Protection"]

_OPENING = ("open", "openat", "creat")
_REMOVING = ("unlink", "unlinkat", "rmdir")
MOST_ENTRIES = 200_000
_MOST_SECONDS = 10.0
_AT_ONCE = 256
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Moved:
    """Something that is to get another path: where it stands, and is to stand.

    Both are an open directory and a name in it, without slashes behind. `source` and
    `destination` are their paths, None where they cannot be told.
    """

    entry: tuple[int, bytes]
    place: tuple[int, bytes]
    source: bytes | None
    destination: bytes | None


class Protection:
    """Refuses what would take paths out of the reach of policies, or put them there."""

    def __init__(
        self,
        decisions: NameRules,
        named: Callable[[], Mapping[str, bool]],
        *,
        alike: Callable[[str], Hashable] = str,
        blocking: Callable[[Notification], None] = lambda _: None,
        most_entries: int = MOST_ENTRIES,
    ) -> None:
        """`named`: the calls that policies name, True where they look at paths.

        `alike` has one value for all calls that are ruled on alike; `blocking` is
        called before anything that may take long. No directory is moved that holds
        more than `most_entries`.
        """
        self._decisions = decisions
        self._named = named
        self._alike = alike
        self._blocking = blocking
        self._most_entries = most_entries

    def check_linked(
        self, notification: Notification, call: str, path: bytes | None
    ) -> None:
        """Refuse another name for a file that may not be opened under this one."""
        self._check(notification, call, self._filtered(_OPENING), (path,))

    def check_moved(self, notification: Notification, call: str, moved: Moved) -> None:
        """Refuse a move of what is protected, or to where it would be.

        That holds for everything below a directory too; one that is too large to be
        looked through is refused.
        """
        opening, removing = self._filtered(_OPENING), self._filtered(_REMOVING)
        replacing = self._filtered(_OPENING + _REMOVING)
        arriving = replacing if removing and _exists(*moved.place) else opening
        self._check(notification, call, replacing, (moved.source,))
        self._check(notification, call, arriving, (moved.destination,))
        leaving = self._filtered((*_OPENING, *_REMOVING, call))
        if not leaving:
            return
        try:
            for number, paths in enumerate(
                _batches(_below(*moved.entry, self._most_entries))
            ):
                if number == 1:
                    self._blocking(notification)
                before = [_joined(moved.source, path) for path in paths]
                self._check(notification, call, leaving, before)
                after = [_joined(moved.destination, path) for path in paths]
                self._check(notification, call, opening, after)
        except _UnseenError as error:
            self._decisions.refuse(
                notification, call, str(error), (moved.source, moved.destination)
            )

    def is_idle(self, call: str) -> bool:
        """Whether there is nothing to look at in what such a call moves."""
        return not self._filtered((*_OPENING, *_REMOVING, call))

    def _filtered(self, calls: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the calls on whose paths policies look, one of those alike."""
        named = self._named()
        kinds = {self._alike(each): each for each in calls if named.get(each)}
        return tuple(kinds.values())

    def _check(
        self,
        notification: Notification,
        call: str,
        others: tuple[str, ...],
        paths: Sequence[bytes | None],
    ) -> None:
        """Refuse the call when any of the others would be refused on one of the paths.

        They are asked about together: what is allowed so is allowed for each of them,
        since an Allow has to match every path and a Block only one. The reverse does
        not hold, nor does it of a program that is asked: that looks as it likes.
        """
        for other in others:
            is_alone = len(paths) == 1 or self._decisions.is_slow(other)
            if not is_alone and not self._would_block(notification, other, *paths):
                continue
            for path in paths:
                if self._would_block(notification, other, path):
                    self._decisions.refuse(
                        notification,
                        call,
                        f"policies refuse {other} on a path that this would change",
                        (path,),
                    )

    def _would_block(
        self, notification: Notification, call: str, *paths: bytes | None
    ) -> bool:
        return self._decisions.would_block(notification, call, paths)


class _UnseenError(Exception):
    """Not all below a directory could be looked at; says why."""


def _exists(parent: int, name: bytes) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _joined(directory: bytes | None, path: bytes) -> bytes | None:
    return None if directory is None else directory.rstrip(b"/") + b"/" + path


def _batches(paths: Iterator[bytes]) -> Iterator[list[bytes]]:
    """So many at a time."""
    while batch := list(islice(paths, _AT_ONCE)):
        yield batch


def _below(parent: int, name: bytes, left: int) -> Iterator[bytes]:
    """The paths of all that lies below a directory, relative to it.

    No symlink is followed. Raises `_UnseenError` where it does not come to the end,
    as when there are more than are `left` to look at.
    """
    end = time.monotonic() + _MOST_SECONDS
    try:
        top = openat2(parent, name, _LIST, resolve=RESOLVE_NO_SYMLINKS)
    except OSError as error:
        if error.errno in (ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG):
            return
        raise _UnseenError(f"what lies below cannot be seen: {error}") from error
    waiting = [b""]
    try:
        while waiting:
            for path, is_directory in _entries(top, waiting.pop()):
                left -= 1
                if left < 0 or time.monotonic() > end:
                    raise _UnseenError("too much lies below to be looked through")
                yield path
                if is_directory:
                    waiting.append(path)
    finally:
        os.close(top)


def _entries(top: int, directory: bytes) -> Iterator[tuple[bytes, bool]]:
    """What a directory holds: paths from `top` on, and whether to look into each."""
    try:
        opened = openat2(top, directory or b".", _LIST, resolve=RESOLVE_NO_SYMLINKS)
    except OSError as error:
        if error.errno in (ENOENT, ENOTDIR, ELOOP):  # gone, or another thing now
            return
        raise _UnseenError(f"what lies below cannot be seen: {error}") from error
    try:
        with os.scandir(opened) as entries:
            for entry in entries:
                name = os.fsencode(entry.name)
                path = directory + b"/" + name if directory else name
                yield path, entry.is_dir(follow_symlinks=False)
    except OSError as error:
        raise _UnseenError(f"what lies below cannot be seen: {error}") from error
    finally:
        os.close(opened)
