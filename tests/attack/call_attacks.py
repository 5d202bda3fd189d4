"""A place with a file that no policy lets anybody open, and attackers in a session."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spec.control_client import peer_pid
from supervised import EXACT, Guarded, Person, guarded

__all__ = ["ROADS", "SECRET", "guarded_secret", "taken"]

ROADS = Path(__file__).with_name("roads")
SECRET = "deep/vault/secret"
sys.path.append(str(ROADS))


@contextmanager
def guarded_secret(person: Person, **fields: object) -> Iterator[Guarded]:
    """A place laid out, and the role `guarded`, which blocks the secret's path."""
    from road import lay  # type: ignore[import-not-found]  # noqa: PLC0415  # its path

    with guarded(person) as made:
        path = made.work / SECRET
        secret = {
            "id": "secret",
            "type": "Regex",
            "context": "Syscall",
            "action": "Block",
            "syscall": list(EXACT),
            "pattern": f"^{path}$",
            **fields,
        }
        made.home.policies(secret, file="secret.json")
        made.home.role("guarded", "secret")
        lay(made.work)
        made.start()
        yield made


def taken(place: Guarded, group: str) -> dict[str, str]:
    """What comes of all roads of a group, taken by one agent."""
    pid = peer_pid(place.home.control.socket)
    words = ["/usr/bin/env", f"DAEMON={pid}", "/usr/bin/python3"]
    ran = place.supervised(*words, ROADS / "take.py", place.work, group, role="guarded")
    assert ran.code == 0, ran
    found = json.loads(ran.out)
    assert isinstance(found, dict)
    return found
