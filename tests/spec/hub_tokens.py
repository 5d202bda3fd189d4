"""Bearer tokens made by hand, right ones and wrong ones."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any

__all__ = ["HS256", "SECRET", "claims_of", "encode", "forge", "part", "text_of"]

SECRET = "the secret that the tests' hubs share"
HS256 = {"alg": "HS256", "typ": "JWT"}
HASHES = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}


def encode(data: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value: object) -> str:
    """One part of a token that holds JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return encode(data)


def forge(
    claims: object,
    header: object = HS256,
    secret: str = SECRET,
    hashed_with: str = "HS256",
) -> str:
    """A token whose parts and signature are exactly as asked for."""
    text = f"{part(header)}.{part(claims)}"
    kind = HASHES[hashed_with]
    return f"{text}.{encode(hmac.digest(secret.encode(), text.encode(), kind))}"


def claims_of(user_id: str, **more: object) -> dict[str, Any]:
    """The claims of a token that holds for an hour."""
    hour = int(time.time()) + 3600
    return {"sub": user_id, "email": "x@example.com", "exp": hour} | more


def text_of(token: str, number: int) -> Any:
    """The JSON in one part of a token."""
    text = token.split(".")[number]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
