"""What a session shows the proxy, so that its requests are judged by its own role.

The daemon keeps one key and nothing else: a token is made of the session's id by it, so
that tokens outlive a restart and none can be made up.
"""

import base64
import hashlib
import hmac

__all__ = ["KEY_BYTES", "ProxyTokens"]

KEY_BYTES = 32
_TOKEN_BYTES = 20
_MOST_MADE = 1024
_LONGEST = 200
"""How many characters a credential may have."""


class ProxyTokens:
    """Makes credentials, and tells whose one is."""

    def __init__(self, key: bytes) -> None:
        """`key` is secret, and KEY_BYTES long."""
        self._key = key
        self._made: dict[str, str] = {}

    def credential(self, session_id: str) -> str:
        """`SESSION:TOKEN`; both parts can stand in an address."""
        return f"{session_id}:{self._token(session_id)}"

    def session_of(self, credential: object) -> str | None:
        """The id of the session that a credential is of; None when it is none."""
        if not isinstance(credential, str) or len(credential) > _LONGEST:
            return None
        session_id, _, token = credential.partition(":")
        wanted = self._token(session_id).encode()
        given = token.encode(errors="replace")
        # In a time that does not tell how much of it was right.
        return session_id if hmac.compare_digest(wanted, given) else None

    def _token(self, session_id: str) -> str:
        """The token of a session; one that is asked for often is not made anew."""
        token = self._made.get(session_id)
        if token is None:
            if len(self._made) >= _MOST_MADE:
                self._made.clear()
            token = self._made[session_id] = self._fresh(session_id)
        return token

    def _fresh(self, session_id: str) -> str:
        name = session_id.encode(errors="replace")
        digest = hmac.digest(self._key, name, hashlib.sha256)
        return base64.b32encode(digest[:_TOKEN_BYTES]).decode().lower().rstrip("=")
