"""Files of whose contents nothing is told to a session: its role hides them.

Whether a command is refused would otherwise tell what stands in a file that it names.
So what is hidden counts as a file that cannot be read, and is never opened for long.
"""

import os
from collections.abc import Callable, Iterable

from redlane.contexts.shell.expansion.disk import Disk, UnreadableError

__all__ = ["HidingDisk", "own_path"]


class HidingDisk:
    """A `disk` without the files of which `is_hidden` tells by their real paths.

    `paths_of` has those of an open file; it raises UnreadableError where it cannot.
    """

    def __init__(
        self,
        disk: Disk,
        is_hidden: Callable[[str], bool],
        paths_of: Callable[[int], Iterable[str]],
    ) -> None:
        """Nothing is looked at before a command names a file."""
        self._disk = disk
        self._is_hidden = is_hidden
        self._paths_of = paths_of

    def open(self, path: str) -> int | None:
        """As `Disk.open`; UnreadableError for what is hidden."""
        opened = self._disk.open(path)
        if opened is None:
            return None
        try:
            if any(map(self._is_hidden, self._paths_of(opened))):
                raise UnreadableError(  # noqa: TRY301  # one way out
                    f"{path!r} is hidden from the session by its role"
                )
        except UnreadableError:
            os.close(opened)
            raise
        return opened

    def is_regular(self, path: str) -> bool:
        """As `Disk.is_regular`; what is hidden is told when it is opened."""
        return self._disk.is_regular(path)

    def link_target(self, path: str) -> str | None:
        """As `Disk.link_target`."""
        return self._disk.link_target(path)

    def expanded(self, path: str) -> str:
        """As `Disk.expanded`."""
        return self._disk.expanded(path)


def own_path(opened: int) -> tuple[str]:
    """Where a file lies that this process has opened by its own paths."""
    return (os.readlink(f"/proc/self/fd/{opened}"),)  # noqa: PTH115  # no path type
