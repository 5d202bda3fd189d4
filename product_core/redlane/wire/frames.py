"""What the daemon and its proxy say to each other.

A frame is two lengths, a JSON object and any number of blobs: contents are bytes, that
JSON cannot hold. On a connection one question at a time is asked and answered. Over the
channel that the proxy is born with go settings, one way, and new connections, the
other.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redlane.wire.strict_json import JsonError, parse_json

__all__ = [
    "HEAD_BYTES",
    "MOST_BLOB_BYTES",
    "MOST_SETTINGS_BYTES",
    "Frame",
    "FrameError",
    "blobs_of",
    "body_length",
    "document_length",
    "pack",
    "read_document",
    "unpack",
]

_HEAD = struct.Struct("!IQ")
_encode = json.JSONEncoder(separators=(",", ":")).encode
HEAD_BYTES = _HEAD.size
"""How many bytes come first, and tell how many follow."""

_MOST_DOCUMENT_BYTES = 4 * 1024 * 1024
MOST_BLOB_BYTES = 1024 * 1024 * 1024
MOST_SETTINGS_BYTES = 128 * 1024
"""What one message of the channel holds."""


class FrameError(Exception):
    """What was received is no frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: a JSON object, and bytes that belong to it."""

    document: Mapping[str, Any]
    blobs: tuple[bytes, ...] = ()


def pack(document: Mapping[str, Any], blobs: Sequence[bytes] = ()) -> list[bytes]:
    """The pieces to send, in order; their lengths are part of them."""
    lengths = list(map(len, blobs))
    text = _encode({**document, "blobs": lengths}).encode()
    return [_HEAD.pack(len(text), sum(lengths)) + text, *blobs]


def body_length(head: bytes) -> int:
    """How many bytes follow a head; raises FrameError for more than we take."""
    document, blobs = _HEAD.unpack(head)
    if document > _MOST_DOCUMENT_BYTES or blobs > MOST_BLOB_BYTES:
        raise FrameError("the frame is too long")
    return int(document + blobs)


def document_length(head: bytes) -> int:
    """How many bytes of them are the JSON object, which comes first."""
    return int(_HEAD.unpack(head)[0])


def unpack(head: bytes, body: bytes) -> Frame:
    """The frame of a head and what followed it; raises FrameError."""
    length = document_length(head)
    document = read_document(body[:length])
    return Frame(document, blobs_of(document, body[length:]))


def read_document(data: bytes) -> dict[str, Any]:
    """The JSON object of a frame; raises FrameError."""
    try:
        document = parse_json(data)
    except JsonError as error:
        raise FrameError("the frame cannot be read") from error
    if not isinstance(document, dict):
        raise FrameError("the frame holds no object")
    return document


def blobs_of(document: Mapping[str, Any], data: bytes) -> tuple[bytes, ...]:
    """The blobs behind a JSON object, which knows their lengths; raises FrameError."""
    try:
        return tuple(_cut(data, document["blobs"]))
    except (ValueError, KeyError, TypeError) as error:
        raise FrameError("the frame cannot be read") from error


def _cut(data: bytes, lengths: Sequence[int]) -> list[bytes]:
    pieces, start = [], 0
    for length in lengths:
        pieces.append(data[start : start + length])
        start += length
    if start != len(data):
        raise ValueError("the lengths of the blobs are not what came")
    return pieces
