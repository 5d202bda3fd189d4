"""Which session a process is in; the kernel's process tree decides, no claim does.

A session's root is its supervisor, which adopts every orphan below it, so all that the
session ever starts descends from it for as long as it lives. When a root dies without
having closed its session, its orphans pass to a reaper outside. They cannot be told
from other children that the reaper got since, so all of those count as the session's.
"""

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from typing import NoReturn

from redlane.errors import RedlaneError, UsageError
from redlane.membership.leftovers import bears_mark, end_left
from redlane.membership.peers import Peer
from redlane.membership.roots import (
    Root,
    chain_of,
    has_exited,
    keys_above,
    may_be_orphan,
    open_process,
)
from redlane.processes import (
    SUPERVISOR,
    Ancestry,
    Process,
    ProcessUnreadableError,
    State,
    ancestry,
    read_process,
    supervises,
    user_ids,
)
from redlane.state.owners import owner_of

__all__ = ["Membership", "MembershipResolver", "MembershipState"]

_MOST_REMEMBERED = 8192
_FOREIGN = (
    "the caller is in a session that this daemon does not know: end that session and "
    "start it again"
)
_LEFT = "the caller was started in a session whose supervisor has gone"
_HIDDEN = "the caller's ancestors are hidden (/proc is mounted with hidepid)"


class MembershipState(StrEnum):
    """Where a process stands; only OUTSIDE carries rights."""

    OUTSIDE = "outside"
    MEMBER = "member"
    LOST = "lost"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Membership:
    """Where a process stands: in which session, or why that cannot be known.

    `is_root` holds for the supervisor of the session itself.
    """

    place: MembershipState
    session: str | None = None
    is_root: bool = False
    reason: str = ""


