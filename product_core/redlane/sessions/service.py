"""What a person may do to sessions: open, close, change, stop and kill them.

The table says how a session is judged; the membership knows which processes it has.
Both change together here.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from redlane.errors import ForbiddenError, NotFoundError, OverloadedError, UsageError
from redlane.membership.callers import Caller
from redlane.membership.resolver import MembershipResolver
from redlane.membership.roots import key_of
from redlane.membership.trees import continue_tree, kill_tree, members, stop_tree
from redlane.policies.restrictions import Restrictions, parse_restrictions
from redlane.policies.ruleset import RuleSet
from redlane.policies.secrets import Hiding
from redlane.sessions.held_calls import HeldCalls
from redlane.sessions.restoring import restore
from redlane.state.concurrency import ConcurrencyLimit
from redlane.state.owners import owner_of
from redlane.state.quota_keys import QuotaKey, session_quota_key
from redlane.state.reviews import Reviews
from redlane.state.sessions import Bounds, Session, SessionState, SessionTable

__all__ = [
    "MOST_OPEN",
    "Opening",
    "RoleForbiddenError",
    "SessionService",
    "StillRunningError",
    "TooManySessionsError",
    "UnknownRoleError",
]

MOST_OPEN = 64
"""How many sessions one user of the machine's daemon has open at a time."""

MOST_SETS = 8
"""How many unlike sets of restrictions the sessions of one user have at a time."""

_log = logging.getLogger(__name__)


class UnknownRoleError(UsageError):
    """A session cannot have a role that is not loaded."""


class RoleForbiddenError(ForbiddenError):
    """A user cannot take a role that the administrator has not opened to users."""


class TooManySessionsError(OverloadedError):
    """A user has as many sessions as one may."""


class StillRunningError(UsageError):
    """A session cannot be closed while something runs in it."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a new session is to be; `reaper` would adopt orphans of `root_pid`.

    Without `root_pid` no process belongs to it: it is a name to judge under.
    `restrictions` is JSON, still to be looked at; None when there are none.
    `holds_calls`: the root will hold the system calls that the rules name.
    `takes_files`: the kernel lets it take sockets of those whose calls it holds.
    """

    root_pid: int | None = None
    role: str | None = None
    label: str = ""
    reaper: int | None = None
    restrictions: object = None
    holds_calls: bool = False
    takes_files: bool = True


