"""The keys that are kept here to sign with: `keys/NAME.key`, for their owner alone.

A key's file holds the key itself, locked with a passphrase or not, or says who signs
in its place: the ssh-agent, or a command. All of them are Ed25519.
"""

import json
import re
import shlex
import subprocess
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from redlane.atomic import write_atomically
from redlane.errors import RedlaneError, UsageError
from redlane.hubclient.locking import lock, unlock
from redlane.hubclient.private_files import read_private, unusable
from redlane.hubclient.signing import (
    PUBLIC_BYTES,
    SIGNATURE_BYTES,
    decoded,
    fingerprint,
)
from redlane.hubclient.ssh_agent import sign_with_agent
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["DEFAULT_NAME", "Keys", "LocalKey"]

DEFAULT_NAME = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ENDING = ".key"
_SECONDS = 120.0
"""So long a command may take to sign: somebody may have to touch a key."""

Asked = Callable[[str], str]
"""Asks for the passphrase of a key, by its name."""


@dataclass(frozen=True, slots=True)
class LocalKey:
    """A key by its name; `kind` is `seed`, `locked`, `ssh-agent` or `command`."""

    name: str
    kind: str
    public_key: bytes
    secret: object = field(repr=False)
    ask: Asked = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """What the key is known by (hub API: Signing key)."""
        return fingerprint(self.public_key)

    def sign(self, message: bytes) -> bytes:
        """The signature of a message; raises RedlaneError."""
        if self.kind == "ssh-agent":
            return sign_with_agent(self.public_key, message)
        if self.kind == "command":
            return _commanded(str(self.secret), message)
        from nacl.signing import SigningKey  # noqa: PLC0415  # loads a library

        return bytes(SigningKey(self._seed()).sign(message).signature)

    def _seed(self) -> bytes:
        if self.kind == "seed":
            return decoded(self.secret, PUBLIC_BYTES)
        if not isinstance(self.secret, Mapping):
            raise RedlaneError(f"the key {self.name} is damaged")
        seed = unlock(self.secret, self.ask(self.name))
        if len(seed) != PUBLIC_BYTES:
            raise RedlaneError(f"the key {self.name} is damaged")
        return seed


class Keys:
    """The keys of one directory; `ask` is asked for passphrases, when one is needed."""

    def __init__(self, directory: Path, ask: Asked) -> None:
        """It need not be there yet."""
        self._directory = directory
        self._ask = ask

    def generate(self, name: str, passphrase: str | None) -> LocalKey:
        """Make a key, and keep it, locked if there is a passphrase."""
        from nacl.signing import SigningKey  # noqa: PLC0415  # loads a library

        made = SigningKey.generate()
        secret: object = b64encode(bytes(made)).decode()
        if passphrase is not None:
            secret = lock(bytes(made), passphrase)
        kind = "seed" if passphrase is None else "locked"
        key = LocalKey(name, kind, bytes(made.verify_key), secret, self._ask)
        self.keep(key)
        return key

    def reference(
        self, name: str, kind: str, public_key: bytes, secret: str
    ) -> LocalKey:
        """A key that somebody else signs with; it is not kept yet.

        For `command` `secret` is its words. Raises UsageError for a name that is none,
        or another key's.
        """
        self._free(name)
        return LocalKey(name, kind, public_key, secret, self._ask)

    def keep(self, key: LocalKey) -> None:
        """Keep a key under its name; raises UsageError when that is another key's."""
        path = self._free(key.name)
        public = b64encode(key.public_key).decode()
        document = {"public_key": public, key.kind: key.secret}
        try:
            write_atomically(path, json.dumps(document).encode(), replace=False)
        except FileExistsError as error:
            raise _taken(key.name, path) from error
        except OSError as error:
            raise unusable(path, error) from error

    def find(self, name: str) -> LocalKey:
        """A key by its name; raises RedlaneError when it is not there, or is none."""
        path = self._path(name)
        data = read_private(path)
        if data is None:
            raise UsageError(
                f"there is no key {name!r} ({path}): redlane hub keys list"
            )
        with suppress(JsonError, KeyError, TypeError, ValueError, RedlaneError):
            return self._read(name, parse_json(data))
        raise RedlaneError(f"{path} holds no key")

    def all(self) -> list[LocalKey]:
        """Every key, by their names; raises as `find` does."""
        found = sorted(each.stem for each in self._directory.glob(f"*{_ENDING}"))
        return [self.find(each) for each in found if _NAME.fullmatch(each)]

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} is no name of a key: letters, digits, `.`, `_` and `-`"
            )
        return self._directory / f"{name}{_ENDING}"

    def _read(self, name: str, document: dict[str, object]) -> LocalKey:
        public_key = decoded(document["public_key"], PUBLIC_BYTES)
        (kind,) = {"seed", "locked", "ssh-agent", "command"} & document.keys()
        return LocalKey(name, kind, public_key, document[kind], self._ask)

    def _free(self, name: str) -> Path:
        path = self._path(name)
        if path.exists() or path.is_symlink():
            raise _taken(name, path)
        return path


def _taken(name: str, path: Path) -> UsageError:
    return UsageError(f"there is a key {name!r} already: {path}")


def _commanded(command: str, message: bytes) -> bytes:
    """What a command makes of the message: a signature in base64."""
    told = f"the key's command {command!r}"
    try:
        done = subprocess.run(
            shlex.split(command) or [""],
            input=message,
            stdout=subprocess.PIPE,
            timeout=_SECONDS,
            check=False,
        )
    except OSError as error:
        raise RedlaneError(f"{told} does not start: {error.strerror}") from error
    except (ValueError, subprocess.TimeoutExpired) as error:
        raise RedlaneError(f"{told} fails: {error}") from error
    if done.returncode:
        raise RedlaneError(f"{told} ends with {done.returncode}")
    return decoded(done.stdout.decode(errors="replace").strip(), SIGNATURE_BYTES)
