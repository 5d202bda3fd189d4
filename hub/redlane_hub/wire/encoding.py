"""Base64, strictly: one text for each value (hub API: Signing key)."""

from base64 import b64decode, b64encode

from redlane_hub.errors import InvalidInputError

__all__ = ["read_base64"]


def read_base64(text: str, what: str) -> bytes:
    """The bytes; the standard alphabet with padding and nothing else.

    Raises InvalidInputError, which calls the value `what`.
    """
    try:
        found = b64decode(text, validate=True)
    except ValueError:
        found = None
    # Unused bits may hold anything to the decoder: two texts would be one value.
    if found is None or b64encode(found).decode() != text:
        raise InvalidInputError(f"{what} is not valid base64")
    return found
