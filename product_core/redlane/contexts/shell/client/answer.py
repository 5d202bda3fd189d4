"""The daemon's answer: an HTTP response read by hand, then the verdict in its body.

Only the forms that the daemon sends are understood. A truncated or surprising answer is
no verdict.
"""

from .message import refuse

__all__ = ["MalformedError", "Reply"]

_HEAD_MAX = 16 * 1024
_ANSWER_MAX = 16 * 1024 * 1024
_HELD_MAX = 7 * 86400
_ID = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_HEXADECIMAL = frozenset(b"0123456789abcdefABCDEF")


class MalformedError(Exception):
    """The answer is not of the form that the daemon gives."""


def _number(text: bytes, base: int = 10) -> int:
    digits = text.isdigit() if base == 10 else all(c in _HEXADECIMAL for c in text)  # noqa: PLR2004  # decimal
    if not text or len(text) > 8 or not digits:  # noqa: PLR2004  # enough for any length
        raise MalformedError
    number = int(text, base)
    if number > _ANSWER_MAX:
        raise MalformedError
    return number


class Reply:
    """A response as it comes in, piece by piece."""

    def __init__(self) -> None:
        """Begin with nothing received."""
        self._raw = b""
        self._state = "head"
        self._remaining = 0
        self.status = 0
        self.body = b""

    def add(self, piece: bytes) -> bool:
        """Take a piece more; True when the response is complete."""
        self._raw += piece
        while self._state != "done" and self._advance():
            if len(self.body) > _ANSWER_MAX:
                raise MalformedError
        if self._state == "done" and self._raw:
            raise MalformedError
        return self._state == "done"

    def _advance(self) -> bool:
        """Take the next part; False when it has not come yet."""
        if self._state == "head":
            return self._take_head()
        if self._state in {"body", "chunk"}:
            return self._take_data()
        return self._take_chunk_line()

    def _take_head(self) -> bool:
        head, end, rest = self._raw.partition(b"\r\n\r\n")
        if not end:
            if len(self._raw) > _HEAD_MAX:
                raise MalformedError
            return False
        lines = head.split(b"\r\n")
        self._take_status(lines[0])
        for line in lines[1:]:
            self._take_header(line)
        if self._state == "head":
            raise MalformedError
        self._raw = rest
        return True

    def _take_status(self, line: bytes) -> None:
        good = line[:7] == b"HTTP/1." and line[8:9] == b" "
        if not good or line[12:13] not in {b"", b" "} or len(line[9:12]) != 3:  # noqa: PLR2004  # three digits
            raise MalformedError
        self.status = _number(line[9:12])

    def _take_header(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not colon:
            raise MalformedError
        name, value = name.lower(), value.lstrip(b" ")
        if name not in {b"content-length", b"transfer-encoding"}:
            return
        if self._state != "head":  # two statements of the length are a lie
            raise MalformedError
        if name == b"content-length":
            self._remaining = _number(value)
            self._state = "body" if self._remaining else "done"
        elif value.lower() == b"chunked":
            self._state = "size"
        else:
            raise MalformedError

    def _take_data(self) -> bool:
        taken = self._raw[: self._remaining]
        self.body += taken
        self._raw = self._raw[len(taken) :]
        self._remaining -= len(taken)
        if self._remaining:
            return False
        self._state = "done" if self._state == "body" else "end"
        return True

    def _take_chunk_line(self) -> bool:
        line, end, rest = self._raw.partition(b"\r\n")
        if not end:
            if len(self._raw) > 16:  # noqa: PLR2004  # longer than any size
                raise MalformedError
            return False
        self._raw = rest
        if self._state == "size":
            self._remaining = _number(line, 16)
            self._state = "chunk" if self._remaining else "trailer"
        elif line:
            raise MalformedError
        else:
            self._state = "done" if self._state == "trailer" else "size"
        return True

    def held(self) -> "tuple[bytes, int] | None":
        """Take "HELD <review> <seconds>" off the body's beginning, when it is there."""
        line, end, rest = self.body.partition(b"\n")
        if not end or not line.startswith(b"HELD "):
            return None
        review, _, seconds = line[5:].partition(b" ")
        if not 0 < len(review) <= 64 or not all(each in _ID for each in review):  # noqa: PLR2004  # longest id
            raise MalformedError
        if _number(seconds) > _HELD_MAX:
            raise MalformedError
        self.body = rest
        return review, int(seconds)

    def verdict(self) -> bytes | None:
        """None to run the command as it is, or the command to run in its place.

        Everything else ends the program.
        """
        if self.status != 200:  # noqa: PLR2004  # HTTP's OK
            refuse(
                b"the daemon could not judge the command (HTTP %d); not run"
                % self.status
            )
        if self.body == b"ALLOW\n":
            return None
        line, end, payload = self.body.partition(b"\n")
        word, _, length = line.partition(b" ")
        known = word in {b"BLOCK", b"MODIFY"}
        if not end or not known or _number(length) != len(payload):
            raise MalformedError
        if word == b"BLOCK":
            refuse(payload.rstrip(b"\n") or b"blocked")
        if b"\0" in payload:
            raise MalformedError
        return payload
