"""Calls are counted in the kernel, and whole calls refused there where that is sure."""

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from errno import EPERM
from pathlib import Path

import pytest
from syscall_attachments import Rules, privileged, session_cgroup
from syscall_harness import forked

from redlane.api import Enforcement, GuardOptions, Ruling, SystemCall
from redlane_context_syscall.ebpf.attachments import Attachments
from redlane_context_syscall.ebpf.audit import Audit, Counted
from redlane_context_syscall.ebpf.blocking import Tally, wholly_blocked
from redlane_context_syscall.ebpf.cgroup import SessionCgroup

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_BLOCK = Ruling(allowed=False, policy="no-such", reason="no")
_PRIVILEGED = pytest.mark.parametrize("marked", [pytest.param("", marks=privileged)])


def _rules(ruling: Ruling, *, looks: bool = False, slow: bool = False) -> Rules:
    names = frozenset({"acct"}) if slow else frozenset[str]()
    return Rules({"acct": looks}, lambda _: ruling, names)


@pytest.mark.parametrize(
    ("rules", "blocked"),
    [
        (_rules(_BLOCK), {"acct"}),
        (_rules(_BLOCK, looks=True), set()),
        (_rules(_BLOCK, slow=True), set()),
        (_rules(Ruling(allowed=True, policy="p")), set()),
        (_rules(Ruling(allowed=True, policy="p", flagged=True)), set()),
        (_rules(Ruling(allowed=False, policy="p", kill=True)), set()),
        (_rules(Ruling(allowed=False, policy="p", lasting=False)), set()),
        (_rules(Ruling(allowed=False, reason="the session is frozen")), set()),
        (Rules({"execve": False, "exit": False}, lambda _: _BLOCK), set()),
    ],
    ids=[
        *("block", "path filter", "checker", "allow", "flag", "kill"),
        *("not lasting", "no policy's", "exempt"),
    ],
)
def test_only_whole_and_lasting_blocks_need_nobody_asked(
    rules: Rules, blocked: set[str]
) -> None:
    assert set(wholly_blocked(rules)) == blocked


def test_refusals_are_told_once_with_their_number() -> None:
    counts: dict[str, Counted] = {}
    rules = _rules(_BLOCK)
    tally = Tally(rules, {"acct": _BLOCK}, lambda: counts, "s")
    tally.report()
    counts["acct"] = Counted(5, 4)
    counts["mkdir"] = Counted(9, 9)
    tally.report()
    tally.report()
    counts["acct"] = Counted(6, 5)
    tally.report()
    told = [(call.name, call.details["count"]) for call, _ in rules.reported]
    assert told == [("acct", 4), ("acct", 1)]


def test_without_ebpf_nothing_is_loaded() -> None:
    attachments = Attachments(
        Rules({"connect": True, "acct": False}, lambda _: _BLOCK),
        GuardOptions(),
        lambda _: None,
    )
    attachments.start()
    attachments.admit(os.getpid())
    attachments.allow(os.getpid(), "connect", (b"127.0.0.1:1",))
    attachments.allow(os.getpid(), "execve", (b"/bin/true",))
    assert not attachments.refused
    assert not attachments.processes
    assert attachments.coverage({"connect": True, "acct": False}) == ()
    attachments.stop()


def test_ordinary_user_is_told_why_it_is_not_exact() -> None:
    named = {"connect": True, "execve": True, "acct": False}

    def act() -> tuple[object, ...]:
        attachments = Attachments(
            Rules(named, lambda _: _BLOCK),
            GuardOptions(ebpf=True),
            lambda _: None,
        )
        attachments.start()
        try:
            return attachments.coverage(named), dict(attachments.missing)
        finally:
            attachments.stop()

    user = 65534 if os.geteuid() == 0 else None
    told, missing = forked(act, user=user)
    assert [each.syscall for each in told] == ["connect", "execve"]
    for each in told:
        assert each.enforcement is Enforcement.ADVISORY
        assert each.reason.startswith("not exact: ")
        assert "\n" not in each.reason
    assert missing


