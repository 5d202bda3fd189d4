"""What a process is to the file system, its supervisor is in its place."""

import ctypes
import os
import signal
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from errno import errorcode
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest
from syscall_harness import NOBODY, Decisions, Kit, Outcome, forked, supervised
from syscall_trees import open_directory

from redlane.api import Ruling, SystemCall
from redlane_context_syscall.adopting import adopted, lifted
from redlane_context_syscall.advisory import Advisory
from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.changing import CHANGING, Changing
from redlane_context_syscall.deciding import Decisions as RealDecisions
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.numbers import number_of
from redlane_context_syscall.opening import Opening
from redlane_context_syscall.processes import describe, kill_process
from redlane_context_syscall.removing import Removing
from redlane_context_syscall.target import Target
from redlane_context_syscall.tasks import Task

CALLS = ("unlink", "unlinkat", "rmdir", *CHANGING)
_DAC_OVERRIDE, _FOWNER = 1, 3
_LIBRARY = ctypes.CDLL(None, use_errno=True)

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become others")


@pytest.fixture
def directory() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def _handlers(kit: Kit) -> Mapping[str, Handler]:
    decisions = Decisions()
    kit.log.extend([decisions.asked, decisions.unfaithful])
    parts = (kit.listener, kit.world, decisions)
    changing = Changing(Advisory(*parts, blocking=kit.blocking), kit.world)
    calls = [name for name in CHANGING if number_of(name) is not None]
    removing = Removing(*parts, blocking=kit.blocking).handlers()
    return {**dict.fromkeys(calls, changing), **removing}


def _groups(*groups: int) -> None:
    os.setgroups(groups)


def _become(user: int, group: int, *groups: int) -> None:
    os.setgroups(groups)
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def _effective(user: int, group: int) -> None:
    os.setegid(group)
    os.seteuid(user)


def _there_and_back() -> None:
    os.seteuid(1000)
    os.seteuid(0)


def _become_with_capabilities() -> None:
    """They stay permitted, though none is in effect."""
    assert _LIBRARY.prctl(8, 1, 0, 0, 0) == 0  # PR_SET_KEEPCAPS
    _become(1234, 1234)


def _thread_becomes(user: int) -> None:
    """This thread alone, as its raw call does; others stay as they are."""
    number = number_of("setresuid")
    assert _LIBRARY.syscall(number, user, user, user) == 0


