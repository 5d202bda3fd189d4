"""What the starter role `developer` says of scripts: judging.py [--json] PATH…

A directory stands for the shell scripts below it. The worst come last, and after them
how many there are of each verdict, and how long they took.
"""

import argparse
import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from redlane.cli.starter import STARTER
from redlane.contexts.shell.content import ShellContent
from redlane.engine.judge import judge
from redlane.model.verdict import Decision
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load
from redlane.policies.ruleset import RuleSet

__all__ = ["Judged", "judged"]

ROLE = "developer"
SHARES = (50, 95, 100)


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one script; `seconds` are the processor's."""

    path: str
    decision: Decision
    policy: str | None
    reason: str
    seconds: float

    def __str__(self) -> str:
        """One line that says all of it."""
        why = f" by {self.policy}: {self.reason}" if self.policy or self.reason else ""
        return f"{self.path}: {self.decision}{why}, {self.seconds:.2f} s"


def judged(script: Path, cwd: Path | None = None) -> Judged:
    """Judge a script as it would be run by hand, in `cwd` or where it is."""
    command = shlex.join((_interpreter(script), str(script)))
    content = ShellContent(command.encode(), cwd=str(cwd or script.parent))
    begun = time.process_time()
    found = judge(_starter(), ROLE, [content])
    seconds = round(time.process_time() - begun, 3)
    reason = "" if found.decision is Decision.ALLOW else found.reason
    return Judged(str(script), found.decision, found.policy, reason, seconds)


@cache
def _starter() -> RuleSet:
    paths = Paths(STARTER, STARTER / "none.json", STARTER, STARTER / "none.sock")
    return load(paths, find_plugins()).ruleset


def _interpreter(script: Path) -> str:
    with script.open("rb") as file:
        first = file.readline(128)
    return "bash" if first.startswith(b"#!") and b"bash" in first else "sh"


def main(words: Sequence[str]) -> int:
    """Print what is found of the scripts that are named; 1 when one is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON list")
    parser.add_argument("path", type=Path, nargs="+", help="a script, or a directory")
    given = parser.parse_args(words)
    found = sorted(map(judged, _scripts(given.path)), key=_badness)
    if given.json:
        lines = [json.dumps([asdict(each) for each in found], indent=2)]
    else:
        lines = [*map(str, found), _summary(found)]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(any(each.decision is not Decision.ALLOW for each in found))


def _scripts(paths: Iterable[Path]) -> Iterable[Path]:
    # Found below `tests` only when this file is run by itself.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from scripts.places import scripts_below  # noqa: PLC0415

    for path in paths:
        yield from scripts_below(path) if path.is_dir() else (path.absolute(),)


def _badness(each: Judged) -> tuple[int, float]:
    return each.decision.severity, each.seconds


def _summary(found: Sequence[Judged]) -> str:
    counts = Counter(str(each.decision) for each in found)
    seconds = sorted(each.seconds for each in found) or [0.0]
    told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    shares = (
        f"{share}%: {seconds[(len(seconds) - 1) * share // 100]:.2f} s"
        for share in SHARES
    )
    return f"{len(found)} scripts ({told or 'none'}); {', '.join(shares)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