@pytest.fixture
def cgroup() -> Iterator[SessionCgroup]:
    with session_cgroup() as made:
        yield made


def _inside(cgroup: SessionCgroup, act: Callable[[], object]) -> object:
    def run() -> object:
        cgroup.admit(os.getpid())
        return act()

    return forked(run)


@_PRIVILEGED
def test_calls_of_the_session_alone_are_counted(
    cgroup: SessionCgroup, marked: str
) -> None:
    del marked
    try:
        audit = Audit(cgroup)
    except OSError as error:
        pytest.skip(f"no program loads at sys_exit here: {error}")

    def call(times: int) -> None:
        for _ in range(times):
            _LIBRARY.acct(None)

    call(1)
    assert "acct" not in audit.counts()
    _inside(cgroup, lambda: call(5))
    counted = audit.counts()["acct"]
    audit.close()
    assert counted.calls == 5


@_PRIVILEGED
def test_refusals_of_a_filter_are_counted(cgroup: SessionCgroup, marked: str) -> None:
    del marked
    pyseccomp = pytest.importorskip("pyseccomp")
    audit = Audit(cgroup)

    def refused() -> list[int]:
        rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
        rules.add_rule(pyseccomp.ERRNO(EPERM), "acct")
        rules.load()
        results = [_LIBRARY.acct(None) for _ in range(3)]
        os.getppid()
        return results

    assert _inside(cgroup, refused) == [-1, -1, -1]
    counts = audit.counts()
    audit.close()
    assert counts["acct"] == Counted(3, 3)
    assert counts["getppid"].refused == 0


def _of_the_kernel() -> list[str]:
    """Open files of this process that keep something of ours in the kernel."""
    found = []
    for each in list(Path("/proc/self/fd").iterdir()):
        with suppress(FileNotFoundError):
            found.append(str(each.readlink()))
    return [each for each in found if "bpf" in each or "redlane." in each]


def _is_over(process: int) -> bool:
    """Whether a process has ended, taken note of by its parent or not."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in ("Z", "X")


@_PRIVILEGED
def test_companions_hold_and_let_go(marked: str) -> None:
    del marked
    named: Mapping[str, bool] = {"connect": True, "execve": True, "acct": False}

    def rule(call: SystemCall) -> Ruling:
        return _BLOCK if call.name == "acct" else Ruling(allowed=True)

    losses: list[str] = []
    attachments = Attachments(
        Rules(named, rule), GuardOptions(session="s", ebpf=True), losses.append
    )
    attachments.start()
    try:
        (directory,) = (each for each in _of_the_kernel() if each.startswith("/"))
        told = {each.syscall: each for each in attachments.coverage(named)}
        assert {name: each.enforcement for name, each in told.items()} == {
            "connect": Enforcement.EXACT,
            "execve": Enforcement.EXACT,
            "acct": Enforcement.IN_KERNEL,
        }
        assert attachments.refused == {"acct"}
        (watcher,) = attachments.processes
    finally:
        attachments.stop()
    assert losses == []
    assert _is_over(watcher)
    assert not Path(directory).exists()
    assert not _of_the_kernel()


@_PRIVILEGED
def test_namespaces_leave_nothing_exact(marked: str) -> None:
    del marked
    named = {"connect": True, "execve": True}
    attachments = Attachments(
        Rules(named, lambda _: Ruling(allowed=True)),
        GuardOptions(ebpf=True, namespaces=True),
        lambda _: None,
    )
    attachments.start()
    told = attachments.coverage(named)
    attachments.stop()
    assert {each.enforcement for each in told} == {Enforcement.ADVISORY}
    assert {"namespaces" in each.reason for each in told} == {True}


@_PRIVILEGED
def test_calls_judged_by_name_need_no_attachment(marked: str) -> None:
    del marked
    named = {"connect": False, "execve": False}
    attachments = Attachments(
        Rules(named, lambda _: Ruling(allowed=True)),
        GuardOptions(ebpf=True),
        lambda _: None,
    )
    attachments.start()
    told, processes = attachments.coverage(named), attachments.processes
    attachments.stop()
    assert (told, processes) == ((), frozenset())