class SessionService:
    """Sessions and their processes, changed together; safe for several threads."""

    def __init__(
        self,
        table: SessionTable,
        membership: MembershipResolver,
        reviews: Reviews,
        rules: Callable[[], RuleSet],
        default_role: Callable[[], str | None],
        user_roles: Callable[[], Collection[str]] = tuple,
        quota_key: QuotaKey = session_quota_key,
        *,
        held: HeldCalls,
    ) -> None:
        """`rules` gives the rules in force, `default_role` the role of new sessions.

        `user_roles` are those that users may take besides; `quota_key` counts them.
        `held` knows whose system calls are held.
        """
        self._held = held
        self._table = table
        self._membership = membership
        self._reviews = reviews
        self._rules = rules
        self._default_role = default_role
        self._user_roles = user_roles
        self._quota_key = quota_key
        self._counting = threading.Lock()
        self._compiling = ConcurrencyLimit(
            quota_key=quota_key, most_at_once=1, most_waiting=3
        )
        self._steering = ConcurrencyLimit(
            quota_key=quota_key, most_at_once=2, most_waiting=2
        )
        membership.on_loss = self.lose

    def open(self, opening: Opening, caller: Caller) -> Session:
        """A new session of the caller's; raises UsageError when there can be none."""
        role = opening.role or self._default_role()
        if role is not None:
            self._check_role(role, caller)
        added = self._restrictions(opening, caller)
        root = opening.root_pid
        process = None
        if root is not None:
            slices = () if added is None else added.slices
            self._held.check_traffic(role, slices)
            self._held.check_opening(
                role,
                slices,
                holds=opening.holds_calls and root == caller.pid,
            )
            if not opening.takes_files:
                self._held.check_sockets(role, slices)
            process = self._membership.check(root, caller.only_of)
        reaper = key_of(opening.reaper)
        with self._counting:
            self._check_number(caller)
            self._check_sets(caller, added)
            session = self._table.create(
                role=role,
                label=opening.label,
                restrictions=added,
                root=None if process is None else (process.pid, process.start),
                reaper=reaper,
                supervised=root == caller.pid,
                owner=caller.owner,
                bounds=self._bounds(opening, role, added),
            )
        if process is None:
            return session
        try:
            self._membership.adopt(
                session.id,
                process.pid,
                reaper,
                caller.only_of,
                supervises=session.supervised,
            )
        except BaseException:
            self._table.end(session.id)
            raise
        return session

    def _bounds(
        self, opening: Opening, role: str | None, added: Restrictions | None
    ) -> Bounds | None:
        """What `redlane-run` holds a new session to."""
        if not opening.holds_calls:
            return None
        slices = () if added is None else added.slices
        return self._held.bounds_by_run(role, slices, takes_files=opening.takes_files)

    def find(self, name: str, caller: Caller) -> Session | None:
        """The session that a caller means, if it is there for that caller."""
        session_id = caller.named(name)
        if not caller.sees(session_id):
            return None
        owner = caller.only_of
        session = self._table.get(session_id)
        if session is None and owner is not None and session_id == caller.default:
            with self._counting:
                self._check_number(caller, is_default=True)
                return self._table.default_of(owner, self._default_role())
        return session

    def roles_of(self, caller: Caller) -> Collection[str]:
        """The roles that a caller may take, of those that are loaded."""
        loaded = self._rules().roles
        if caller.only_of is None:
            return loaded.keys()
        open_to_users = {*self._user_roles(), self._default_role()}
        return [each for each in loaded if each in open_to_users]

    def restore(self) -> None:
        """Know the sessions again that a daemon before this one had."""
        restore(self._table, self._membership, self.kill)

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

    def kill(self, session_id: str, by: int | None = None) -> None:
        """Kill all that runs in a session, and end it.

        With `by`, here and below, only what that user may signal is touched. Raises
        StillRunningError, with the session ended but not forgotten, when something
        cannot be killed: it gets nothing but Blocks.
        """
        with self._turn(session_id, by):
            self._table.end(session_id)
            self._reviews.cancel_session(session_id)
            if not (
                self._membership.signal(session_id, kill_tree, by)
                and self._membership.end_left(session_id, by)
            ):
                raise StillRunningError(
                    f"session {session_id} has ended, but some of its processes could "
                    "not be killed"
                )
            self._membership.release(session_id)
            self._table.let_go(session_id)

    def freeze(self, session_id: str, by: int | None = None) -> Session:
        """Block all that a session asks, and stop its processes."""
        with self._turn(session_id, by):
            frozen = self._table.freeze(session_id)
            self._reviews.cancel_session(session_id)
            if not self._membership.signal(session_id, stop_tree, by):
                _log.warning("session %s: not all processes stopped", session_id)
            return frozen

    def unfreeze(self, session_id: str, by: int | None = None) -> Session:
        """Let a session's processes go on, judged again."""
        with self._turn(session_id, by):
            unfrozen = self._table.unfreeze(session_id)
            if not self._membership.signal(session_id, continue_tree, by):
                _log.warning("session %s: not all processes go on", session_id)
            return unfrozen

    def set_role(self, session_id: str, role: str, caller: Caller) -> Session:
        """Judge a session under another role from now on."""
        self._check_role(role, caller)
        session = self._table.get(session_id)
        if session is not None:
            self._held.check_role(session, role)
            if session.root_pid is not None:
                self._held.check_traffic(role)
        return self._table.set_role(session_id, role)

    def hiding(self, session: Session) -> Hiding:
        """What the session's role hides from it."""
        return self._held.hiding(session)

    def allow_write(self, session: Session, path: str, caller: Caller) -> Session:
        """Let a session change files below a path, beyond what its role says."""
        if caller.only_of is not None:  # the role is an administrator's
            raise ForbiddenError("only an administrator widens what a role allows")
        self._held.check_widening(session, path)
        _log.info("session %s may change files below %s now", session.id, path)
        return self._table.allow_write(session.id, path)

    def lose(self, session_id: str) -> None:
        """The supervisor of a session died without closing it: it is ended, too."""
        _log.warning("session %s: its supervisor was killed", session_id)
        self._table.keep(session_id)
        self._table.end(session_id)
        self._reviews.cancel_session(session_id)
        if not self._membership.end_left(session_id, owner_of(session_id)):
            _log.warning("session %s: some of its processes still run", session_id)

    @contextmanager
    def _turn(self, session_id: str, by: int | None) -> Iterator[None]:
        """A user's turn to signal processes: trees that fork on take seconds."""
        if by is None:
            yield
            return
        with self._steering.one(session_id) as free:
            if not free:
                raise TooManySessionsError(
                    "too many of your sessions are being frozen or killed: try again"
                )
            yield

    def _restrictions(self, opening: Opening, caller: Caller) -> Restrictions | None:
        """What a user adds to the role; raises RestrictionsError. None adds nothing.

        A user has one turn at a time: compiling must not take every thread there is.
        """
        if opening.restrictions is None:
            return None
        types = self._rules().match_types
        with self._compiling.one(caller.default) as free:
            if not free:
                raise TooManySessionsError(
                    "too many sessions with restrictions are being opened: try again"
                )
            restrictions = parse_restrictions(opening.restrictions, types)
        return restrictions if restrictions.types else None

    def _check_sets(self, caller: Caller, added: Restrictions | None) -> None:
        """Refuse a user's set of restrictions that is one too many."""
        if caller.only_of is None or added is None:
            return
        quota_key = self._quota_key(caller.default)
        kept = {
            each.restrictions
            for each in self._table.list()
            if each.state is SessionState.RUNNING
            and self._quota_key(each.id) == quota_key
        }
        if len(kept - {None, added.digest}) >= MOST_SETS:
            raise TooManySessionsError(
                f"your sessions have {MOST_SETS} different sets of restrictions already"
                ": end one (redlane session kill --session ID)"
            )

    def _check_number(self, caller: Caller, *, is_default: bool = False) -> None:
        """Refuse a user who has enough; to be called with the lock of counting."""
        if caller.only_of is None:
            return
        quota_key = self._quota_key(caller.default)
        running = sum(
            each.state is SessionState.RUNNING
            and each.is_default == is_default
            and self._quota_key(each.id) == quota_key
            for each in self._table.list()
        )
        if running >= MOST_OPEN:
            raise TooManySessionsError(
                f"{MOST_OPEN} sessions of yours are open already: end one "
                "(redlane session kill --session ID)"
            )

    def session_for(
        self, caller: Caller, named: str | None = None, role: str | None = None
    ) -> Session:
        """The session that a caller asks for, by default its own; under a `role`.

        Raises ForbiddenError for another's session or role, NotFoundError for none's.
        """
        own = caller.default if caller.is_outside else caller.membership.session
        wanted = named or own
        if not caller.is_outside and wanted != own:
            raise ForbiddenError(
                f"a process inside session {own} asks for that one only"
            )
        session = self.find(wanted, caller) if wanted else None
        if session is None:
            raise NotFoundError(f"there is no session {wanted!r}")
        if role in (None, session.role):
            return session
        if not caller.is_outside:
            raise ForbiddenError(
                f"a process inside session {own} is judged by its role"
            )
        if caller.only_of is not None and role is not None:
            self.check_role(role, caller)
        return session

    def check_role(self, role: str, caller: Caller) -> None:
        """Refuse a role that the caller may not take, or that is not loaded."""
        if caller.only_of is not None and role not in self.roles_of(caller):
            allowed = ", ".join(sorted(self.roles_of(caller))) or "none"
            raise RoleForbiddenError(
                f"role {role!r} is not one that users may take (they may: {allowed}; "
                "setting system.user_roles)"
            )
        if role not in self._rules().roles:
            raise UnknownRoleError(f"there is no role {role!r} (see: redlane status)")

    def _check_role(self, role: str, caller: Caller) -> None:
        """Compile the role, so that the first verdict need not wait for it."""
        self.check_role(role, caller)
        if self._rules().rules(role) is None:
            raise UnknownRoleError(f"there is no role {role!r} (see: redlane status)")

    def _end(self, session_id: str) -> None:
        self._table.end(session_id)
        self._reviews.cancel_session(session_id)
        self._membership.release(session_id)
