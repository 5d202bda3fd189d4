"""A daemon of its own for a benchmark, under a role of all its policies."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["SCRIPTS", "daemon", "redlane"]

SCRIPTS = Path(sys.executable).parent

Policy = Mapping[str, object]


@contextmanager
def daemon(
    home: Path, policies: Sequence[Policy], settings: Mapping[str, object] | None = None
) -> Iterator[Mapping[str, str]]:
    """A daemon in `home`; the environment of its clients."""
    names = [policy["id"] for policy in policies]
    for name, document in (
        ("policies/p.json", policies),
        ("roles/r.json", {"name": "bench", "policies": names}),
        ("settings.json", settings or {}),
    ):
        path = home / ".redlane" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
    environment = {"HOME": str(home), "PATH": os.defpath}
    redlane(environment, "start", "--role", "bench")
    try:
        yield environment
    finally:
        redlane(environment, "stop")


def redlane(environment: Mapping[str, str], *words: str) -> None:
    """Run a command whose words are no part of the table."""
    subprocess.run(
        [SCRIPTS / "redlane", *words],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