class MembershipResolver:
    """The roots of all sessions, and the answer to who is in which."""

    def __init__(self, is_known: Callable[[int], bool] = lambda _: True) -> None:
        """No session has a root yet; `is_known` tells whether a user has a name."""
        self._is_known = is_known
        self.on_loss: Callable[[str], None] = lambda _: None
        """Told the session whose root died without closing it."""
        self._lock = threading.Lock()
        self._roots: dict[str, Root] = {}
        self._living = select.epoll()
        self._remembered: dict[tuple[int, tuple[int, int]], Membership] = {}
        self._generation = 0

    @property
    def generation(self) -> int:
        """Another number whenever a process may stand elsewhere than before."""
        self.notice_losses()
        return self._generation

    def check(self, pid: int, uid: int | None = None) -> Process:
        """The process, if it may be a root; with `uid`, if it is of that user alone.

        Raises UsageError when there is no such process, or it is in a session, or the
        daemon or a session would be inside it.
        """
        chain = chain_of(pid)
        root = chain.processes[0]
        if uid is not None and set(user_ids(pid)) != {uid}:
            raise UsageError(f"process {pid} is not yours")
        if self._judge(chain).place is not MembershipState.OUTSIDE:
            raise UsageError(f"process {root.pid} is in a session already")
        inside = [os.getpid(), *(each.process.pid for each in self.roots())]
        if any(root.key in keys_above(each) for each in inside):
            raise UsageError(
                f"process {root.pid} is an ancestor of the daemon or of a session"
            )
        return root

    def adopt(
        self,
        session: str,
        pid: int,
        reaper: tuple[int, int] | None = None,
        uid: int | None = None,
        *,
        supervises: bool = True,
    ) -> Root:
        """Make process `pid` the root of a session; raises UsageError as `check` does.

        `reaper` is the key of the ancestor that would adopt its orphans. Only a root
        that `supervises` has a supervisor's rights.
        """
        descriptor = open_process(pid)
        try:
            # What is checked now is the process of the descriptor, if that still runs.
            process = self.check(pid, uid)
            if has_exited(descriptor):
                raise UsageError(f"process {pid} has exited")  # noqa: TRY301  # closes
            root = Root(session, process, descriptor, reaper, supervises)
            self._add(root)
        except BaseException:
            os.close(descriptor)
            raise
        return root

    def restore(
        self,
        session: str,
        pid: int,
        start: int,
        reaper: tuple[int, int] | None,
        *,
        supervises: bool,
    ) -> None:
        """Take up a session of before this daemon, lost if its root is not there."""
        descriptor = -1
        with suppress(UsageError):
            descriptor = open_process(pid)
        process = read_process(pid) if descriptor >= 0 else None
        if process is None or process.start != start:
            process = Process(pid, start, 0, SUPERVISOR, State.DEAD)
        self._add(Root(session, process, descriptor, reaper, supervises))

    def _add(self, root: Root) -> None:
        with self._lock:
            self._roots[root.session] = root
            self._forget_memberships()
        if root.descriptor >= 0:
            self._living.register(root.descriptor, select.EPOLLIN | select.EPOLLONESHOT)

    def release(self, session: str) -> None:
        """The session is over: what is left of it is outside from here on."""
        with self._lock:
            root = self._roots.pop(session, None)
            self._forget_memberships()
        if root is not None and root.descriptor >= 0:
            os.close(root.descriptor)

    def roots(self) -> tuple[Root, ...]:
        """The roots of all sessions, lost ones included."""
        with self._lock:
            return tuple(self._roots.values())

    def root(self, session: str) -> Root | None:
        """The root of one session, or None."""
        with self._lock:
            return self._roots.get(session)

    def signal(
        self,
        session: str,
        how: Callable[[Process, int | None], bool],
        by: int | None = None,
    ) -> bool:
        """Whether `how` did what it does to all processes of a session, if any.

        With `by` it touches only what that user may signal.
        """
        root = self.root(session)
        return root is None or root.lost or how(root.process, by)

    def end_left(self, session: str, by: int | None = None) -> bool:
        """End what is left of a session that is lost; whether nothing is any more."""
        root = self.root(session)
        return root is None or not root.lost or end_left(root.process, by)

    def watch(self) -> NoReturn:
        """Notice losses as they happen."""
        while True:
            self._living.poll()
            with suppress(RedlaneError):  # whoever asks next notices as well
                self.notice_losses()

    def membership(self, peer: Peer) -> Membership:
        """Where the process that connected stands, now."""
        while True:
            generation = self._generation
            try:
                chain = self._chain(peer)
            except ProcessUnreadableError as error:
                return Membership(MembershipState.UNKNOWN, reason=str(error))
            # Asked after the walk: had it gone before, the id may be a stranger's.
            if chain is None or not peer.alive:
                return Membership(
                    MembershipState.UNKNOWN, reason="the caller has exited"
                )
            membership = self._judge(chain, peer.uid)
            # A root that died before the walk left its orphans outside of it.
            if self.notice_losses():
                continue
            if self._remember(chain, membership, generation, peer.uid):
                return membership

    def place(self, chain: Ancestry) -> MembershipState:
        """Where a process stands that was looked at earlier."""
        return self._judge(chain).place

    def notice_losses(self) -> bool:
        """Mark the sessions whose root has died; True when there was a new one."""
        with self._lock:
            dead = [each for each in self._roots.values() if each.is_newly_dead]
            for root in dead:
                self._roots[root.session] = replace(root, lost=True)
            if dead:
                self._forget_memberships()
        for root in dead:
            self.on_loss(root.session)
        return bool(dead)

    def _chain(self, peer: Peer) -> Ancestry | None:
        """The peer and its ancestors, up to one of whom all is known already.

        What is above the root of a session is in no other.
        """
        roots = {each.process.key for each in self.roots()}

        def is_known(process: Process) -> bool:
            key = process.key
            return key in roots or (peer.uid, key) in self._remembered

        return ancestry(peer.pid, is_known) if peer.pid else None

    def _forget_memberships(self) -> None:
        self._remembered = {}
        self._generation += 1

    def _remember(
        self, chain: Ancestry, membership: Membership, generation: int, uid: int
    ) -> bool:
        """Keep what was found of the caller; False when it is out of date already.

        A process that is in a session stays in it, and one that is outside stays
        outside, until sessions begin or end. It holds for one user: whose orphans a
        chain may be of depends on that.
        """
        with self._lock:
            if generation != self._generation:
                return False
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            if (
                membership.place in {MembershipState.OUTSIDE, MembershipState.MEMBER}
                and not membership.is_root
            ):
                # What is above a root is not in its session.
                below = takewhile(lambda each: not self._is_root(each), chain.processes)
                self._remembered |= {
                    (uid, each.key): membership
                    for each in below
                    if each.name != SUPERVISOR
                }
        return True

    def _is_root(self, process: Process) -> bool:
        return any(each.process.key == process.key for each in self._roots.values())

    def _judge(self, chain: Ancestry, uid: int | None = None) -> Membership:
        """Where the first of a chain stands; the outermost session wins.

        Without `uid` it may be anybody's.
        """
        roots = self.roots()
        remembered = None
        if uid is not None:
            remembered = self._remembered.get((uid, chain.processes[-1].key))
        if remembered is not None and remembered.place is MembershipState.MEMBER:
            return remembered
        by_key = {each.process.key: each for each in roots}
        for process in reversed(chain.processes):
            itself = process is chain.processes[0]
            its = by_key.get(process.key)
            if its is not None:
                is_root = itself and its.supervises
                return Membership(MembershipState.MEMBER, its.session, is_root=is_root)
            if process.name == SUPERVISOR and (not itself or supervises(process.pid)):
                return Membership(MembershipState.UNKNOWN, reason=_FOREIGN)
        if not chain.complete and roots:
            return Membership(MembershipState.UNKNOWN, reason=_HIDDEN)
        return self._judge_orphan(chain, uid)

    def _judge_orphan(self, chain: Ancestry, uid: int | None) -> Membership:
        """Where one stands that is below the root of no session."""
        for root in self.roots():
            if root.lost and self._may_be_of(uid, root) and may_be_orphan(chain, root):
                return Membership(MembershipState.LOST, root.session)
        if bears_mark(chain.processes[0].pid):
            return Membership(MembershipState.UNKNOWN, reason=_LEFT)
        return Membership(MembershipState.OUTSIDE)

    def _may_be_of(self, uid: int | None, root: Root) -> bool:
        """Whether a process of this user may come from a session.

        One user's lost session must take no rights from others. An id without a name
        may be one of those that a user has besides their own (subuid(5)).
        """
        owner = owner_of(root.session)
        return uid is None or owner in (None, uid) or not self._is_known(uid)
