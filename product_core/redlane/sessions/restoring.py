"""Sessions that a daemon before this one had."""

from collections.abc import Callable
from contextlib import suppress

from redlane.errors import UsageError
from redlane.membership.resolver import MembershipResolver
from redlane.membership.roots import key_of
from redlane.state.sessions import Session, SessionState, SessionTable

__all__ = ["restore"]


def restore(
    table: SessionTable, membership: MembershipResolver, kill: Callable[[str], None]
) -> None:
    """Have `membership` know them again.

    One that the daemon was killed at ending is ended now by `kill`: it stands still.
    """
    unfinished = []
    for session in table.list():
        start = session.root_started or 0
        if session.root_pid is None:
            continue
        if session.state is not SessionState.RUNNING:
            if key_of(session.root_pid) != (session.root_pid, start):
                continue
            unfinished.append(session.id)
        membership.restore(
            session.id,
            session.root_pid,
            start,
            _reaper_of(session),
            supervises=session.supervised,
        )
    membership.notice_losses()
    for each in unfinished:
        with suppress(UsageError):
            kill(each)


def _reaper_of(session: Session) -> tuple[int, int] | None:
    """The key of the process that would adopt a session's orphans, if it is known."""
    if session.reaper_pid is None or session.reaper_started is None:
        return None
    return session.reaper_pid, session.reaper_started
