"""What is known of sessions whose system calls are judged in their own supervisor.

The supervisor gets the rules from here, and says what its filter stops and how firmly
each system call is held.
"""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from os.path import normpath

from redlane.engine.own_files import OwnFiles
from redlane.errors import RedlaneError, UsageError
from redlane.gate import why_stopped
from redlane.model.policy import Policy, Role
from redlane.model.supervision import Coverage
from redlane.policies.loaded import Loaded
from redlane.policies.policy_document import document_of
from redlane.policies.ruleset import RoleRules
from redlane.policies.secrets import Hiding
from redlane.policies.syscalls import takes_part
from redlane.policies.traffic import is_asked, named_traffic
from redlane.state.boundary import landlock_version, not_held, why_not_whole
from redlane.state.filters import listed, names_of, why_not_held
from redlane.state.sessions import Bounds, Session, SessionState, SessionTable

__all__ = ["CallsNotHeldError", "HeldCalls", "TrafficNotJudgedError"]

_NO_FILES_TAKEN = (
    "that needs pidfd_getfd, which a filter around this machine refuses: start the "
    "container with --cap-add=SYS_PTRACE (docker, podman) or "
    "--system-call-filter=pidfd_getfd (systemd-nspawn), or take a role without it"
)
_MOST_ALLOWED = 100
"""How many places a person may let one session write to, beside its role's."""

Document = Mapping[str, object]


class CallsNotHeldError(UsageError):
    """The system calls that rules name cannot be held in a session."""


