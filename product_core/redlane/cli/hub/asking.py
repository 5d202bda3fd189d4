"""What a person is asked, on a terminal only (scripts have flags in its place)."""

import getpass
import sys

from redlane.cli.output import single_line
from redlane.errors import UsageError
from redlane.sharing.errors import RefusedError

__all__ = [
    "agreed",
    "asked_passphrase",
    "is_agreed",
    "new_passphrase",
    "read_line",
    "read_password",
]


def agreed(question: str, *, yes: bool) -> None:
    """Go on if `--yes` was given or a person says so; raises what ends the command."""
    if not yes and not is_agreed(question, flag="--yes"):
        raise RefusedError("nothing was done")


def is_agreed(question: str, *, flag: str) -> bool:
    """What a person says; raises RefusedError, which names the flag, without one."""
    if not _is_terminal():
        raise RefusedError(f"{question} There is no terminal to ask: say {flag}")
    sys.stderr.write(f"{single_line(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _is_terminal() -> bool:
    """Whether somebody can be asked; a standard input that is closed is None."""
    return sys.stdin is not None and sys.stdin.isatty()


def read_password(*, from_stdin: bool, is_new: bool, asked: str = "password") -> str:
    """The password, from standard input or a terminal; a new one is asked twice."""
    if from_stdin:
        return _line(asked)
    return _secret(asked, is_new=is_new, instead="use --password-stdin")


def read_line(asked: str, *, from_stdin: bool) -> str:
    """Something secret that is not typed but copied, so that it is asked once."""
    return read_password(from_stdin=from_stdin, is_new=False, asked=asked).strip()


def _line(asked: str) -> str:
    try:
        return sys.stdin.buffer.readline().decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"the {asked} on standard input is not UTF-8") from error


def new_passphrase() -> str:
    """A passphrase that a key is to be locked with."""
    found = _secret("passphrase", is_new=True, instead="make the key without one")
    if not found:
        raise UsageError("a passphrase of nothing locks nothing: no key was made")
    return found


def asked_passphrase(key: str) -> str:
    """The passphrase that a key is locked with."""
    asked = f"passphrase of the key {key}"
    return _secret(asked, is_new=False, instead="use a key that is not locked")


def _secret(asked: str, *, is_new: bool, instead: str) -> str:
    if not _is_terminal():
        raise UsageError(f"there is no terminal to ask for the {asked}: {instead}")
    try:
        secret = getpass.getpass(f"The {asked}: ")
        again = getpass.getpass("Once more: ") if is_new else secret
    except EOFError as error:
        raise UsageError("nothing was typed, and nothing was done") from error
    if again != secret:
        raise UsageError("these were two different ones: nothing was done")
    return secret
