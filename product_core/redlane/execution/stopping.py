"""A word to whoever runs commands: nobody waits for them any more."""

import os
import threading
import weakref

__all__ = ["Stop"]


class Stop:
    """Said once, from any thread, and heard at once by whoever polls for it."""

    def __init__(self) -> None:
        """Not said yet; raises OSError where there is no descriptor left."""
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._said = threading.Event()
        weakref.finalize(self, os.close, self.descriptor)

    @property
    def is_set(self) -> bool:
        """Whether it was said."""
        return self._said.is_set()

    def set(self) -> None:
        """Say it."""
        self._said.set()
        os.eventfd_write(self.descriptor, 1)
