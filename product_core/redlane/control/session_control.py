"""What a person may do to sessions: open, close, change, stop and kill them.

The table says how a session is judged; the membership knows which processes it has.
Both change together here.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from redlane.control.membership import Membership
from redlane.control.trees import continue_tree, kill_tree, members, stop_tree
from redlane.errors import UsageError
from redlane.policies.restrictions import Restrictions, parse_restrictions
from redlane.policies.ruleset import RuleSet
from redlane.state.reviews import Reviews
from redlane.state.sessions import Session, SessionState, SessionTable

__all__ = ["Opening", "SessionControl", "StillRunningError", "UnknownRoleError"]

_log = logging.getLogger(__name__)


class UnknownRoleError(UsageError):
    """A session cannot have a role that is not loaded."""


class StillRunningError(UsageError):
    """A session cannot be closed while something runs in it."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a new session is to be; `reaper` would adopt orphans of `root_pid`.

    Without `root_pid` no process belongs to it: it is a name to judge under.
    `restrictions` is JSON, still to be looked at; None when there are none.
    """

    root_pid: int | None = None
    role: str | None = None
    label: str = ""
    reaper: int | None = None
    restrictions: object = None


class SessionControl:
    """Sessions and their processes, changed together; safe for several threads."""

    def __init__(
        self,
        table: SessionTable,
        membership: Membership,
        reviews: Reviews,
        rules: Callable[[], RuleSet],
        default_role: Callable[[], str | None],
    ) -> None:
        """`rules` gives the rules in force, `default_role` the role of new sessions."""
        self._table = table
        self._membership = membership
        self._reviews = reviews
        self._rules = rules
        self._default_role = default_role
        membership.on_loss = self.lose

    def open(self, opening: Opening) -> Session:
        """A new session; raises UsageError when its root cannot be one."""
        role = opening.role or self._default_role()
        if role is not None:
            self._check_role(role)
        if opening.root_pid is None:
            added = self._restrictions(opening)
            return self._table.create(
                role=role, label=opening.label, restrictions=added
            )
        process = self._membership.check(opening.root_pid)
        session = self._table.create(
            role=role,
            label=opening.label,
            restrictions=self._restrictions(opening),
            root_pid=process.pid,
            root_started=process.start,
        )
        try:
            self._membership.adopt(session.id, process.pid, opening.reaper)
        except BaseException:
            self._table.end(session.id)
            raise
        return session

    def restore(self) -> None:
        """Know the sessions again that a daemon before this one had."""
        for session in self._table.list():
            if session.root_pid is None or session.state is not SessionState.RUNNING:
                continue
            start = session.root_started or 0
            self._membership.restore(session.id, session.root_pid, start)
        self._membership.notice_losses()

    def close(self, session_id: str) -> None:
        """End a session whose processes have all gone, its supervisor left out.

        Raises StillRunningError while there are others: they would be free.
        """
        root = self._membership.root(session_id)
        if root is not None and not root.lost:
            left = members(root.process)
            if left:
                raise StillRunningError(
                    f"{len(left)} processes of session {session_id} still run"
                )
        self._end(session_id)

    def kill(self, session_id: str) -> None:
        """Kill all that runs in a session, and end it.

        Raises StillRunningError, with the session ended but not forgotten, when
        something cannot be killed: it gets nothing but Blocks.
        """
        root = self._membership.root(session_id)
        self._table.end(session_id)
        self._reviews.cancel_session(session_id)
        if root is not None and not root.lost and not kill_tree(root.process):
            raise StillRunningError(
                f"session {session_id} has ended, but some of its processes could not "
                "be killed"
            )
        self._membership.release(session_id)

    def freeze(self, session_id: str) -> Session:
        """Block all that a session asks, and stop its processes."""
        frozen = self._table.freeze(session_id)
        self._reviews.cancel_session(session_id)
        root = self._membership.root(session_id)
        if root is not None and not root.lost and not stop_tree(root.process):
            _log.warning("session %s: not all processes could be stopped", session_id)
        return frozen

    def unfreeze(self, session_id: str) -> Session:
        """Let a session's processes go on, judged again."""
        unfrozen = self._table.unfreeze(session_id)
        root = self._membership.root(session_id)
        if root is not None and not root.lost and not continue_tree(root.process):
            _log.warning("session %s: not all processes go on", session_id)
        return unfrozen

    def set_role(self, session_id: str, role: str) -> Session:
        """Judge a session under another role from now on."""
        self._check_role(role)
        return self._table.set_role(session_id, role)

    def lose(self, session_id: str) -> None:
        """The supervisor of a session died without closing it: it gets only Blocks."""
        _log.warning("session %s: its supervisor was killed", session_id)
        self._table.end(session_id)
        self._reviews.cancel_session(session_id)

    def _restrictions(self, opening: Opening) -> Restrictions | None:
        """What a user adds to the role; raises RestrictionsError. None adds nothing."""
        if opening.restrictions is None:
            return None
        types = self._rules().match_types
        restrictions = parse_restrictions(opening.restrictions, types)
        return restrictions if restrictions.types else None

    def _check_role(self, role: str) -> None:
        """Compile the role, so that the first verdict need not wait for it."""
        if self._rules().rules(role) is None:
            raise UnknownRoleError(f"there is no role {role!r} (see: redlane status)")

    def _end(self, session_id: str) -> None:
        self._table.end(session_id)
        self._reviews.cancel_session(session_id)
        self._membership.release(session_id)
