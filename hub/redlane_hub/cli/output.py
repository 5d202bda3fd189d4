"""What commands print: answers to standard output, words to standard error."""

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

__all__ = [
    "drop_stream",
    "print_json",
    "print_line",
    "print_table",
    "single_line",
    "tell",
]


def single_line(text: str) -> str:
    """`text` with control characters and the like escaped: it stays one line.

    Addresses and names come from strangers, who could otherwise forge a line of output
    or talk to the terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )


def print_line(text: str = "") -> None:
    """Print one line of an answer."""
    sys.stdout.write(f"{single_line(text)}\n")


def print_json(value: object) -> None:
    """Print one JSON value on one line; ASCII, so always safe."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under their heads, in columns as wide as they need to be."""
    lines = [heads, *([single_line(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def tell(message: str) -> None:
    """Say to a person, on standard error, in one line.

    If nobody is left there, that changes no exit status.
    """
    with contextlib.suppress(OSError):
        sys.stdout.flush()  # what was printed before is read before
    try:
        sys.stderr.write(f"redlane-hub: {single_line(message)}\n")
    except OSError:
        drop_stream(sys.stderr)


def drop_stream(stream: TextIO) -> None:
    """Let the interpreter end quietly although `stream` cannot be written."""
    with contextlib.suppress(OSError):
        stream.flush()
    with contextlib.suppress(OSError, ValueError):  # no real file behind it: fine
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