def _drop(*capabilities: int) -> None:
    """Give up capabilities in the effective and permitted set."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    assert _LIBRARY.capget(header, data) == 0
    for each in capabilities:
        data[0] &= ~(1 << each)
        data[1] &= ~(1 << each)
    assert _LIBRARY.capset(header, data) == 0


CHANGES: Mapping[str, Callable[[], object]] = MappingProxyType(
    {
        "nothing": lambda: None,
        "another user": lambda: _become(1234, 1234),
        "the owner": lambda: _become(1000, 1000),
        "a group": lambda: _become(1234, 2000),
        "a supplementary group": lambda: _become(1234, 1234, 3000, 2000),
        "groups of root": lambda: _groups(5, 6, 7),
        "effective user": lambda: _effective(1000, 0),
        "effective group": lambda: _effective(1234, 2000),
        "file system user": lambda: _LIBRARY.setfsuid(1000),
        "file system group": lambda: (_LIBRARY.setfsgid(2000), _LIBRARY.setfsuid(1)),
        "there and back": _there_and_back,
        "no override": lambda: _drop(_DAC_OVERRIDE),
        "no override, no owner": lambda: _drop(_DAC_OVERRIDE, _FOWNER),
        "kept capabilities": _become_with_capabilities,
        "one thread": lambda: _thread_becomes(1234),
    }
)

_OPEN, _OWN, _GROUP, _STICKY, _CLOSED = 0o777, 0o700, 0o770, 0o1777, 0o500
DIRECTORIES = {
    "open": (_OPEN, 0, 0),
    "root's": (_OWN, 0, 0),
    "user's": (_OWN, 1000, 1000),
    "group's": (_GROUP, 0, 2000),
    "sticky": (_STICKY, 0, 0),
    "sticky user's": (_STICKY, 1000, 1000),
    "closed": (_CLOSED, 1000, 1000),
}
OWNERS = (0, 1000, 1234)


def _plant(root: Path) -> None:
    for name, (mode, user, group) in DIRECTORIES.items():
        (root / name).mkdir()
        for owner in OWNERS:
            (root / name / str(owner)).touch()
            os.chown(root / name / str(owner), owner, owner)
        os.chown(root / name, user, group)
        (root / name).chmod(mode)


def _remove_all(root: Path, change: Callable[[], object]) -> list[str]:
    """What removing each file comes to, for somebody who has changed so."""
    _plant(root)
    change()
    results = []
    for name in DIRECTORIES:
        for owner in OWNERS:
            try:
                os.unlink(root / name / str(owner))  # noqa: PTH108  # as it is called
                results.append("done")
            except OSError as error:
                results.append(errorcode[error.errno or 0])
    return results


@only_root
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_process_that_has_changed_may_what_it_may_natively(
    directory: Path, change: Callable[[], object]
) -> None:
    (directory / "native").mkdir()
    (directory / "emulated").mkdir()

    native = forked(lambda: _remove_all(directory / "native", change))
    emulated = supervised(
        lambda: _remove_all(directory / "emulated", change), CALLS, _handlers
    )

    assert emulated.result == native
    assert not emulated.log[1]


class _Looking:
    """Notes who the thread is that serves a call, and lets the call go on."""

    def __init__(self, kit: Kit, *, creating: bool) -> None:
        self._kit = kit
        self._creating = creating

    def __call__(self, notification: Notification) -> Answer:
        target = Target(notification, self._kit.listener, self._kit.world)
        with adopted(target, creating=self._creating):
            within = Task.read("thread-self")
            with lifted():
                between = Task.read("thread-self")
            again = Task.read("thread-self")
        after = Task.read("thread-self")
        assert again == within
        self._kit.log.extend([(within, between, after), Task.read("self")])
        return GO_ON


def _looked(change: Callable[[], object], *, creating: bool = False) -> Outcome:
    """Who served the calls of a process that changes and then calls rmdir."""

    def act() -> Task:
        change()
        with suppress(OSError):
            os.rmdir("/")  # noqa: PTH106  # as it is called
        return Task.read("thread-self")

    def handlers(kit: Kit) -> Mapping[str, Handler]:
        made = dict(_handlers(kit))
        kit.log.clear()
        return {**made, "rmdir": _Looking(kit, creating=creating)}

    return supervised(act, CALLS, handlers)


@only_root
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_thread_is_the_caller_and_then_itself_again(
    change: Callable[[], object],
) -> None:
    outcome = _looked(change)

    (within, between, after), _ = outcome.log
    assert within.credentials == outcome.result.credentials
    assert between == after
    assert after.credentials == Task.read("thread-self").credentials


@pytest.mark.parametrize("umask", [0, 0o22, 0o77, 0o777])
def test_the_umask_is_the_callers(umask: int) -> None:
    outcome = _looked(lambda: os.umask(umask), creating=True)

    (within, _, _), _ = outcome.log
    assert within.umask == umask


def test_an_umask_stays_within_its_thread() -> None:
    outcome = _looked(lambda: os.umask(0o123), creating=True)

    _, main_thread = outcome.log
    assert main_thread.umask == Task.read("self").umask != 0o123


def test_nothing_is_read_while_nobody_has_changed() -> None:
    def handlers(kit: Kit) -> Mapping[str, Handler]:
        def rmdir(notification: Notification) -> Answer:
            target = Target(notification, kit.listener, kit.world)
            kit.log.append(kit.world.is_one)
            with adopted(target):
                return GO_ON

        return {**_handlers(kit), "rmdir": rmdir}

    def act() -> None:
        Path("/tmp").joinpath(str(os.getpid())).mkdir()
        Path("/tmp").joinpath(str(os.getpid())).rmdir()

    assert supervised(act, CALLS, handlers).log[-1] is True


@only_root
def test_an_ordinary_supervisor_is_nobody_else(directory: Path) -> None:
    file = directory / "file"
    file.touch()
    os.chown(file, NOBODY, NOBODY)

    def act() -> str:
        # Nothing of this can succeed without rights, so nothing is different after it.
        with suppress(PermissionError):
            os.setuid(0)
        with suppress(PermissionError):
            os.setgroups([0])
        file.unlink()
        return "done"

    outcome = supervised(act, CALLS, _handlers, user=NOBODY)

    assert outcome.result == "done"
    assert not outcome.log[1]


@only_root
def test_more_capabilities_than_the_supervisors_are_refused(directory: Path) -> None:
    (directory / "file").touch()

    def act() -> str:
        os.setgroups([1])
        try:
            (directory / "file").unlink()
        except PermissionError:
            return "refused"
        return "done"

    def handlers(kit: Kit) -> Mapping[str, Handler]:
        _drop(_DAC_OVERRIDE)
        kit.world.own = Task.read("self")
        return _handlers(kit)

    outcome = supervised(act, CALLS, handlers)

    assert outcome.result == "refused"
    assert outcome.log[1] == [
        "its process has capabilities that the supervisor has not"
    ]


@only_root
def test_another_root_directory_is_refused(directory: Path) -> None:
    (directory / "file").touch()

    def act() -> str:
        os.chroot(directory)
        try:
            os.unlink("/file")  # noqa: PTH108  # as it is called
        except PermissionError:
            return "refused"
        return "done"

    outcome = supervised(act, CALLS, _handlers)

    assert outcome.result == "refused"
    assert outcome.log[1] == ["its process has another root directory"]
    assert stat.S_ISREG((directory / "file").stat().st_mode)


@only_root
def test_a_thread_that_takes_over_is_the_supervisor() -> None:
    """A thread starts as who starts it: the caller, if that was not put off before."""

    def handlers(kit: Kit) -> Mapping[str, Handler]:
        made = dict(_handlers(kit))
        kit.log.clear()

        def rmdir(notification: Notification) -> Answer:
            kit.log.append(Task.read("thread-self").credentials)
            target = Target(notification, kit.listener, kit.world)
            with adopted(target):
                kit.blocking(notification)
            return GO_ON

        return {**made, "rmdir": rmdir}

    def act() -> None:
        _become(1234, 1234)
        for _ in range(3):
            with suppress(OSError):
                os.rmdir("/")  # noqa: PTH106  # as it is called

    outcome = supervised(act, CALLS, handlers)

    assert set(outcome.log) == {Task.read("thread-self").credentials}
    assert len(outcome.log) == 3


class _Killing:
    """A judge by which every file called `bait` kills who opens it."""

    generation = 1
    is_slow: frozenset[str] = frozenset()

    def rule(self, call: SystemCall) -> Ruling:
        is_bait = any(path and path.endswith("bait") for path in call.paths)
        return Ruling(allowed=not is_bait, kill=True)

    def report(self, call: SystemCall, ruling: Ruling) -> None:
        """Tell nobody."""


@only_root
def test_who_has_become_another_user_is_killed_as_well(directory: Path) -> None:
    (directory / "bait").touch()

    def handlers(kit: Kit) -> Mapping[str, Handler]:
        killing = partial(kill_process, kit.listener)
        decisions = RealDecisions(_Killing(), describe, killing)  # type: ignore[arg-type]  # of a judge, the half that is used
        parts = (kit.listener, kit.world, decisions)
        return {
            **_handlers(kit),
            **Opening(*parts, blocking=kit.blocking).handlers(),
            **Removing(*parts, blocking=kit.blocking).handlers(),
        }

    def act() -> list[int]:
        statuses = []
        for touch in (os.unlink, lambda path: os.open(path, os.O_RDONLY)):
            pid = os.fork()
            if pid == 0:
                _become(1234, 1234)
                with suppress(OSError):
                    touch(directory / "bait")
                os._exit(0)
            statuses.append(os.waitpid(pid, 0)[1])
        return statuses

    outcome = supervised(act, (*CALLS, "open", "openat"), handlers)

    assert outcome.result == [signal.SIGKILL, signal.SIGKILL]
