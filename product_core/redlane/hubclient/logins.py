"""The hubs that one has logged in to, a file for each, and their tokens.

A token is in the keyring where there is one, and else in that file.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

from redlane.atomic import write_atomically
from redlane.errors import RedlaneError
from redlane.hubclient.documents import Login
from redlane.hubclient.keyring import forget_token, keep_token, kept_token
from redlane.hubclient.private_files import read_private, unusable
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["KeptLogin", "Logins"]


@dataclass(frozen=True, slots=True)
class KeptLogin:
    """A hub's address, whose token it is, and the token; None: it is in the keyring."""

    hub: str
    email: str
    token: str | None = field(repr=False)


class Logins:
    """What is kept in one directory, readable by its owner alone."""

    def __init__(self, directory: Path) -> None:
        """It need not be there yet."""
        self._directory = directory

    def keep(self, hub: str, login: Login) -> None:
        """Keep a login in place of that hub's former one; raises RedlaneError."""
        is_in_keyring = keep_token(hub, login.email, login.token)
        kept = KeptLogin(hub, login.email, None if is_in_keyring else login.token)
        path = self._path(hub)
        try:
            write_atomically(path, json.dumps(asdict(kept)).encode())
        except OSError as error:
            raise unusable(path, error) from error

    def token(self, hub: str) -> str | None:
        """The token of a hub, by its address; None when one is not logged in.

        Raises RedlaneError for a file that others may read or that is none of ours, and
        for a keyring that is not to be opened.
        """
        kept = self._read(self._path(hub))
        if kept is None:
            return None
        token = kept.token or kept_token(hub)
        if token is None:
            raise RedlaneError(
                f"the token of {kept.email} for {hub} is in the keyring, which is "
                "locked or gone: unlock it, or log in again"
            )
        return token

    def all(self) -> list[KeptLogin]:
        """All logins, by their hubs' addresses; raises as `token` does."""
        found = map(self._read, sorted(self._directory.glob("*.json")))
        return [each for each in found if each is not None]

    def forget(self, hub: str) -> bool:
        """Remove a login; False when there is none. Raises RedlaneError."""
        path = self._path(hub)
        forget_token(hub)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unusable(path, error) from error
        return True

    def _path(self, hub: str) -> Path:
        return self._directory / f"{quote(hub, safe='')}.json"

    def _read(self, path: Path) -> KeptLogin | None:
        data = read_private(path)
        if data is None:
            return None
        with suppress(JsonError, TypeError):
            kept = KeptLogin(**parse_json(data))
            if isinstance(kept.token, str | None) and all(
                isinstance(each, str) for each in (kept.hub, kept.email)
            ):
                return kept
        raise RedlaneError(f"{path} holds no login: remove it, and log in again")
