"""Who adopts orphans is found out by making one."""

import os
import subprocess
import sys

from system.wrapper_programs import Wrapper

PROBE = (
    "from redlane.contexts.shell.running.orphans import adopter_of_orphans;"
    "print(adopter_of_orphans())"
)


def test_the_nearest_subreaper_adopts(wrapper: Wrapper) -> None:
    line = 'echo $PPID; exec "$0" -c "$1"'
    supervisor = [wrapper.directory / "redlane-run", "--socket", "/none"]
    unbound = [*supervisor, "--boundary", "none"]

    done = subprocess.run(
        [*unbound, "--", "/bin/sh", "-c", line, sys.executable, PROBE],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    supervisor_pid, adopter = done.stdout.split()
    assert adopter == supervisor_pid
