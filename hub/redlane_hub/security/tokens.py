"""Bearer tokens: JWTs of one algorithm and one form (hub API: Authentication).

PyJWT signs and verifies; everything that a library must be lenient about is fixed here,
so that no two texts stand for one token and no header chooses how it is verified.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import timedelta

from jwt import PyJWS
from jwt.algorithms import HMACAlgorithm
from jwt.exceptions import PyJWTError

from redlane_hub.clock import Clock
from redlane_hub.errors import InvalidInputError
from redlane_hub.wire.strictjson import parse_json

__all__ = ["LIFETIME", "Tokens"]

LIFETIME = timedelta(days=30)
"""How long a token is valid; nothing else ends it."""

_ALGORITHM = "HS256"
_HEADER = {"alg": _ALGORITHM, "typ": "JWT"}
_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class _Hmac(HMACAlgorithm):
    """HMAC-SHA256 with the key as it is.

    There is no public key that somebody could pass off as the secret, so a secret may
    look like anything; that it is short was said once, where it was read.
    """

    def __init__(self) -> None:
        super().__init__(HMACAlgorithm.SHA256)

    def prepare_key(self, key: str | bytes) -> bytes:
        return key.encode() if isinstance(key, str) else key

    def check_key_length(self, key: bytes) -> str | None:  # noqa: ARG002  # the library's name
        return None


class Tokens:
    """Issues tokens, and says whose a token is; never asks the database."""

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._secret = secret
        self._clock = clock
        self._jws = PyJWS(algorithms=[])
        self._jws.register_algorithm(_ALGORITHM, _Hmac())

    def issue(self, user_id: str, email: str) -> str:
        """A token for the account, valid for 30 days."""
        expires = int((self._clock() + LIFETIME).timestamp())
        claims = {"sub": user_id, "email": email, "exp": expires}
        payload = json.dumps(claims, separators=(",", ":")).encode()
        return self._jws.encode(payload, self._secret, _ALGORITHM)

    def viewer_id(self, token: str) -> str | None:
        """The user id that a valid token names; None for every other text."""
        try:
            return self._user_id(self._claims(token))
        except (PyJWTError, InvalidInputError, ValueError):
            return None

    def _claims(self, token: str) -> object:
        """What the token claims, once its form and its signature are right."""
        form = _FORM.fullmatch(token)
        if form is None or parse_json(_header(*form.groups())) != _HEADER:
            raise InvalidInputError("not a token of this hub")
        return parse_json(self._jws.decode(token, self._secret, [_ALGORITHM]))

    def _user_id(self, claims: object) -> str | None:
        match claims:
            case {"sub": str(user_id), "email": str(), "exp": int(expires)}:
                valid = not isinstance(expires, bool) and _UUID.fullmatch(user_id)
                if valid and self._clock().timestamp() < expires:
                    return user_id.lower()
        return None


def _header(*parts: str) -> bytes:
    """The first part decoded, once each part is the only text for its bytes."""
    decoded = [urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in parts]
    for part, data in zip(parts, decoded, strict=True):
        # The last character may hold bits that no byte takes: any of them would do.
        if urlsafe_b64encode(data).decode().rstrip("=") != part:
            raise InvalidInputError("not canonical base64url")
    return decoded[0]
