"""The program that the session runs: it makes every attempt, and tells what came of it.

It says which session it is in, reads the targets, answers with what it has found, and
lives on until its input ends: the session is looked at meanwhile.
"""

import json
import os
import sys

from redlane.doctor.canaries import CANARIES
from redlane.doctor.targets import Targets

__all__ = ["main"]


def main() -> None:
    """Speak with the doctor, by standard input and output."""
    _say(os.environ.get("REDLANE_SESSION", ""))
    line = sys.stdin.readline()
    if not line:  # whoever examines has ended
        return
    targets = Targets.of(line)
    _say(json.dumps([canary(targets).document() for canary in CANARIES]))
    sys.stdin.read()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