class TrafficNotJudgedError(UsageError):
    """What a session would send and get back, nothing here could judge."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """What applies to the system calls of one session, as policies."""

    named: Mapping[str, bool]
    policies: tuple[Policy, ...]
    restrictions: tuple[Policy, ...]
    problem: str


class HeldCalls:
    """The rules and the coverage of sessions; safe for several threads."""

    def __init__(
        self, table: SessionTable, loaded: Callable[[], Loaded], own_files: OwnFiles
    ) -> None:
        """Read the sessions of `table`, under what is `loaded`.

        `own_files` are the daemon's, which no session may change.
        """
        self.own_files = own_files
        """What no session may change."""
        self._table = table
        self._loaded = loaded
        self._lock = threading.Lock()
        self._coverage: dict[str, tuple[Coverage, ...]] = {}

    def check_opening(
        self, role: str | None, restrictions: Collection[RoleRules], *, holds: bool
    ) -> None:
        """Refuse a session with processes that nobody would hold as its role wants."""
        loaded = self._loaded()
        found = loaded.ruleset.roles.get(role or "")
        if found is not None and found.wants_whole_boundary:
            missing = why_not_whole()
            if missing:
                raise CallsNotHeldError(
                    f"role {role!r} wants the whole boundary, and {missing}; a role "
                    "of your own may leave `boundary` out"
                )
        slices = tuple(restrictions)
        guarded = self._why_guarded(role, slices)
        names = guarded or self._why_bound(role)
        if not names:
            return
        if guarded and found is not None and found.leaves_by_proxy:
            raise CallsNotHeldError(
                f"{names}, whose plugin does not keep a session from leaving past the "
                "proxy, as its `egress` says: it cannot have both"
            )
        if guarded and loaded.missing_context is not None:
            raise CallsNotHeldError(
                f"{names}, and nothing holds them: {loaded.missing_context}"
            )
        if not holds:
            raise CallsNotHeldError(
                f"{names}: only `redlane run`, without --boundary none, holds its "
                "sessions to that"
            )

    def check_sockets(
        self, role: str | None, restrictions: Collection[RoleRules]
    ) -> None:
        """Refuse a role by which `redlane-run` connects its callers' sockets.

        For where the kernel does not let it take them.
        """
        bounds = self.bounds_by_run(role, restrictions, takes_files=False)
        if bounds is None or not (bounds.concealed or bounds.by_proxy):
            return
        what = "hides files from" if bounds.concealed else "leads connections of"
        raise CallsNotHeldError(f"role {role!r} {what} its sessions: {_NO_FILES_TAKEN}")

    def bounds_by_run(
        self,
        role: str | None,
        restrictions: Collection[RoleRules] = (),
        *,
        takes_files: bool = True,
    ) -> Bounds | None:
        """To what `redlane-run` holds sessions of a role, where no guard does.

        Where it `takes_files` of its callers, it leads what is asked about requests.
        """
        found = self._loaded().ruleset.roles.get(role or "")
        slices = tuple(restrictions)
        if found is None or self._why_guarded(role, slices):
            return None
        leaves_by_proxy = found.leaves_by_proxy
        if leaves_by_proxy is None:
            leaves_by_proxy = takes_files and self._is_asked(found, slices)
        if not (found.is_bound or leaves_by_proxy):
            return None
        return Bounds(
            found.writable,
            found.hidden or None,
            found.namespaces or not found.is_held_by_run,
            leaves_by_proxy,
        )

    def _is_asked(self, role: Role, restrictions: tuple[RoleRules, ...]) -> bool:
        """Whether requests of its sessions are to be judged, and there is a proxy."""
        loaded = self._loaded()
        is_there = loaded.missing_proxy is None
        return is_there and is_asked(loaded.ruleset, role, restrictions)

    def _why_bound(self, role: str | None) -> str:
        """What a role says that has to be held, beside system calls, or ""."""
        found = self._loaded().ruleset.roles.get(role or "")
        if found is None:
            return ""
        if found.writable is not None:
            return f"role {role!r} tells where its sessions may write"
        if found.hidden:
            return f"role {role!r} hides files from its sessions"
        if found.leaves_by_proxy:
            return f"role {role!r} has its sessions leave by the proxy alone"
        return f"role {role!r} wants a boundary" if found.wants_whole_boundary else ""

    def _why_guarded(
        self, role: str | None, restrictions: tuple[RoleRules, ...] = ()
    ) -> str:
        """What a role says that a guard has to hold, or ""."""
        named = names_of(self._loaded().ruleset, role, restrictions)
        if not named:
            return ""
        return f"role {role!r} names system calls ({listed(sorted(named))})"

    def check_traffic(
        self, role: str | None, restrictions: Collection[RoleRules] = ()
    ) -> None:
        """Refuse a session whose policies of Network or Inbound nobody would ask."""
        loaded = self._loaded()
        if loaded.missing_proxy is None:
            return
        found = loaded.ruleset.roles.get(role or "")
        if found is not None and found.leaves_by_proxy:
            raise TrafficNotJudgedError(
                f"role {role!r} has its sessions leave by the proxy alone, and "
                f"{loaded.missing_proxy}"
            )
        named = named_traffic(loaded.ruleset, role, restrictions)
        if named:
            raise TrafficNotJudgedError(
                f"role {role!r} holds policies about requests and responses "
                f"({listed(named)}), and nothing asks them: {loaded.missing_proxy}"
            )

    def needs_session(self, role: str) -> bool:
        """Whether a shell that is in no session is to have one.

        Its role names system calls, or wants the whole boundary; or it tells where
        sessions may write or read, and lets them into no other namespaces.
        """
        found = self._loaded().ruleset.roles.get(role)
        is_strict = found is not None and (
            found.wants_whole_boundary
            or (found.is_held_by_run and not found.namespaces)
        )
        return is_strict or bool(self._why_guarded(role))

    def check_role(self, session: Session, role: str) -> None:
        """Refuse a role that names more than the filter of a session stops."""
        ruleset = self._loaded().ruleset
        problem = why_not_held(replace(session, role=role), ruleset)
        if problem:
            raise CallsNotHeldError(f"role {role!r} is not for this session: {problem}")

    def hiding(self, session: Session) -> Hiding:
        """What the session's role hides from it."""
        role = self._role(session)
        return Hiding(() if role is None else role.hidden, session.root_pid)

    def check_widening(self, session: Session, path: str) -> None:
        """Refuse to let a session write somewhere where that would change nothing."""
        role = self._role(session)
        if not path.startswith("/") or "\0" in path or normpath(path) != path:
            raise UsageError(f"{path!r} is no canonical path")
        if session.root_pid is None:
            raise UsageError("the default session has no processes of its own")
        if role is None or role.writable is None:
            raise UsageError(
                f"role {session.role!r} does not say where its sessions may write: "
                f"session {session.id} may do so wherever its user may"
            )
        if len(session.allowed) >= _MOST_ALLOWED and path not in session.allowed:
            raise UsageError(f"{_MOST_ALLOWED} places are allowed to it already")

    def put(self, session: Session, coverage: tuple[Coverage, ...]) -> None:
        """Keep how each system call of a session is held."""
        running = {each.id for each in self._table.list() if _runs(each)}
        with self._lock:
            self._coverage[session.id] = coverage
            for gone in self._coverage.keys() - running:
                del self._coverage[gone]

    def shown(self, session: Session) -> Document:
        """What a person is told of a session's system calls."""
        rules = self._rules(session)
        coverage = self._coverage.get(session.id, ())
        return {
            "named": sorted(rules.named),
            "guarded": bool(rules.named),
            "namespaces": _lets_into_namespaces(self._role(session), rules),
            "writable": _writable(self._role(session)),
            "allowed": list(session.allowed),
            "hidden": _hidden(self._role(session)),
            "egress": _egress(session, self._role(session)),
            "boundary": _boundary(self._role(session)),
            "not_held": _not_held(session),
            "filtered": None if session.filtered is None else list(session.filtered),
            "problem": (rules.problem or None) if _runs(session) else None,
            "coverage": [
                {
                    "syscall": each.syscall,
                    "enforcement": each.enforcement.value,
                    "by": each.by,
                    "reason": each.reason,
                }
                for each in coverage
            ],
        }

    def problem(self, session: Session) -> str:
        """Why the rules of a session cannot be enforced on its processes, or ""."""
        return self._rules(session).problem

    def rules(self, session_id: str) -> Document:
        """What the supervisor of a session judges by; `generation` tells it apart.

        With a `reason` everything is refused.
        """
        session = self._table.get(session_id)
        document = self._document(session) if session else {"reason": why_stopped(None)}
        text = json.dumps(document, sort_keys=True).encode()
        generation = hashlib.sha256(text).hexdigest()[:32]
        return {
            "generation": generation,
            **document,
            "known": session_id in self._coverage,
            "daemon": os.getpid(),
            "own_files": asdict(self.own_files),
        }

    def _document(self, session: Session) -> Document:
        loaded = self._loaded()
        rules = self._rules(session)
        role = self._role(session)
        return {
            "role": session.role,
            "ruleset": loaded.ruleset.digest,
            "policies": [{**document_of(e), "order": e.order} for e in rules.policies],
            "restrictions": [document_of(each) for each in rules.restrictions],
            "frozen": session.frozen,
            "options": {
                "namespaces": role is not None and role.namespaces,
                "ebpf": role is not None and role.ebpf,
                "writable": _writable(role),
                "allowed": list(session.allowed),
                "hidden": _hidden(role),
            },
            "timeout_seconds": loaded.settings.sevsh.validation_timeout_seconds,
            "reason": _why_refused(session, rules, is_loaded=role is not None),
        }

    def _role(self, session: Session) -> Role | None:
        return self._loaded().ruleset.roles.get(session.role or "")

    def _rules(self, session: Session) -> _Rules:
        """The policies of a session that are about system calls."""
        ruleset = self._loaded().ruleset
        try:
            added = self._table.restrictions(session, ruleset.match_types)
        except RedlaneError as error:
            return _Rules({}, (), (), str(error))
        named = names_of(ruleset, session.role, added)
        rules = ruleset.rules(session.role) if session.role is not None else None
        of_role = () if rules is None else tuple(rules.policies.values())
        of_user = tuple(each for part in added for each in part.policies.values())
        types = ruleset.match_types
        return _Rules(
            named,
            tuple(each for each in of_role if takes_part(each, types)),
            tuple(each for each in of_user if takes_part(each, types)),
            why_not_held(session, ruleset, added),
        )


