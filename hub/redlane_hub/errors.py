"""The few errors of the hub, each raised where the fact is known.

`http/errors.py` maps each class to its status in one table; everything else that leaves
a handler is the generic 500 (hub API: Errors).
"""

__all__ = [
    "BusyError",
    "ConflictError",
    "DamagedContentError",
    "ForbiddenError",
    "HubError",
    "InvalidInputError",
    "MalformedPathError",
    "NotAuthenticatedError",
    "NotConfiguredError",
    "NotFoundError",
    "OperatorError",
    "PaymentError",
    "TooLargeError",
    "UnsupportedMediaTypeError",
]


class HubError(Exception):
    """What the hub raises on purpose; the message is for people."""


class InvalidInputError(HubError):
    """A body, a field or a value that breaks a rule (400)."""


class MalformedPathError(HubError):
    """An id in a path that is none; answered in plain text, before all else (400)."""


class NotAuthenticatedError(HubError):
    """Nobody, or a wrong credential (401)."""


class ForbiddenError(HubError):
    """Somebody known who may not (403)."""


class NotFoundError(HubError):
    """Absent, or not the caller's to see (404)."""


class ConflictError(HubError):
    """Something that must be unique exists already (409)."""


class DamagedContentError(HubError):
    """Stored content that is not what was published any more (500)."""


class TooLargeError(HubError):
    """A body larger than any that could be taken (413)."""


class UnsupportedMediaTypeError(HubError):
    """A body that does not say that it is JSON (415)."""


class BusyError(HubError):
    """Too many callers wait for the same scarce thing already (429)."""


class NotConfiguredError(HubError):
    """Something that this hub was not given (503)."""


class PaymentError(HubError):
    """The payment provider is not configured, or did not do its part (500)."""


class OperatorError(HubError):
    """What the operator can mend: a setting, a file, a missing account."""
