"""Frames between the matcher and the process that holds the models.

Two lengths (4 bytes each, big endian), an object in JSON, and texts in UTF-8, which the
object tells apart by their lengths.
"""

import json
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["NO_MEMORY", "Frame", "frame", "receive"]

NO_MEMORY = 70
"""The exit status of a process that had none left, and so could send nothing."""

_LENGTHS = struct.Struct(">II")
_MOST_HEAD = 1024 * 1024
_MOST_TEXTS = 256 * 1024 * 1024

Frame = tuple[dict[str, Any], list[str]]


def frame(head: Mapping[str, object], texts: Sequence[str] = ()) -> bytes:
    """What is sent for an object, and texts that go with it."""
    data = [text.encode("utf-8", "replace") for text in texts]
    lengths = [len(each) for each in data]
    document = json.dumps({**head, "lengths": lengths}).encode()
    return b"".join((_LENGTHS.pack(len(document), sum(lengths)), document, *data))


def receive(link: socket.socket) -> Frame | None:
    """The next frame; None when there is none, or what comes is no frame."""
    lengths = _exactly(link, _LENGTHS.size)
    if lengths is None:
        return None
    head_length, texts_length = _LENGTHS.unpack(lengths)
    if head_length > _MOST_HEAD or texts_length > _MOST_TEXTS:
        return None
    data = _exactly(link, head_length + texts_length)
    if data is None:
        return None
    head = json.loads(data[:head_length])
    texts, place = [], head_length
    for length in head.pop("lengths"):
        texts.append(data[place : place + length].decode())
        place += length
    return head, texts


def _exactly(link: socket.socket, length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        try:
            piece = link.recv(min(length - len(data), 1024 * 1024))
        except OSError:
            return None
        if not piece:
            return None
        data += piece
    return bytes(data)
