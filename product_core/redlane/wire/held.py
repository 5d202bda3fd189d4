"""What the daemon says before an answer that takes a decision: for whom it waits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redlane.wire.frames import FrameError, pack

__all__ = ["HeldNotice", "read_held"]

_HELD = "held"


@dataclass(frozen=True, slots=True)
class HeldNotice:
    """A review by its id, for how many seconds at most, and who decides it."""

    review: str
    seconds: int
    whose: str

    def pieces(self) -> list[bytes]:
        """What to send, in order."""
        held = {"review": self.review, "seconds": self.seconds, "whose": self.whose}
        return pack({_HELD: held})


def read_held(document: Mapping[str, Any]) -> HeldNotice | None:
    """The notice in a frame's object; None: it is an answer. Raises FrameError."""
    held = document.get(_HELD)
    if held is None:
        return None
    try:
        return HeldNotice(str(held["review"]), int(held["seconds"]), str(held["whose"]))
    except (KeyError, TypeError, ValueError) as error:
        raise FrameError("the daemon's notice is not understood") from error
