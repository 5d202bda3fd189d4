"""A subscription's status: believed for as long as signature and clocks allow.

The hub signs it, and whoever reads it refuses it once it has expired, whatever the
signature says (hub API: Subscription status). A copy that is kept counts by a clock
that nobody can set back, too.
"""

import hashlib
import json
import time
from base64 import b64decode
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from redlane.atomic import write_atomically
from redlane.errors import RedlaneError
from redlane.hubclient.documents import Subscription, read
from redlane.hubclient.errors import HubRefusedError, HubUnavailableError
from redlane.hubclient.private_files import read_private, unusable
from redlane.hubclient.signing import canonical, is_signed_by
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["Clock", "KeptStatus", "require_valid"]

_LIFETIME = 15 * 60
_SKEW = 60
"""So far, in seconds, the hub's clock may be ahead of this one."""
_REFUSED = 401
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Clock:
    """The time in seconds: `wall` since 1970, `running` since the boot `boot`."""

    wall: float
    running: float
    boot: str

    @classmethod
    def now(cls) -> "Clock":
        """As this machine has it."""
        running = time.clock_gettime(time.CLOCK_BOOTTIME)
        return cls(time.time(), running, _BOOT.read_text("ascii").strip())


def require_valid(status: Subscription, public_key: bytes, clock: Clock) -> None:
    """Raise HubRefusedError for one that is not the hub's, or not of now."""
    signed = {
        "status": status.status,
        "subscription_id": status.subscription_id,
        "expires_at": status.expires_at,
    }
    digest = hashlib.sha256(canonical(signed).encode()).digest()
    with suppress(ValueError):
        signature = b64decode(status.signature, validate=True)
        if is_signed_by(public_key, digest, signature):
            _require_time(status.expires_at - clock.wall)
            return
    raise HubRefusedError(
        "the status is not signed by the key that hub.subscription_key names", _REFUSED
    )


def _require_time(left: float) -> None:
    if left <= 0:
        raise HubRefusedError("the status has expired", _REFUSED)
    if left > _LIFETIME + _SKEW:
        raise HubRefusedError(
            "the status says that it lasts longer than 15 minutes", _REFUSED
        )


class KeptStatus:
    """The last status of one login at one hub, in a file of its owner's alone."""

    def __init__(self, path: Path, hub: str, token: str | None) -> None:
        """It need not be there yet."""
        self._path = path
        self._whose = hashlib.sha256(f"{hub}\n{token or ''}".encode()).hexdigest()

    def keep(self, status: Subscription, clock: Clock) -> None:
        """Keep it, as it came at that time; raises RedlaneError."""
        kept = {"whose": self._whose, "at": asdict(clock), "status": asdict(status)}
        try:
            write_atomically(self._path, json.dumps(kept).encode())
        except OSError as error:
            raise unusable(self._path, error) from error

    def find(self, public_key: bytes, clock: Clock) -> Subscription | None:
        """The one that is kept, if it still counts; anything else is none."""
        with suppress(
            RedlaneError,
            HubUnavailableError,
            JsonError,
            KeyError,
            TypeError,
            ValueError,
        ):
            kept = parse_json(read_private(self._path) or b"")
            at = Clock(**kept["at"])
            status = read(Subscription, kept["status"])
            require_valid(status, public_key, clock)
            running = clock.running - at.running
            left = min(_LIFETIME, status.expires_at - at.wall)
            is_same_boot = at.boot == clock.boot and kept["whose"] == self._whose
            if is_same_boot and 0 <= running < left:
                return status
        return None
