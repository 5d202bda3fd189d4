"""What commands print: one line for one thing, colour only where it is wanted."""

import contextlib
import json
import os
import sys
from typing import TextIO

from redlane.messages import single_line

__all__ = [
    "as_text",
    "drop_stream",
    "paint",
    "print_error",
    "print_finding",
    "print_json",
    "print_note",
    "single_line",
]

_COLOURS = {"red": "31", "yellow": "33", "green": "32", "bold": "1", "dim": "2"}


def paint(text: str, colour: str, stream: TextIO) -> str:
    """`text` in a colour when `stream` is a terminal and NO_COLOR is not set."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    if not stream.isatty():
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def as_text(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 arrive as lone surrogates."""
    return name.encode(errors="backslashreplace").decode()


def print_error(message: str) -> None:
    """Say on standard error what went wrong, in one line."""
    _tell(f"{paint('redlane:', 'red', sys.stderr)} {single_line(message)}\n")


def print_note(message: str) -> None:
    """Say on standard error what a person should know, in one line."""
    _tell(f"redlane: {single_line(message)}\n")


def print_finding(line: str) -> None:
    """Print what is wrong with a file on standard error, as `config check` words it."""
    _tell(f"{single_line(line)}\n")


def _tell(line: str) -> None:
    """Write to standard error, if anybody is left there: it changes no exit status."""
    try:
        sys.stderr.write(line)
    except OSError:
        drop_stream(sys.stderr)


def drop_stream(stream: TextIO) -> None:
    """Let the interpreter end quietly although `stream` cannot be written."""
    with contextlib.suppress(OSError):
        stream.flush()
    with contextlib.suppress(OSError, ValueError):  # no real file behind it: fine
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(value: object) -> None:
    """Print one JSON value on one line of standard output; ASCII, so always safe."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
