"""What the shell wrapper is told, in lines, and how what it sent is shown."""

from dataclasses import dataclass
from math import ceil
from socket import socket

from redlane.gate import Judgement
from redlane.model.verdict import Decision, Verdict
from redlane.state.review import Review

__all__ = [
    "ShellAnswer",
    "block_line",
    "command_details",
    "held_line",
    "open_line",
    "preview_line",
    "shell_answer",
    "split_command",
    "supervise_line",
    "text_of",
]


_LONGEST_WHY = 65536
"""Bytes that the shell takes of one line."""


@dataclass(frozen=True, slots=True)
class ShellAnswer:
    """What goes back: a final line with what belongs to it, and perhaps a lease."""

    data: bytes
    lease: socket | None = None


def text_of(data: bytes) -> str:
    """`data` as text; each byte that is no UTF-8 is written out in hex."""
    return data.decode(errors="backslashreplace")


def split_command(body: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """The command of the shell wrapper, and its positional arguments."""
    command, *arguments = body.split(b"\0")
    return command, tuple(arguments)


def command_details(arguments: tuple[bytes, ...], cwd: str) -> tuple[str, ...]:
    """What a command does besides its text depends on, a line each."""
    where = (f"directory: {_visible_bytes(cwd)}",) if cwd else ()
    given = (f"${place}: {text_of(each)}" for place, each in enumerate(arguments))
    return (*where, *given)


def _visible_bytes(path: str) -> str:
    """A path whose bytes that are no UTF-8 are written out, as in content."""
    return text_of(path.encode(errors="surrogateescape"))


def held_line(review: Review) -> bytes:
    """The provisional line: so many seconds a decision may take, and whose it is."""
    seconds = ceil(review.timeout_seconds)
    return f"HELD {review.id} {seconds} {review.waits_for}\n".encode()


def shell_answer(judgement: Judgement) -> bytes:
    """The final line for the shell wrapper, and what belongs to it."""
    verdict = judgement.verdict
    match verdict.decision:
        case Decision.ALLOW:
            return b"ALLOW\n"
        case Decision.MODIFY if verdict.content is not None:
            return _because(verdict) + b"MODIFY %d\n%b" % (
                len(verdict.content),
                verdict.content,
            )
        case _:
            return block_line(_told("blocked", verdict))


def preview_line(*, passes: bool) -> bytes:
    """The only line for who asks whether a command would pass as it is."""
    return b"ALLOW\n" if passes else b"ASK\n"


def supervise_line(role: str) -> bytes:
    """The line before a verdict: to be run in a supervised session of `role`."""
    name = role.encode()
    return b"SUPERVISE %d\n%b" % (len(name), name)


def open_line() -> bytes:
    """The line before a verdict: what the command starts is not all known."""
    return b"OPEN\n"


def block_line(reason: str) -> bytes:
    """The line of a Block, and the message to show."""
    message = reason.encode(errors="replace")
    return b"BLOCK %d\n%b" % (len(message), message)


def _because(verdict: Verdict) -> bytes:
    """The line before another command: why it takes the place of what was asked."""
    text = _told("rewritten", verdict).encode(errors="replace")[:_LONGEST_WHY]
    return b"BECAUSE %d\n%b" % (len(text), text)


def _told(what: str, verdict: Verdict) -> str:
    """What a user reads whose command was refused, or is another: one line."""
    told = verdict.policy is None or repr(verdict.policy) in verdict.reason
    by = "" if told else f" by policy {verdict.policy!r}"
    text = f"{what}{by}: {verdict.reason}"
    if verdict.suggestion:
        text += f"; instead: {verdict.suggestion}"
    return "".join(each if each.isprintable() else " " for each in text)
