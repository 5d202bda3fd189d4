"""Content-Encoding taken off, within a limit (gzip, deflate, br, zstd, and stacked)."""

from dataclasses import dataclass

from redlane.decoding.inflating import INFLATERS, CodingError, Inflated

__all__ = ["Decoded", "decode_body"]

_MOST_CODINGS = 8
"""More are named by nobody who wants to be understood."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a body is once its codings are off.

    `complete` is False when it is longer than the limit: `data` is how it begins. With
    a `problem` it could not be decoded, and `data` is what came.
    """

    data: bytes
    complete: bool
    problem: str = ""


def decode_body(data: bytes, codings: str, limit: int) -> Decoded:
    """`data` without `codings`, the value of Content-Encoding: the last one goes first.

    What follows the end of a coded stream, or the place where it is broken, is kept:
    not every reader stops there. A coding that is not known is left out, as many
    readers do it. Never raises for what is in `data`.
    """
    names = [name.strip().lower() for name in codings.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > _MOST_CODINGS:
        return Decoded(data, complete=True, problem="the body has too many codings")
    decoded, problem = Inflated(data, complete=True), ""
    for name in reversed(names):
        inflate = INFLATERS.get(name)
        if inflate is None:
            problem = f"the coding {name[:40]!r} is not known"
            continue
        if not decoded.data:
            break
        try:
            inflated = inflate(decoded.data, limit)
        except CodingError as error:
            return Decoded(data, True, problem or f"the body is not {name}: {error}")  # noqa: FBT003  # complete
        complete = decoded.complete and inflated.complete
        decoded = Inflated(inflated.data, complete)
    over = len(decoded.data) > limit
    return Decoded(decoded.data[:limit], decoded.complete and not over, problem)
