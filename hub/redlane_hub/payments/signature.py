"""Who sent a webhook: the header `Stripe-Signature: t=SECONDS,v1=HEX[,v1=HEX…]`.

The provider signs `t`, a dot and the body; the moment is signed too, so that what
somebody recorded cannot be sent again later.
"""

import hmac
import re

__all__ = ["TOLERANCE", "is_genuine"]

TOLERANCE = 300
"""How many seconds the two clocks may be apart, either way."""

_SECONDS = re.compile(r"[0-9]{1,12}")


def is_genuine(secret: str, header: str, body: bytes, now: float) -> bool:
    """Whether one of the header's signatures fits the body, made within 5 minutes."""
    pairs = [part.strip().partition("=") for part in header.split(",")]
    moments = {value for name, _equals, value in pairs if name == "t"}
    # No secret would make a signature that anybody can make.
    if not secret or len(moments) != 1:
        return False
    moment = moments.pop()
    if not _SECONDS.fullmatch(moment) or abs(now - int(moment)) > TOLERANCE:
        return False
    key = secret.encode(errors="surrogateescape")
    right = hmac.digest(key, b"%s.%s" % (moment.encode(), body), "sha256")
    offered = [value.encode() for name, _equals, value in pairs if name == "v1"]
    # All are compared: which one fits takes no time to tell.
    fits = [hmac.compare_digest(right.hex().encode(), each) for each in offered]
    return any(fits)
