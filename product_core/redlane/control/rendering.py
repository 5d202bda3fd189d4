"""How sessions and the daemon itself are shown: one place for API and command line."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from redlane import __version__
from redlane.control.documents import finding_document
from redlane.membership.callers import Caller
from redlane.membership.resolver import MembershipResolver
from redlane.model.problem import Finding
from redlane.policies.loaded import Loaded
from redlane.sessions.held_calls import HeldCalls
from redlane.state.boundary import landlock_version, not_held
from redlane.state.clock import iso_time
from redlane.state.reviews import Reviews
from redlane.state.sessions import Session, SessionState, SessionTable

__all__ = ["Facts", "Rendering"]

Document = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change while the daemon runs.

    `contexts` tells those that plugins serve, and how each is; `problem` what else a
    person should know, or "".
    """

    socket: Path
    shims: Path
    started: float
    only_roles: tuple[str, ...] | None = None
    is_system: bool = False
    contexts: Callable[[], Mapping[str, str]] = dict
    problem: Callable[[], str] = str


@dataclass(frozen=True, slots=True)
class Rendering:
    """Makes documents of what the daemon has; `last_reload` is seconds since 1970."""

    facts: Facts
    loaded: Callable[[], Loaded]
    default_role: Callable[[], str | None]
    last_reload: Callable[[], float | None]
    table: SessionTable
    membership: MembershipResolver
    reviews: Reviews
    roles_of: Callable[[Caller], Collection[str]]
    held: HeldCalls
    proxy: Callable[[], Document]

    def session(self, session: Session) -> Document:
        """One session; `role_loaded` is false when its role is gone: all is blocked."""
        return {
            "id": session.id,
            "default": session.is_default,
            "role": session.role,
            "role_loaded": self._is_loaded(session.role),
            "state": self._state(session),
            "frozen": session.frozen,
            "restricted": session.restrictions is not None,
            "syscalls": self.held.shown(session),
            "label": session.label,
            "created": session.created,
            "root_pid": session.root_pid,
            "socket": str(self.facts.socket),
            "shims": str(self.facts.shims),
        }

    def status(self, caller: Caller) -> Document:
        """The daemon as it is now; nothing in it is of sessions not the caller's."""
        self.membership.notice_losses()
        loaded = self.loaded()
        reload = self.last_reload()
        seen = [each for each in self.table.list() if caller.sees(each.id)]
        shown = [each for each in seen if self._state(each) != "ended"]
        only = self.facts.only_roles
        is_user = caller.only_of is not None
        return {
            "running": True,
            "daemon": "system" if self.facts.is_system else "user",
            "administrator": not is_user,
            "pid": os.getpid(),
            "version": __version__,
            "socket": str(self.facts.socket),
            "started": iso_time(self.facts.started),
            "uptime_seconds": round(time.time() - self.facts.started, 1),
            "policies": len(loaded.ruleset.policies),
            "roles": len(loaded.ruleset.roles),
            "role_names": sorted(self.roles_of(caller)),
            "only_roles": None if only is None else list(only),
            "default_role": self.default_role(),
            "ruleset": loaded.ruleset.digest,
            "sessions": [self.session(each) for each in shown],
            "proxy": self.proxy(),
            "contexts": self.facts.contexts(),
            "boundary": {
                "landlock": landlock_version(),
                "not_held": list(not_held(landlock_version())),
                "own_files": list(self.held.own_files.every),
            },
            "held_reviews": sum(caller.sees(e.session) for e in self.reviews.list()),
            "warnings": self._blocked(seen)
            if is_user
            else self.warnings(loaded.warnings),
            "last_reload": None if reload is None else iso_time(reload),
        }

    def running_sessions(self) -> int:
        """How many sessions are running, the default one included."""
        return sum(_counts(each) for each in self.table.list())

    def reload(self, loaded: Loaded) -> Document:
        """What a reload that took effect came to."""
        return {
            "policies": len(loaded.ruleset.policies),
            "roles": len(loaded.ruleset.roles),
            "warnings": self.warnings(loaded.warnings),
        }

    def warnings(self, findings: tuple[Finding, ...]) -> list[Document]:
        """Warnings of the load, and of sessions in which everything is blocked."""
        documents = [finding_document(each) for each in findings]
        of_table = (self.table.problem, self.table.unsaved, self.facts.problem())
        documents += [_warning("", each) for each in of_table if each]
        return documents + self._blocked(self.table.list())

    def _blocked(self, sessions: Iterable[Session]) -> list[Document]:
        running = [each for each in sessions if _counts(each)]
        blocked = [each for each in running if not self._is_loaded(each.role)]
        problems = ((each, self.held.problem(each)) for each in running)
        return [
            *(_warning(each.id, _blocked(each)) for each in blocked),
            *(
                _warning(each.id, f"everything is blocked in it: {problem}")
                for each, problem in problems
                if problem
            ),
        ]

    def _is_loaded(self, role: str | None) -> bool:
        return role is not None and role in self.loaded().ruleset.roles

    def _state(self, session: Session) -> str:
        root = self.membership.root(session.id)
        if root is not None and root.lost:
            return "lost"
        if session.frozen and session.state is SessionState.RUNNING:
            return "frozen"
        return session.state.value


def _counts(session: Session) -> bool:
    return session.state is SessionState.RUNNING


def _warning(subject: str, message: str) -> Document:
    return {"file": "", "subject": subject, "message": message}


def _blocked(session: Session) -> str:
    if session.role is None:
        return (
            f"session {session.id} has no role: everything is blocked in it "
            "(see: redlane session set-role)"
        )
    return (
        f"session {session.id} has role {session.role!r}, which is not loaded: "
        "everything is blocked in it"
    )
