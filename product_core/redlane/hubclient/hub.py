"""What a hub can be asked, a method each (hub API: Endpoints)."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Self

from redlane.hubclient.address import normal_address
from redlane.hubclient.connection import Connection
from redlane.hubclient.documents import (
    Account,
    Artifact,
    Endorsement,
    Login,
    Members,
    NewEmail,
    Published,
    Registered,
    Release,
    Resolution,
    SearchPage,
    SigningKey,
    Subscription,
    Summary,
    read,
)
from redlane.hubclient.errors import HubRefusedError, HubUnavailableError

__all__ = ["Hub"]

_SECONDS = 30.0
_MOST_BYTES = 8 * 1024 * 1024
_PAGE = 100
_MOST_PAGES = 1000
_API = ("api", "v1")
_ME = (*_API, "me")
_KEYS = (*_ME, "signing-keys")
_ARTIFACTS = (*_API, "artifacts")


class Hub:
    """One hub, by its address, asked with a token or without.

    Every method raises HubRefusedError where the hub says no, with its words, and
    HubUnavailableError where it cannot be reached or makes no sense.
    """

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        seconds: float = _SECONDS,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """Nothing is sent yet; a request takes at most `seconds`.

        Raises UsageError for an address that is none.
        """
        self.address = normal_address(address)
        self.token = token
        self._connection = Connection(self.address, seconds, most_bytes)

    def __enter__(self) -> Self:
        """Close with the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """See `close`."""
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    # Accounts

    def register(self, email: str, password: str) -> Registered:
        """Make an account; it may publish once the operator has approved it."""
        body = {"email": email, "password": password}
        return read(Registered, self._anonymous("POST", "register", body))

    def login(self, email: str, password: str) -> Login:
        """Get a token; this hub is asked with it from now on."""
        body = {"email": email, "password": password}
        login = read(Login, self._anonymous("POST", "login", body))
        self.token = login.token
        return login

    def me(self) -> Account:
        """Whose the token is."""
        return read(Account, self._send("GET", _ME))

    def account(self, user_id: str) -> Account:
        """Anybody's account."""
        return read(Account, self._send("GET", (*_API, "users", user_id)))

    def set_email(self, email: str) -> NewEmail:
        """Change the account's address; this hub is asked with the new token."""
        body = {"email": email}
        changed = read(NewEmail, self._send("PATCH", (*_ME, "email"), body))
        self.token = changed.token
        return changed

    def set_password(self, current: str, new: str) -> None:
        """Change the account's password; tokens stay good."""
        body = {"current_password": current, "new_password": new}
        self._send("PATCH", (*_ME, "password"), body)

    def request_reset(self, email: str) -> None:
        """Have a link sent to an address, if an account has it."""
        self._anonymous("POST", "password-reset/request", {"email": email})

    def confirm_reset(self, token: str, new_password: str) -> None:
        """Set a password with the token of such a link."""
        body = {"token": token, "new_password": new_password}
        self._anonymous("POST", "password-reset/confirm", body)

    # Subscription and billing

    def checkout(self) -> str:
        """The address of a page where the account's subscription is paid."""
        answer = self._send("POST", (*_ME, "checkout-session"))
        url = answer.get("url") if isinstance(answer, dict) else None
        if not isinstance(url, str):
            raise HubUnavailableError("the hub answers nonsense: there is no address")
        return url

    def subscription(self) -> Subscription:
        """The account's status, as signed by the hub; nothing of it is checked."""
        return read(Subscription, self._send("GET", (*_ME, "subscription")))

    # Signing keys

    def add_key(self, public_key: str, label: str | None = None) -> SigningKey:
        """Make a public key known: base64 of its 32 bytes."""
        body = {"public_key": public_key, "label": label}
        return read(SigningKey, self._send("POST", _KEYS, body))

    def keys(self) -> tuple[SigningKey, ...]:
        """The account's keys, the newest first, revoked ones too."""
        return read(tuple[SigningKey, ...], self._send("GET", _KEYS))

    def revoke_key(self, fingerprint: str) -> None:
        """Have a key, and what was signed with it, count no more."""
        self._send("DELETE", (*_KEYS, fingerprint))

    # Artifacts

    def publish(self, release: Release) -> Published:
        """Publish a version, which nobody can change from then on."""
        body = {key: each for key, each in asdict(release).items() if each is not None}
        return read(Published, self._send("POST", _ARTIFACTS, body))

    def artifact(self, name: str, version: str) -> Artifact:
        """One version with its content; nothing of it is checked."""
        return read(Artifact, self._send("GET", (*_ARTIFACTS, name, version)))

    def search(
        self,
        q: str | None = None,
        tag: str | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> SearchPage:
        """A page of what is found, the newest first; `tag` is asked for before `q`."""
        query = {"limit": str(limit), "offset": str(offset)}
        query |= {} if q is None else {"q": q}
        query |= {} if tag is None else {"tag": tag}
        place = (*_ARTIFACTS, "search")
        return read(SearchPage, self._send("GET", place, query=query))

    def every(self, q: str | None = None, tag: str | None = None) -> Iterator[Summary]:
        """All that is found, the newest first, in as many requests as that takes."""
        for page in range(_MOST_PAGES):
            found = self.search(q, tag, _PAGE, page * _PAGE).results
            yield from found
            if len(found) < _PAGE:
                return
        raise HubUnavailableError("the hub finds no end")

    def newest(self, name: str) -> Summary:
        """The version that was published last, of those that are not yanked."""
        for each in self.every(name):
            if each.name == name:
                return each
        raise HubRefusedError(
            f"the hub lists no artifact {name!r}; what is yanked goes by NAME@VERSION",
            404,
        )

    def members(self, name: str, version: str) -> Members:
        """What a set names."""
        place = (*_ARTIFACTS, name, version, "members")
        return read(Members, self._send("GET", place))

    def resolve(self, name: str, version: str) -> Resolution:
        """All that an artifact needs, and what that needs."""
        place = (*_ARTIFACTS, name, version, "resolve")
        return read(Resolution, self._send("GET", place))

    def yank(self, artifact_id: str, reason: str | None = None) -> None:
        """Take a version off the lists; who names it exactly gets it all the same."""
        self._send("POST", (*_ARTIFACTS, artifact_id, "yank"), {"reason": reason})

    def unyank(self, artifact_id: str) -> None:
        """Put it back."""
        self._send("DELETE", (*_ARTIFACTS, artifact_id, "yank"))

    # Endorsements

    def endorse(self, artifact_id: str, level: str | None = None) -> Endorsement:
        """Vouch for an artifact: `verified`, `trusted_author` or `official`."""
        place = (*_ARTIFACTS, artifact_id, "endorsements")
        return read(Endorsement, self._send("POST", place, {"level": level}))

    def endorsements(self, artifact_id: str) -> tuple[Endorsement, ...]:
        """Who vouches for an artifact, the newest first."""
        place = (*_ARTIFACTS, artifact_id, "endorsements")
        return read(tuple[Endorsement, ...], self._send("GET", place))

    def withdraw(self, artifact_id: str, endorsement_id: str) -> None:
        """Vouch no more."""
        place = (*_ARTIFACTS, artifact_id, "endorsements", endorsement_id)
        self._send("DELETE", place)

    # Liveness

    def is_alive(self) -> bool:
        """Whether a hub answers at the address."""
        try:
            self._connection.send("GET", ("health",))
        except (HubRefusedError, HubUnavailableError):
            return False
        return True

    def _anonymous(self, method: str, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401  # JSON
        place = (*_API, *path.split("/"))
        return self._connection.send(method, place, body=body)

    def _send(
        self,
        method: str,
        path: tuple[str, ...],
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401  # JSON
        return self._connection.send(
            method, path, query=query, body=body, token=self.token
        )
