"""Processes outside of the session: signals, memory, files, and their sockets.

A Landlock domain holds these, whose scopes came with Linux 6.12. The process is the
doctor's own; the daemon is asked only whether a signal would reach it.
"""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from redlane.doctor.findings import REPORT, Finding, held, left_open, untried
from redlane.doctor.targets import Targets
from redlane.state.boundary import landlock_version

__all__ = ["landlock_mend", "neighbour_canaries"]

_SCOPES_FROM = 6
_NOT_WITH_PLUGIN = "a role without policies about system calls: only then it is held"
_NO_SIGNAL = 0
"""Is sent to nobody: the kernel says whether a real one might be."""


def neighbour_canaries() -> Iterator[Callable[[Targets], Finding]]:
    """An attempt for each thing that a process may do to another."""
    yield lambda to: _signal(
        "signal to a process outside", to.bystander, (_NO_SIGNAL, signal.SIGCONT)
    )
    yield lambda to: _signal("killing the daemon", to.daemon, (_NO_SIGNAL,))
    yield _look
    yield _connect
    yield _reach


def landlock_mend(version: int) -> str:
    """What would hold processes outside, where Landlock has this version.

    What root may look at for measurements (CAP_PERFMON) newer kernels ask nobody about.
    """
    if version >= _SCOPES_FROM:
        return (
            "the kernel lets root look at it: run agents as an ordinary user, or under "
            "a role with `hidden`"
        )
    if version:
        return f"needs Linux 6.12 or newer (here Landlock has version {version})"
    return (
        "needs Landlock of Linux 6.12 or newer: here it is missing, switched off "
        "(lsm=), or its calls are not allowed"
    )


def _signal(name: str, pid: int, numbers: tuple[int, ...]) -> Finding:
    try:
        for number in numbers:
            os.kill(pid, number)
    except PermissionError as error:
        return held(name, f"kill({pid}, …): {error.strerror}")
    except ProcessLookupError:
        return untried(name, f"process {pid} is not seen here")
    return left_open(name, f"kill({pid}, …) is let through", _mend())


def _look(to: Targets) -> Finding:
    """Look into the process: its environment, its memory, its files."""
    name, refusal = "memory of a process outside", ""
    passed = []
    for each, look in _LOOKS.items():
        try:
            look(Path(f"/proc/{to.bystander}"))
        except OSError as error:
            refusal = error.strerror or str(error)
        else:
            passed.append(each)
    if passed:
        detail = f"{', '.join(passed)} of process {to.bystander} can be read"
        return left_open(name, detail, _mend())
    return held(name, f"{', '.join(_LOOKS)} of process {to.bystander}: {refusal}")


def _read_environment(process: Path) -> None:
    (process / "environ").read_bytes()


def _open_memory(process: Path) -> None:
    os.close(os.open(process / "mem", os.O_RDWR | os.O_CLOEXEC))


def _list_files(process: Path) -> None:
    (process / "fd" / "0").readlink()


_LOOKS: dict[str, Callable[[Path], None]] = {
    "environment": _read_environment,
    "memory": _open_memory,
    "open files": _list_files,
}


def _connect(to: Targets) -> Finding:
    name = "abstract socket outside"
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(f"\0{to.abstract_socket}")
        except PermissionError as error:
            return held(name, f"connect(@{to.abstract_socket}): {error.strerror}")
        except OSError as error:
            return untried(name, f"connect(@{to.abstract_socket}): {error.strerror}")
    return left_open(name, f"connect(@{to.abstract_socket}) is let through", _mend())


def _reach(to: Targets) -> Finding:
    """Connect to a service that the role hides, and ask it for nothing."""
    name = "service outside"
    if to.service is None:
        return untried(name, to.why_no_service)
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(to.service)
        except PermissionError as error:
            return held(name, f"connect({to.service}): {error.strerror}")
        except OSError as error:
            return untried(name, f"connect({to.service}): {error.strerror}")
    told = f"connect({to.service}) is let through"
    if to.holds_connections:
        return left_open(name, told, REPORT)
    return left_open(name, told, _NOT_WITH_PLUGIN, by_role=True)


def _mend() -> str:
    return landlock_mend(landlock_version())
