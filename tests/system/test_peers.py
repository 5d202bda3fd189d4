"""Who a caller is, and in which session: the process tree decides."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from spec.redlane_home import wait_for
from system.process_tree import Actor, actor

from redlane.errors import UsageError
from redlane.membership.peers import Peer, peer_of
from redlane.membership.resolver import MembershipResolver, MembershipState
from redlane.membership.roots import key_of
from redlane.membership.trees import continue_tree, kill_tree, members, stop_tree
from redlane.processes import (
    Process,
    ProcessUnreadableError,
    State,
    ancestry,
    read_process,
)


@pytest.fixture
def membership() -> Iterator[MembershipResolver]:
    made = MembershipResolver()
    yield made
    for root in made.roots():
        made.release(root.session)


@pytest.fixture
def peer() -> Iterator[Callable[[int], Peer]]:
    """Peers by process id, as a connection of that process would give them."""
    made: list[Peer] = []

    def make(pid: int) -> Peer:
        made.append(Peer(pid, os.getuid(), os.pidfd_open(pid)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def has_ended(pid: int) -> bool:
    process = read_process(pid)
    return process is None or process.state is State.DEAD


@pytest.mark.parametrize(
    "name", ["a b", "a) S 1 (", ") R 1 1 1", "\n", "redlane-run"], ids=repr
)
def test_process_name_does_not_confuse_the_reader(name: str) -> None:
    with actor() as process:
        process.ask("name", name)
        found = read_process(process.pid)
    assert found is not None
    assert (found.name, found.parent) == (name, os.getpid())


def test_ancestry_leads_to_the_top() -> None:
    chain = ancestry(os.getpid())
    assert chain is not None
    assert chain.complete
    assert chain.processes[0].pid == os.getpid()
    assert chain.processes[1].pid == os.getppid()
    assert chain.processes[-1].parent == 0


def test_ancestry_that_is_too_long_is_no_ancestry() -> None:
    """A chain that was cut off could hide the session that it is in."""
    with pytest.raises(ProcessUnreadableError):
        ancestry(os.getpid(), most=1)


def test_no_process_has_no_ancestry() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert ancestry(child.pid) is None


def test_peer_is_the_process_that_connected() -> None:
    left, right = socket.socketpair()
    with left, right:
        peer = peer_of(left)
        assert (peer.pid, peer.uid, peer.alive) == (os.getpid(), os.getuid(), True)
        peer.close()
        assert not peer.alive


def test_peer_that_has_exited_is_not_alive(tmp_path: Path) -> None:
    program = (
        "import os, socket, sys\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "os._exit(0) if os.fork() else s.recv(1)\n"
    )
    address = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        child = subprocess.Popen([sys.executable, "-c", program, address])
        connection, _ = listener.accept()
        child.wait()
        with connection:
            peer = peer_of(connection)
            assert peer.pid == child.pid
            assert not peer.alive
            peer.close()


def test_caller_outside_of_every_session_is_outside(
    membership: MembershipResolver, peer: Callable[[int], Peer], supervisor: Actor
) -> None:
    membership.adopt("s", supervisor.pid)
    assert membership.membership(peer(os.getpid())).place is MembershipState.OUTSIDE


def test_supervisor_child_and_orphan_are_members(
    membership: MembershipResolver, peer: Callable[[int], Peer], supervisor: Actor
) -> None:
    membership.adopt("s", supervisor.pid)
    root = membership.membership(peer(supervisor.pid))
    assert (root.place, root.session, root.is_root) == (
        MembershipState.MEMBER,
        "s",
        True,
    )
    for pid in (supervisor.ask("fork"), supervisor.ask("detach")):
        for _ in range(2):  # the second answer comes from memory
            found = membership.membership(peer(pid))
            assert (found.place, found.session) == (MembershipState.MEMBER, "s")
            assert not found.is_root


def test_process_of_an_unknown_supervisor_has_no_rights(
    membership: MembershipResolver, peer: Callable[[int], Peer], supervisor: Actor
) -> None:
    child = supervisor.ask("fork")
    assert membership.membership(peer(supervisor.pid)).place is MembershipState.OUTSIDE
    assert membership.membership(peer(child)).place is MembershipState.UNKNOWN


def test_caller_that_has_exited_has_no_rights(
    membership: MembershipResolver, peer: Callable[[int], Peer]
) -> None:
    with actor() as process:
        gone = peer(process.pid)
    assert membership.membership(gone).place is MembershipState.UNKNOWN


def test_caller_of_another_pid_namespace_has_no_rights(
    membership: MembershipResolver,
) -> None:
    assert (
        membership.membership(Peer(0, os.getuid(), None)).place
        is MembershipState.UNKNOWN
    )


def let_a_tick_pass(pid: int) -> None:
    """Start times are in ticks: what is to be younger must wait for the next one."""
    process = read_process(pid)
    assert process is not None
    ticks = os.sysconf("SC_CLK_TCK")
    while time.clock_gettime(time.CLOCK_BOOTTIME) * ticks <= process.start + 1:
        os.sched_yield()


def test_orphans_of_a_killed_supervisor_have_no_rights(
    peer: Callable[[int], Peer],
) -> None:
    losses: list[str] = []
    membership = MembershipResolver()
    membership.on_loss = losses.append
    with actor() as reaper:
        reaper.ask("reap")
        older = reaper.ask("fork")
        let_a_tick_pass(older)
        supervisor, sleeper = reaper.ask("supervise")
        orphan = peer(sleeper)
        membership.adopt("s", supervisor, reaper=key_of(reaper.pid))
        assert membership.membership(orphan).place is MembershipState.MEMBER
        descriptor = os.pidfd_open(supervisor)
        os.kill(supervisor, signal.SIGKILL)
        assert select.select([descriptor], [], [], 10)[0]
        os.close(descriptor)
        # Nobody told the membership: it finds out when it is asked.
        assert membership.membership(orphan).place is MembershipState.LOST
        assert losses == ["s"]
        for outside in (older, reaper.pid, os.getpid()):
            assert membership.membership(peer(outside)).place is MembershipState.OUTSIDE
        younger = reaper.ask("fork")
        assert membership.membership(peer(younger)).place is MembershipState.LOST
        membership.release("s")
        assert membership.membership(orphan).place is MembershipState.OUTSIDE


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1], ids=["none", "negative", "none"])
def test_root_must_be_a_process(membership: MembershipResolver, pid: int) -> None:
    with pytest.raises(UsageError):
        membership.adopt("s", pid)


def test_ancestor_of_the_daemon_is_no_root(membership: MembershipResolver) -> None:
    for pid in (1, os.getppid(), os.getpid()):
        with pytest.raises(UsageError, match="ancestor"):
            membership.adopt("s", pid)


def test_session_is_not_nested(
    membership: MembershipResolver, supervisor: Actor
) -> None:
    membership.adopt("s", supervisor.pid)
    for pid in (supervisor.pid, supervisor.ask("fork")):
        with pytest.raises(UsageError, match="in a session already"):
            membership.adopt("t", pid)


def test_session_is_not_put_around_another(membership: MembershipResolver) -> None:
    with actor() as outer:
        membership.adopt("s", outer.ask("fork"))
        with pytest.raises(UsageError, match="ancestor"):
            membership.adopt("t", outer.pid)


def root_of(supervisor: Actor) -> Process:
    found = read_process(supervisor.pid)
    assert found is not None
    return found


def test_tree_is_stopped_and_goes_on(supervisor: Actor) -> None:
    pids = {supervisor.ask("fork"), supervisor.ask("detach")}
    root = root_of(supervisor)
    assert {each.pid for each in members(root)} == pids
    assert stop_tree(root)
    assert {each.state for each in members(root)} == {State.STOPPED}
    supervisor.ask("reap")
    assert continue_tree(root)
    assert {each.state for each in members(root)} == {State.RUNNING}


def test_tree_is_killed_whole(supervisor: Actor) -> None:
    pids = [supervisor.ask("fork"), supervisor.ask("detach")]
    assert kill_tree(root_of(supervisor))
    assert all(has_ended(pid) for pid in (*pids, supervisor.pid))


HEADLESS = """\
import ctypes, threading
thread = threading.Thread(target=threading.Event().wait)
thread.start()
ctypes.CDLL(None).syscall({number}, 0)  # exit(2): the first thread ends, alone
"""


def test_process_whose_first_thread_has_ended_is_stopped_and_killed(
    supervisor: Actor,
) -> None:
    """It looks like one that is dead; it would be free once the session is closed."""
    number = {"x86_64": 60, "aarch64": 93}[os.uname().machine]
    pid = supervisor.ask("run", HEADLESS.format(number=number))
    wait_for(lambda: "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text())
    root = root_of(supervisor)
    assert [(each.pid, each.state) for each in members(root)] == [(pid, State.RUNNING)]
    assert stop_tree(root)
    assert [each.state for each in members(root)] == [State.STOPPED]
    assert continue_tree(root)
    assert [each.state for each in members(root)] == [State.RUNNING]
    assert kill_tree(root)
    assert has_ended(pid)


def test_tree_that_forks_all_the_time_is_killed(supervisor: Actor) -> None:
    program = "import os\nwhile True:\n    if os.fork(): os._exit(0)\n"
    supervisor.ask("run", program)
    assert kill_tree(root_of(supervisor))
