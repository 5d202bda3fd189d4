"""The daemon's answer: perhaps that the command is held, or supervised; the verdict.

Only the forms that the daemon sends are understood; a truncated or surprising answer is
no verdict. `redlane-sh` reads it by the same rules: `redlane/wrapper/answer.c`.
"""

from redlane.messages import refuse

__all__ = ["MalformedError", "Reply"]

_ANSWER_MAX = 16 * 1024 * 1024
_HELD_MAX = 7 * 86400
_LINE_MAX = 128
_ROLE_MAX, _WHY_MAX = 8192, 65536
_WORDS = frozenset(b"abcdefghijklmnopqrstuvwxyz ")
_ID = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class MalformedError(Exception):
    """The answer is not of the form that the daemon gives."""


def _number(text: bytes, most: int) -> int:
    if not text.isdigit() or len(text) > 8 or int(text) > most:  # noqa: PLR2004  # enough for any length
        raise MalformedError
    return int(text)


class Reply:
    """An answer as it comes in, piece by piece."""

    def __init__(self) -> None:
        """Begin with nothing received."""
        self._raw = b""
        self.role: bytes | None = b""
        """The role whose session is to supervise what is run, or empty."""
        self.is_open = False
        """Whether not all is known that it runs."""
        self.why: bytes | None = b""
        """Why another command is to be run in its place, in words."""

    def add(self, piece: bytes) -> None:
        """Take a piece more."""
        self._raw += piece

    def held(self) -> tuple[bytes, int, bytes] | None:
        """Take "HELD <review> <seconds> <whose>" off the beginning, if it is there."""
        line, end, rest = self._raw.partition(b"\n")
        if not end or not line.startswith(b"HELD "):
            return None
        review, _, rest_of_line = line[5:].partition(b" ")
        seconds, _, whose = rest_of_line.partition(b" ")
        if not 0 < len(review) <= 64 or not all(each in _ID for each in review):  # noqa: PLR2004  # longest id
            raise MalformedError
        if not 0 < len(whose) <= 64 or not all(each in _WORDS for each in whose):  # noqa: PLR2004  # as long as an id
            raise MalformedError
        self._raw = rest
        return review, _number(seconds, _HELD_MAX), whose

    def _take(self, word: bytes, most: int) -> bytes | None:
        """Take a line of `word` with a length, and a text of that; None: not there yet.

        Empty where there is no such line.
        """
        line, end, rest = self._raw.partition(b"\n")
        if not end or not line.startswith(word):
            return b""
        length = _number(line.removeprefix(word), most)
        if not length or b"\0" in rest[:length]:
            raise MalformedError
        if len(rest) < length:
            return None
        self._raw = rest[length:]
        return rest[:length]

    def complete(self) -> bool:
        """Whether the verdict has come whole; what is none is an error."""
        if not self.role:
            self.role = self._take(b"SUPERVISE ", _ROLE_MAX)
        if self.role is not None and not self.is_open:
            self.is_open = self._raw.startswith(b"OPEN\n")
            self._raw = self._raw.removeprefix(b"OPEN\n")
        if self.role is not None and not self.why:
            self.why = self._take(b"BECAUSE ", _WHY_MAX)
        if self.role is None or self.why is None:
            return False
        return self._has_verdict()

    def _has_verdict(self) -> bool:
        line, end, payload = self._raw.partition(b"\n")
        if not end:
            if len(line) > _LINE_MAX:
                raise MalformedError
            return False
        word, _, length = line.partition(b" ")
        if line == b"ALLOW":
            left = -len(payload)
        elif word in {b"BLOCK", b"MODIFY"}:
            left = _number(length, _ANSWER_MAX) - len(payload)
        else:
            raise MalformedError
        if left < 0:
            raise MalformedError
        return left == 0

    def verdict(self) -> bytes | None:
        """None to run the command as it is, or the command to run in its place.

        It must be complete. Raises EndingError for a refusal.
        """
        line, _, payload = self._raw.partition(b"\n")
        if line == b"ALLOW":
            return None
        if line.startswith(b"BLOCK "):
            refuse(payload.rstrip(b"\n") or b"blocked")
        if b"\0" in payload:
            raise MalformedError
        return payload