def _writable(role: Role | None) -> list[str] | None:
    if role is None or role.writable is None:
        return None
    return list(role.writable)


def _lets_into_namespaces(role: Role | None, rules: _Rules) -> bool:
    if role is None:
        return False
    return role.namespaces or not (role.is_held_by_run or rules.named)


def _egress(session: Session, role: Role | None) -> str:
    wants_proxy = role is not None and role.leaves_by_proxy
    return "proxy" if session.by_proxy or wants_proxy else "any"


def _boundary(role: Role | None) -> str:
    return "whole" if role is not None and role.wants_whole_boundary else "any"


def _not_held(session: Session) -> list[str]:
    """What the kernel does not keep the processes of a session from."""
    return [] if session.root_pid is None else list(not_held(landlock_version()))


def _hidden(role: Role | None) -> list[str]:
    return [] if role is None else list(role.hidden)


def _runs(session: Session) -> bool:
    return session.state is SessionState.RUNNING


def _why_refused(session: Session, rules: _Rules, *, is_loaded: bool) -> str:
    """Why everything is refused, or "" when it is judged."""
    stopped = why_stopped(session)
    if stopped:
        return stopped
    if session.role is None:
        return "no role is set, and without a role everything is blocked"
    if not is_loaded:
        return f"there is no role {session.role!r}"
    # Before the filter is there, nothing runs that it could miss.
    return rules.problem if session.filtered is not None else ""
