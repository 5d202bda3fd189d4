"""What a session executes is the file that was judged, or nothing."""

import ctypes
import mmap
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import EPERM
from pathlib import Path

import pytest
from syscall_attachments import (
    SECONDS,
    Rules,
    execute,
    privileged,
    session_cgroup,
    two_programs,
    until,
)
from syscall_harness import Kit, forked, supervised

from redlane.api import GuardOptions, Ruling, SystemCall
from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.ebpf.cgroup import SessionCgroup
from redlane_context_syscall.ebpf.execution import Executions
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.kernel.system import process_vm_readv

pytestmark = privileged

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_RAN, _RAN_DENIED, _REFUSED = 0, 1, 100 + EPERM
_ATTEMPTS, _MOST_ATTEMPTS = 100, 1_000


class Held:
    """A session's execs under rules that refuse one file."""

    def __init__(self, cgroup: SessionCgroup, denied: Path) -> None:
        self.cgroup = cgroup
        self.rules = Rules({"execve": True}, self._rule)
        self.losses: list[str] = []
        self.lost = threading.Event()
        self._denied = str(denied)
        self.executions = Executions(
            cgroup, self.rules, GuardOptions(session="s"), self._on_loss
        )

    def _rule(self, call: SystemCall) -> Ruling:
        if None in call.paths or self._denied in call.paths:
            return Ruling(allowed=False, policy="denied", reason="no")
        return Ruling(allowed=True)

    def _on_loss(self, reason: str) -> None:
        self.losses.append(reason)
        self.lost.set()


@pytest.fixture
def programs(tmp_path: Path) -> tuple[Path, Path]:
    return two_programs(tmp_path)


@pytest.fixture
def held(programs: tuple[Path, Path]) -> Iterator[Held]:
    with session_cgroup() as cgroup:
        try:
            made = Held(cgroup, programs[1])
        except OSError as error:
            pytest.skip(f"fanotify does not watch execs here: {error}")
        try:
            yield made
        finally:
            made.executions.close()


def _in_session(held: Held, act: Callable[[], object]) -> object:
    def inside() -> object:
        held.cgroup.admit(os.getpid())
        return act()

    return forked(inside)


def _expected(held: Held, *candidates: bytes | None) -> Callable[[], None]:
    """Tells that an exec of this thread was judged; runs where `held` does not."""
    return lambda: held.executions.expect(os.getpid(), "execve", candidates)


def test_other_processes_execute_as_ever(
    held: Held, programs: tuple[Path, Path]
) -> None:
    assert held.executions.file_systems.watched
    assert os.waitstatus_to_exitcode(execute(str(programs[1]))) == _RAN_DENIED
    assert held.rules.reported == []


def test_execs_that_no_policy_names_go_on(
    held: Held, programs: tuple[Path, Path]
) -> None:
    status = _in_session(held, lambda: execute(str(programs[1])))
    assert status == _RAN_DENIED << 8


def _judging(held: Held | None, denied: Path) -> Callable[[Kit], Mapping[str, Handler]]:
    """Refuse the denied file by what memory says; hand the rest over."""

    def execve(notification: Notification) -> Answer:
        try:
            data = process_vm_readv(notification.pid, notification.args[0], 4096)
        except OSError:
            data = b""
        path = data.partition(b"\0")[0]
        canonical = os.path.realpath(path)
        if canonical == os.fsencode(denied):
            raise PermissionError(EPERM, "denied")
        if held is not None:
            held.executions.expect(notification.pid, "execve", (path, canonical))
        return GO_ON

    return lambda _: {"execve": execve}


def _served(held: Held, denied: Path, act: Callable[[], object]) -> object:
    """Run `act` as a session: filtered, judged, in the cgroup."""
    # The harness forks its supervisor, and threads do not come along; so questions
    # are answered here, and what was judged is told to here through a pipe.
    read, write = os.pipe()
    real = held.executions

    class Forwarding:
        def expect(self, thread: int, name: str, candidates: tuple[bytes, ...]) -> None:
            line = b"\0".join((str(thread).encode(), name.encode(), *candidates))
            os.write(write, line + b"\n")
            assert os.read(answered, 1)

    answered, answer = os.pipe()

    def forward() -> None:
        with os.fdopen(read, "rb") as lines:
            for line in lines:
                thread, name, *candidates = line.rstrip(b"\n").split(b"\0")
                real.expect(int(thread), name.decode(), tuple(candidates))
                os.write(answer, b"\1")

    forwarder = threading.Thread(target=forward)
    forwarder.start()
    held.executions = Forwarding()  # type: ignore[assignment]  # only this one method
    try:
        return supervised(
            act,
            ["execve"],
            _judging(held, denied),
            before=lambda: held.cgroup.admit(os.getpid()),
        ).result
    finally:
        held.executions = real
        os.close(write)
        forwarder.join()
        os.close(answer)
        os.close(answered)


