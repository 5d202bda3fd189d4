"""Programs whose file would give them more rights than who starts them.

A program of the machine's is asked for its help. Where there is none, or for root, who
has nothing to gain, the kernel is asked whether any program could.
"""

import os
import select
import stat
import subprocess
from contextlib import suppress
from pathlib import Path

from redlane.doctor.findings import REPORT, Finding, held, left_open
from redlane.doctor.targets import Targets
from redlane.messages import REFUSED
from redlane.processes import user_ids

__all__ = ["gain_privileges"]

_NAME = "setuid program"
_PROGRAMS = ("/usr/bin/mount", "/usr/bin/umount", "/usr/bin/su", "/usr/bin/passwd")
_SECONDS = 5


def gain_privileges(_: Targets) -> Finding:
    """Start a program that runs as root elsewhere."""
    program = next(filter(_is_setuid, _PROGRAMS), None)
    users = () if program is None or os.getuid() == 0 else _users_of(program)
    if not users:
        return _by_the_kernels_word()
    if 0 in users:
        return left_open(_NAME, f"{program} runs as root", REPORT)
    return held(_NAME, f"{program} runs as user {users[0]}, and nobody else")


def _by_the_kernels_word() -> Finding:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "NoNewPrivs" and value.strip() == "1":
            return held(_NAME, "no program gains any rights (no_new_privs)")
    return left_open(_NAME, "no_new_privs is not set", REPORT)


def _is_setuid(path: str) -> bool:
    with suppress(OSError):
        about = Path(path).stat()
        return about.st_uid == 0 and bool(about.st_mode & stat.S_ISUID)
    return False


def _users_of(program: str) -> tuple[int, ...]:
    """As whom it ran, its end included; nothing where the role refused or held it."""
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(
        [program, "--help"], stdin=nowhere, stdout=nowhere, stderr=nowhere
    ) as process:
        descriptor = os.pidfd_open(process.pid)
        try:
            ended, _, _ = select.select([descriptor], [], [], _SECONDS)
            users = user_ids(process.pid) if ended else ()
        finally:
            os.close(descriptor)
            process.kill()
    return () if process.returncode == REFUSED else users
