"""Whether a piece of script is whole, as bash sees it."""

import subprocess
from enum import Enum, auto

from redlane.contexts.shell.running.environment import clean_environment

__all__ = ["Completeness", "completeness"]

_BASH = "/bin/bash"
_UNFINISHED = (
    b"unexpected end of file",
    b"unexpected EOF while looking for matching",
    b"here-document at line",
)
"""What bash says, in the C locale, of text that could go on."""


class Completeness(Enum):
    """Text to run, text to wait for more of, or text that no more can mend."""

    COMPLETE = auto()
    UNFINISHED = auto()
    WRONG = auto()


def completeness(text: bytes) -> tuple[Completeness, bytes]:
    """How whole `text` is, and what bash says of it; nothing of it is run."""
    stripped = text.rstrip(b"\n")
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    if backslashes % 2 and len(text) - len(stripped) <= 1:
        return Completeness.UNFINISHED, b""
    done = subprocess.run(
        [_BASH, "--norc", "--noprofile", "-n"],
        input=text,
        capture_output=True,
        env={**clean_environment(), b"LC_ALL": b"C"},
        check=False,
    )
    if any(each in done.stderr for each in _UNFINISHED):
        return Completeness.UNFINISHED, done.stderr
    if done.returncode:
        return Completeness.WRONG, done.stderr
    return Completeness.COMPLETE, b""
