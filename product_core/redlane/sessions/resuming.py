"""Lets sessions go on that are frozen for what is held, once their daemon was killed.

That is a process of its own, as long as any is frozen so: nobody else would notice
before another daemon runs, which may never be.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redlane.membership.trees import continue_tree
from redlane.processes import read_process
from redlane.state.owners import owner_of
from redlane.state.session_file import load_records

__all__ = ["main", "resumed_if_killed"]


@contextmanager
def resumed_if_killed(sessions: Path) -> Iterator[None]:
    """Within the block what is paused goes on by itself when this process is killed.

    `sessions` is the file where that is written down. Raises OSError where no process
    is to be had.
    """
    words = (sys.executable, "-I", "-m", __name__, str(sessions))
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    ) as process:
        try:
            yield
        finally:
            process.kill()


def main() -> None:
    """Wait for the end of who started this, and have go on what it had paused."""
    sys.stdin.buffer.read()
    records, _ = load_records(Path(sys.argv[1]))
    for record in records:
        if not record["paused"] or record["root_pid"] is None:
            continue
        root = read_process(record["root_pid"])
        if root is not None and root.start == record["root_started"]:
            continue_tree(root, owner_of(record["id"]))


if __name__ == "__main__":
    main()
