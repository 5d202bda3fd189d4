"""What a person is asked, on a terminal only (scripts have flags in its place)."""

import getpass
import sys

from redlane.errors import UsageError
from redlane.hubclient import HubRefusedError

__all__ = ["agreed", "asked_passphrase", "new_passphrase", "read_password"]

_NOT_DONE = 409


def agreed(question: str, *, yes: bool) -> None:
    """Go on if `--yes` was given or a person says so; raises what ends the command."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} There is no terminal to ask: say --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise HubRefusedError("nothing was done", _NOT_DONE)


def read_password(*, from_stdin: bool, is_new: bool) -> str:
    """The password, from standard input or a terminal; a new one is asked twice."""
    if from_stdin:
        try:
            return sys.stdin.buffer.readline().decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise UsageError("the password on standard input is not UTF-8") from error
    return _secret("password", is_new=is_new, instead="use --password-stdin")


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
    if not sys.stdin.isatty():
        raise UsageError(f"there is no terminal to ask for the {asked}: {instead}")
    try:
        secret = getpass.getpass(f"The {asked}: ")
        again = getpass.getpass("Once more: ") if is_new else secret
    except EOFError as error:
        raise UsageError("nothing was typed, and nothing was done") from error
    if again != secret:
        raise UsageError("these were two different ones: nothing was done")
    return secret
