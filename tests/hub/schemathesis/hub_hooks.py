"""What schemathesis cannot know: values that no JSON Schema describes."""

import itertools
import json
from base64 import b64encode
from typing import Any

import schemathesis
from nacl.signing import SigningKey

__all__ = ["before_call"]

_callers = itertools.count()


@schemathesis.hook
def before_call(
    _context: schemathesis.HookContext, case: schemathesis.Case, _kwargs: dict[str, Any]
) -> None:
    """Call from an address of its own, so that no rate limit answers instead."""
    number = next(_callers)
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    case.headers = {**(case.headers or {}), "X-Forwarded-For": address}
    meta = case.meta
    if meta is not None and meta.generation.mode.is_positive:
        _make_meaningful(case)


def _make_meaningful(case: schemathesis.Case) -> None:
    operation = case.operation.definition.raw.get("operationId")
    body = case.body
    if not isinstance(body, dict):
        return
    if operation == "publish":
        body["content"] = json.dumps(body.get("content"))
        for name in ("schema", "signature", "key_fingerprint", "dependencies"):
            body.pop(name, None)
        body["artifact_type"] = "artifact"
    elif operation == "register_key":
        body["public_key"] = b64encode(bytes(SigningKey.generate().verify_key)).decode()
