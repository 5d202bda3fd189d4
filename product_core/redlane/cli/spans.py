"""How long: 30s, 10m, 2h, 1d."""

import re
from datetime import timedelta

__all__ = ["span_of"]

_SPAN = re.compile("([0-9]{1,9})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def span_of(text: str) -> timedelta | None:
    """The time that a text stands for; None for any other text."""
    found = _SPAN.fullmatch(text)
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None
