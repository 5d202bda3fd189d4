"""Freezes a session as long as something of it is held, where its role says so."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from weakref import WeakValueDictionary

from redlane.errors import RedlaneError
from redlane.membership.resolver import MembershipResolver
from redlane.membership.trees import continue_tree, stop_tree
from redlane.policies.ruleset import RuleSet
from redlane.processes import Process
from redlane.state.owners import owner_of
from redlane.state.review import Review
from redlane.state.sessions import SessionTable

__all__ = ["Pausing"]

_log = logging.getLogger(__name__)


class _Turn:
    """How much of one session is held; whoever changes that does so in turn.

    To stop all processes of a session may take seconds, and others need not wait.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held = 0
        self.frozen = ExitStack()


class Pausing:
    """What is frozen for what is held of it; safe for several threads.

    A session that a person freezes or unfreezes meanwhile is left as they want it.
    """

    def __init__(
        self,
        table: SessionTable,
        membership: MembershipResolver,
        rules: Callable[[], RuleSet],
        resumed: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Nothing is held yet.

        Within `resumed` what is paused goes on even if this process is killed.
        """
        self._table = table
        self._membership = membership
        self._rules = rules
        self._resumed = resumed
        self._lock = threading.Lock()
        self._turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()

    @contextmanager
    def until_decided(self, review: Review) -> Iterator[None]:
        """Freeze the session of a review within the block, if its role wants that."""
        role = self._rules().roles.get(review.role or "")
        if role is None or not role.freeze_on_flag:
            yield
            return
        with self._lock:
            turn = self._turns.setdefault(review.session, _Turn())
        try:
            with turn.lock:
                turn.held += 1
                if turn.held == 1 and self._table.pause(review.session):
                    self._freeze(review.session, turn.frozen)
            yield
        finally:
            with turn.lock:
                turn.held -= 1
                if not turn.held:
                    self._resume(review.session)
                    turn.frozen.close()

    def resume_all(self) -> None:
        """Let go on what a daemon before this one had frozen for what it held."""
        for session in self._table.list():
            self._resume(session.id)

    def _freeze(self, session_id: str, frozen: ExitStack) -> None:
        try:
            frozen.enter_context(self._resumed())
        except OSError as error:
            _log.warning(
                "session %s: %s: it stays frozen if the daemon is killed",
                session_id,
                error,
            )
        self._signal(session_id, stop_tree)

    def _resume(self, session_id: str) -> None:
        if not self._table.resume(session_id):
            return
        self._signal(session_id, continue_tree)
        session = self._table.get(session_id)
        if session is not None and session.frozen:  # a person has, meanwhile
            self._signal(session_id, stop_tree)

    def _signal(
        self, session_id: str, how: Callable[[Process, int | None], bool]
    ) -> None:
        """Stop or continue its processes; what fails at that is only told."""
        done = False
        with suppress(RedlaneError):
            done = self._membership.signal(session_id, how, owner_of(session_id))
        if not done:
            _log.warning("session %s: not all processes were signalled", session_id)
