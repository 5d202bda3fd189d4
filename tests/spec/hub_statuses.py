"""How a consumer verifies a subscription status."""

import base64
import hashlib
import json
import re
from typing import Any

from hub_process import HubProcess
from nacl.signing import VerifyKey

__all__ = ["printed_key", "signed_digest"]


def signed_digest(body: dict[str, Any], **other: object) -> bytes:
    """What the signature is over: the digest of the canonical encoding."""
    names = ("status", "subscription_id", "expires_at")
    signed = {name: body[name] for name in names} | other
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()


def printed_key(hub: HubProcess) -> VerifyKey:
    """The public key that the operator's command prints."""
    done = hub.command("keys")
    assert done.returncode == 0, done.stderr
    [text] = re.findall(r"[A-Za-z0-9+/]{43}=", done.stdout)
    return VerifyKey(base64.b64decode(text))
