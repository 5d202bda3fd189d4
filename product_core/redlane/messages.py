"""One line on standard error, in which no terminal control can hide.

The compiled programs speak alike: `redlane/wrapper/message.c`.
"""

import os
import re
from contextlib import suppress
from typing import NoReturn

__all__ = ["REFUSED", "EndingError", "refuse", "single_line", "tell", "visible"]

REFUSED = 126
"""The status with which a shell ends that does not run its command."""

_MISLEADING = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f\udc80-\udcff]"
)
"""Controls, separators, what hides or reorders text, and bytes that are no UTF-8."""


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


def single_line(text: str) -> str:
    """`text` with control characters and lone surrogates escaped: it stays one line.

    What comes from files and from the outside could otherwise forge a line of output
    or talk to the terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        each
        if each.isprintable() or each == " "
        else each.encode("unicode_escape").decode()
        for each in text
    )


def tell(message: bytes, speaker: bytes = b"redlane") -> None:
    """Write one line; a reader that has gone away is no reason to end otherwise."""
    line = visible(speaker) + b": " + visible(message) + b"\n"
    with suppress(OSError):
        while line:
            line = line[os.write(2, line) :]


def refuse(message: bytes) -> NoReturn:
    """Have the program say why the command is not run, and end with REFUSED."""
    raise EndingError(REFUSED, message)


def visible(data: bytes) -> bytes:
    """`data` with every control and misleading character shown as its bytes.

    What is written to a terminal must not move its cursor, nor hide what stands there.
    """
    text = data.decode("utf-8", "surrogateescape")
    return _MISLEADING.sub(_as_bytes, text).encode("utf-8", "surrogateescape")


def _as_bytes(found: re.Match[str]) -> str:
    raw = found[0].encode("utf-8", "surrogateescape")
    return "".join(f"\\x{byte:02x}" for byte in raw)
