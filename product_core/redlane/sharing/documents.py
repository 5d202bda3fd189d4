"""The files that the client of a hub keeps in a home, read and written whole."""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from redlane.errors import LoadError
from redlane.policies.files import read_file
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["NONE_OF_OURS", "as_bytes", "digest_of", "read_document", "text", "texts"]

T = TypeVar("T")

NONE_OF_OURS = (AttributeError, KeyError, TypeError, ValueError)
"""What reading raises for JSON that is of another form."""


def read_document(path: Path, read: Callable[[dict[str, Any]], T], absent: T) -> T:
    """What `read` makes of a file's object of version 1; `absent` without a file.

    `read` raises one of NONE_OF_OURS for anything else. Raises LoadError, which names
    the file.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return absent
    except OSError as error:
        raise LoadError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        value = parse_json(read_file(path))
    except (LoadError, JsonError) as error:
        raise LoadError(f"{path}: {error}") from error
    with suppress(*NONE_OF_OURS):
        if value["version"] == 1:
            return read(value)
    raise LoadError(
        f"{path} is damaged, or of another version of redlane: put back a copy, or "
        "remove it and pull again"
    )


def text(value: object) -> str:
    """A text; raises TypeError."""
    if not isinstance(value, str):
        raise TypeError
    return value


def texts(value: object) -> Mapping[str, str]:
    """A mapping from text to text; raises TypeError."""
    if not isinstance(value, dict) or not all(
        isinstance(each, str) for each in value.values()
    ):
        raise TypeError
    return value


def as_bytes(value: object) -> bytes:
    """A JSON value as it stands in a file, for people to read."""
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode()


def digest_of(data: bytes) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