def test_judged_program_and_script_run(
    held: Held, programs: tuple[Path, Path], tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 7\n")
    script.chmod(0o755)
    link = tmp_path / "link"
    link.symlink_to(programs[0])

    def act() -> list[int]:
        return [execute(str(each)) for each in (programs[0], script, link, programs[1])]

    assert _served(held, programs[1], act) == [0, 7 << 8, 0, (100 + EPERM) << 8]


def test_interpreter_of_a_script_is_judged(
    held: Held, programs: tuple[Path, Path], tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{programs[1]}\n")
    script.chmod(0o755)
    status = _served(held, programs[1], lambda: execute(str(script)))
    assert status == (100 + EPERM) << 8


def test_exec_that_no_policy_names_goes_on_after_one_that_failed(
    held: Held, programs: tuple[Path, Path], tmp_path: Path
) -> None:
    def missing() -> None:
        with suppress(FileNotFoundError):
            os.execv(tmp_path / "missing", ["missing"])

    def by_descriptor() -> int:
        with programs[1].open("rb") as file:
            return execute(file.fileno(), before=missing)

    assert _served(held, programs[1], by_descriptor) == _RAN_DENIED << 8


def test_file_system_mounted_later_is_watched_too(
    held: Held, programs: tuple[Path, Path], tmp_path: Path
) -> None:
    place = tmp_path / "a place"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "none", str(place)]
    if subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        device = place.stat().st_dev
        until(lambda: device in held.executions.file_systems.watched)
        copy = shutil.copy(programs[0], place / "program")
        assert _in_session(held, lambda: execute(str(copy))) == 0
    finally:
        subprocess.run(["umount", str(place)], check=True)
    until(lambda: device not in held.executions.file_systems.watched)


def _flipping(directory: Path, least: int, *expected: int) -> set[int]:
    """Execute what another process's memory names, which changes; the statuses.

    Each is on a core of its own, where there are two, and all that is expected is
    seen: a busy machine may keep the one that flips from its work for long.
    """
    cores = sorted(os.sched_getaffinity(0))
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    path = os.fsencode(directory / "prog0") + b"\0"
    memory[: len(path)] = path
    at = len(path) - 2
    flipper = os.fork()
    if flipper == 0:
        os.sched_setaffinity(0, cores[-1:])
        while True:
            memory[at] = ord("1")
            memory[at] = ord("0")
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    arguments = (ctypes.c_char_p * 2)(b"program", None)
    os.sched_setaffinity(0, cores[:1])
    statuses: set[int] = set()
    for attempt in range(_MOST_ATTEMPTS):
        if attempt >= least and statuses.issuperset(expected):
            break
        pid = os.fork()
        if pid == 0:
            _LIBRARY.execve(ctypes.c_void_p(address), arguments, arguments)
            os._exit(100 + ctypes.get_errno())
        statuses.add(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os.kill(flipper, signal.SIGKILL)
    os.waitpid(flipper, 0)
    return statuses


def test_flipping_the_path_gets_nowhere(
    held: Held, programs: tuple[Path, Path]
) -> None:
    directory = programs[0].parent
    statuses = _served(
        held, programs[1], lambda: _flipping(directory, _ATTEMPTS, _RAN, _REFUSED)
    )
    assert isinstance(statuses, set)
    assert {_RAN, _REFUSED} <= statuses
    assert _RAN_DENIED not in statuses


def test_flipping_the_path_works_without_the_attachment(
    programs: tuple[Path, Path],
) -> None:
    directory = programs[0].parent
    outcome = supervised(
        lambda: _flipping(directory, 1, _RAN_DENIED),
        ["execve"],
        _judging(None, programs[1]),
    )
    assert _RAN_DENIED in outcome.result, "the attack proves nothing"


def test_another_file_than_the_one_judged_is_judged_itself(
    held: Held, programs: tuple[Path, Path]
) -> None:
    go, told = os.pipe()

    def wait() -> None:
        os.read(go, 1)

    def act() -> int:
        held.cgroup.admit(os.getpid())
        return execute(str(programs[1]), before=wait)

    with _child(act) as (child, grandchild):
        held.executions.expect(grandchild, "execve", (os.fsencode(programs[0]),))
        os.write(told, b"x")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 100 + EPERM
    os.close(go)
    os.close(told)
    ((call, ruling),) = held.rules.reported
    assert (call.name, call.paths) == ("execve", (str(programs[1]),))
    assert call.details["session"] == "s"
    assert not ruling.allowed


@contextmanager
def _child(act: Callable[[], int]) -> Iterator[tuple[int, int]]:
    """A child that runs something which forks once: both of their ids."""
    pid = os.fork()
    if pid == 0:
        os._exit(os.waitstatus_to_exitcode(act()) & 0xFF)
    end = time.monotonic() + SECONDS
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while not (found := children.read_text().split()):
        assert time.monotonic() < end
        os.sched_yield()
    yield pid, int(found[0])


def test_file_in_memory_is_killed_before_it_runs(
    held: Held, programs: tuple[Path, Path]
) -> None:
    if held.executions.missing:
        pytest.skip(f"not here: {held.executions.missing}")

    def act() -> int:
        memory = os.memfd_create("program", 0)
        os.write(memory, programs[0].read_bytes())
        return execute(memory)

    assert _in_session(held, act) == signal.SIGKILL
    held.executions.report()
    held.executions.report()
    ((call, ruling),) = held.rules.reported
    assert call.details["count"] == 1
    assert ruling.kill


def test_file_in_memory_runs_outside(programs: tuple[Path, Path]) -> None:
    memory = os.memfd_create("program", 0)
    os.write(memory, programs[0].read_bytes())
    assert execute(memory) == 0
    os.close(memory)


def test_loss_of_the_watcher_is_told_and_fatal_to_execs(
    held: Held, programs: tuple[Path, Path]
) -> None:
    os.kill(held.executions.process, signal.SIGKILL)
    assert held.lost.wait(SECONDS)
    assert held.losses
    assert os.waitstatus_to_exitcode(execute(str(programs[0]))) == 0
    if not held.executions.missing:
        status = _in_session(held, lambda: execute(str(programs[0])))
        assert status == signal.SIGKILL
