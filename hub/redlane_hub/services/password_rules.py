"""What a new password must be (hub API: Password rules). Lengths are in UTF-8 bytes."""

from redlane_hub.errors import InvalidInputError

__all__ = ["LEAST_BYTES", "MOST_BYTES", "check_new_password", "is_over_long"]

LEAST_BYTES = 8
MOST_BYTES = 1024


def is_over_long(password: str) -> bool:
    """Whether it is longer than any password may be."""
    return len(password.encode()) > MOST_BYTES


def check_new_password(password: str, field: str) -> None:
    """Raise InvalidInputError, naming the field, unless its length is right."""
    if len(password.encode()) < LEAST_BYTES:
        raise InvalidInputError(f"'{field}' must have at least {LEAST_BYTES} bytes")
    if is_over_long(password):
        raise InvalidInputError(f"'{field}' must have at most {MOST_BYTES} bytes")
