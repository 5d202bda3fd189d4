"""The process that sends one message, and ends."""

import json
import math
import signal
import sys

from redlane.errors import RedlaneError
from redlane.outgoing import not_readable, post

__all__ = ["WORDS", "main", "task"]

WORDS = (sys.executable, "-I", "-m", "redlane.webhook.child")
"""What starts it; `task` is for its standard input."""

_FINE = range(200, 300)


def task(url: str, headers: dict[str, str], body: bytes, seconds: float) -> bytes:
    """What is to be sent where."""
    told = {"url": url, "headers": headers, "body": body.decode(), "seconds": seconds}
    return json.dumps(told).encode()


def main() -> int:
    """Send it; the exit status is 1, with the reason printed, where nobody took it."""
    not_readable()
    told = json.load(sys.stdin.buffer)
    signal.alarm(math.ceil(told["seconds"]) + 1)
    try:
        status, _ = post(told["url"], told["headers"], told["body"].encode(), 0)
    except RedlaneError as error:
        sys.stdout.write(str(error))
        return 1
    if status not in _FINE:
        sys.stdout.write(f"it answers {status}")
    return int(status not in _FINE)


if __name__ == "__main__":
    sys.exit(main())
