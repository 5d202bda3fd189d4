"""How much may be kept for all clients together."""

from redlane.errors import RedlaneError

__all__ = ["Memory", "QuotaExceededError", "Reservation"]


class QuotaExceededError(RedlaneError):
    """Too much is kept for others already."""


class Memory:
    """So many bytes, for everybody."""

    def __init__(self, most: int) -> None:
        """All of `most` is free."""
        self._free = most

    def reservation(self) -> "Reservation":
        """A part of it, empty yet."""
        return Reservation(self)

    def take(self, amount: int) -> None:
        """Take so much, or give back what is below 0; raises QuotaExceededError."""
        if amount > self._free:
            raise QuotaExceededError("too much is kept for other clients at the moment")
        self._free -= amount


class Reservation:
    """What one exchange keeps."""

    def __init__(self, memory: Memory) -> None:
        """Nothing of `memory` yet."""
        self._memory = memory
        self._size = 0

    def resize(self, size: int) -> None:
        """Keep so much from now on; after QuotaExceededError it keeps what it had."""
        self._memory.take(size - self._size)
        self._size = size
