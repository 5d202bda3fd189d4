"""What name servers say of a name beside its addresses (RFC 1035), by glibc's resolver.

Addresses are no part of it: a session's names have those that stand for them.
"""

import ctypes
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from redlane.errors import RedlaneError

__all__ = ["NoNameServerError", "Records", "has_no_addresses", "records_of"]

_OF_ADDRESSES = frozenset({1, 28, 38, 64, 65})
"""A, AAAA, A6, SVCB and HTTPS."""
_ON_THE_WAY = frozenset({5, 39, 46})
"""CNAME and DNAME, and what signs records (RRSIG)."""
_QUESTIONS_ALONE = range(249, 256)
"""What is asked for and is no record: ANY, whole zones (RFC 6895, section 3.1)."""

_INTERNET, _RECURSION_DESIRED = 1, 0x0100
_LARGEST = 65_535
_HEAD, _RECORD = struct.Struct("!6H"), struct.Struct("!2HIH")
_CODES = 0x0F
_POINTER = 0xC0


class NoNameServerError(RedlaneError):
    """No name server answers, or not as one does."""


@dataclass(frozen=True, slots=True)
class Records:
    """What was answered, as it stands behind the question; `code` is the RCODE.

    Pointers in it are from the beginning of a message with just this question.
    """

    code: int
    count: int
    data: bytes


def has_no_addresses(kind: int) -> bool:
    """Whether there are records of a kind, in which no address is."""
    is_kind = 0 < kind < 1 << 16 and kind not in _QUESTIONS_ALONE
    return is_kind and kind not in _OF_ADDRESSES


def records_of(name: str, kind: int) -> Records:
    """Ask the machine's name servers for records of one kind.

    `name` is of letters, digits, hyphens and underscores, its labels of up to 63, and
    `kind` one without addresses.
    Raises NoNameServerError.
    """
    question = _question(name, kind)
    resolver = ctypes.CDLL("libresolv.so.2", use_errno=True)
    answer = ctypes.create_string_buffer(_LARGEST)
    length = resolver.res_send(question, len(question), answer, len(answer))
    if length < len(question):
        error = os.strerror(ctypes.get_errno()) if length < 0 else "a short answer"
        raise NoNameServerError(error)
    return _read(answer.raw[:length], question, kind)


def _question(name: str, kind: int) -> bytes:
    head = _HEAD.pack(int.from_bytes(os.urandom(2)), _RECURSION_DESIRED, 1, 0, 0, 0)
    labels = b"".join(bytes([len(each)]) + each.encode() for each in name.split("."))
    return head + labels + b"\0" + struct.pack("!2H", kind, _INTERNET)


def _read(answer: bytes, question: bytes, kind: int) -> Records:
    """The records that answer it; none of them where one is of another kind."""
    _, flags, asked, count, _, _ = _HEAD.unpack_from(answer)
    start = len(question)
    if asked != 1 or answer[_HEAD.size : start].lower() != question[_HEAD.size :]:
        raise NoNameServerError("an answer to another question")
    try:
        found = list(_records(answer, start, count))
    except (struct.error, IndexError):
        raise NoNameServerError("a broken answer") from None
    end = found[-1][1] if found else start
    if not {each for each, _ in found} <= {kind, *_ON_THE_WAY}:
        return Records(flags & _CODES, 0, b"")
    return Records(flags & _CODES, count, answer[start:end])


def _records(answer: bytes, at: int, count: int) -> Iterator[tuple[int, int]]:
    """The kind of each record, and where it ends."""
    for _ in range(count):
        at = _end_of_name(answer, at)
        kind, _, _, length = _RECORD.unpack_from(answer, at)
        at += _RECORD.size + length
        if at > len(answer):
            raise IndexError
        yield kind, at


def _end_of_name(answer: bytes, at: int) -> int:
    while length := answer[at]:
        if length >= _POINTER:
            return at + 2
        at += 1 + length
    return at + 1
