"""One line on standard error, in which no terminal control can hide."""

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes longer to import than all the rest
    from typing import NoReturn

__all__ = ["REFUSED", "USAGE", "EndingError", "fail", "refuse", "tell", "visible"]

USAGE = 2
REFUSED = 126

_MISLEADING = (
    *((0, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x200B, 0x200F), (0x2028, 0x202E)),
    *((0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xE0000, 0xE007F), (0xDC80, 0xDCFF)),
)
"""Controls, separators, what hides or reorders text, and bytes that are no UTF-8."""


def visible(data: bytes) -> bytes:
    """`data` with every control and misleading character shown as its bytes."""
    shown = []
    for each in data.decode("utf-8", "surrogateescape"):
        point = ord(each)
        raw = each.encode("utf-8", "surrogateescape")
        if any(low <= point <= high for low, high in _MISLEADING):
            raw = b"".join(b"\\x%02x" % byte for byte in raw)
        shown.append(raw)
    return b"".join(shown)


def tell(message: bytes, speaker: bytes = b"redlane") -> None:
    """Write one line; a reader that has gone away is no reason to end otherwise."""
    line = visible(speaker) + b": " + visible(message) + b"\n"
    try:
        while line:
            line = line[posix.write(2, line) :]
    except OSError:
        return


class EndingError(Exception):
    """The program is to end with `status`, having said `message`."""

    def __init__(
        self, status: int, message: bytes, speaker: bytes = b"redlane"
    ) -> None:
        """`message` is without the line's beginning, which is `speaker`."""
        super().__init__(message.decode("utf-8", "backslashreplace"))
        self.status = status
        self.message = message
        self.speaker = speaker


def fail(status: int, speaker: bytes, message: bytes) -> "NoReturn":
    """End; what a shell would say itself is said in its name."""
    raise EndingError(status, message, speaker)


def refuse(message: bytes) -> "NoReturn":
    """Say why the command is not run and end with the status for that."""
    raise EndingError(REFUSED, message)
