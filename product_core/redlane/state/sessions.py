"""Sessions: which processes are judged under which role.

The table is written to a small file at every change, so that a daemon that was killed
knows the live sessions again when it starts: a kill must not loosen a role or a freeze.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from redlane.errors import UsageError
from redlane.model.matching import MatchType
from redlane.policies.restrictions import Restrictions
from redlane.state.clock import iso_time
from redlane.state.owners import (
    DEFAULT_SESSION,
    default_session,
    is_default,
    new_id,
    owner_of,
)
from redlane.state.quota_keys import QuotaKey
from redlane.state.restriction_store import RestrictionStore, Slices
from redlane.state.session_file import load_records, save_records

__all__ = ["DEFAULT_SESSION", "Bounds", "Session", "SessionState", "SessionTable"]

MOST_ENDED = 100
"""How many ended sessions stay in the list, of each share, and how many of those of
which something may still run."""


class SessionState(StrEnum):
    """Whether a session's processes may still ask."""

    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Session:
    """One session as it is now.

    `root_pid` and `root_started` (clock ticks since boot, from /proc/PID/stat) name
    the process that all its processes descend from; the default session has none.
    `reaper_pid` and `reaper_started` name the one that would adopt its orphans.
    """

    id: str
    role: str | None = None
    label: str = ""
    created: str = ""
    root_pid: int | None = None
    root_started: int | None = None
    frozen: bool = False
    paused: bool = False
    """Whether it is frozen only as long as something of it is held."""
    state: SessionState = SessionState.RUNNING
    restrictions: str | None = None
    """The digest of what a user added to the role: it stays as it is to the end."""
    reaper_pid: int | None = None
    reaper_started: int | None = None
    supervised: bool = True
    """Whether the root opened the session itself, as `redlane run` does."""
    filtered: tuple[str, ...] | None = None
    """The system calls that its processes' filter stops; None: they have no filter."""
    sandboxes: bool = False
    """Whether it may be in new namespaces."""
    places: bool = False
    """Whether that filter stops whatever changes files."""
    placed: tuple[str, ...] | None = None
    """Where its role let it write as it began, if `redlane-run` holds it to that."""
    concealed: tuple[str, ...] | None = None
    """What its role hid from it as it began, if `redlane-run` does that."""
    by_proxy: bool = False
    """Whether `redlane-run` keeps it from leaving this machine but by the proxy."""
    allowed: tuple[str, ...] = ()
    """Canonical paths where a person lets it change files, beside its role."""

    @property
    def owner(self) -> int | None:
        """The user whose session it is; None on a daemon of one user."""
        return owner_of(self.id)

    @property
    def is_default(self) -> bool:
        """Whether it is of processes that are in no other, and has no end."""
        return is_default(self.id)


@dataclass(frozen=True, slots=True)
class Bounds:
    """To what `redlane-run` holds a session: fields of `Session`."""

    placed: tuple[str, ...] | None
    concealed: tuple[str, ...] | None
    sandboxes: bool
    by_proxy: bool


class SessionTable:
    """Every session by id; safe for several threads.

    `problem` tells what was wrong with the file when it was loaded, `unsaved` why the
    last change could not be written to it.
    """

    def __init__(
        self,
        file: Path,
        *,
        default_role: str | None = None,
        clock: Callable[[], float] = time.time,
        unique: Callable[[], str] = lambda: os.urandom(12).hex(),
        quota_key: QuotaKey = lambda _: "",
    ) -> None:
        """Load what a killed daemon left; `default_role` is for sessions made here."""
        self._file = file
        self._default_role = default_role
        self._clock = clock
        self._unique = unique
        self._quota_key = quota_key
        self._lock = threading.Lock()
        self.unsaved: str | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called after each change; must not wait, nor ask this table."""
        self.on_session: Callable[[str], None] = lambda _: None
        """Told of the session that has just changed; likewise."""
        self._restrictions = RestrictionStore(file.with_name("restrictions"))
        records, self.problem = load_records(file)
        self._sessions: dict[str, Session] = {}
        self._kept: set[str] = set()
        self._take(records)
        if DEFAULT_SESSION not in self._sessions:
            self._sessions[DEFAULT_SESSION] = self._made(DEFAULT_SESSION, default_role)
        self._restrictions.clear_files(_restrictions_of(self._sessions.values()))

    def create(
        self,
        *,
        role: str | None = None,
        label: str = "",
        root: tuple[int, int] | None = None,
        reaper: tuple[int, int] | None = None,
        supervised: bool = True,
        restrictions: Restrictions | None = None,
        owner: int | None = None,
        bounds: Bounds | None = None,
    ) -> Session:
        """A new running session; without `role` it gets the default one.

        `root` is the key of the process that it all descends from, `reaper` of the one
        that would adopt its orphans; `supervised` tells that the root is a supervisor,
        and `bounds` to what it holds the session.
        """
        with self._lock:
            if restrictions is not None:
                self._restrictions.put(restrictions)
            made = replace(
                self._made(new_id(self._unique(), owner), role or self._default_role),
                label=label,
                root_pid=None if root is None else root[0],
                root_started=None if root is None else root[1],
                reaper_pid=None if reaper is None else reaper[0],
                reaper_started=None if reaper is None else reaper[1],
                supervised=supervised,
                restrictions=None if restrictions is None else restrictions.digest,
                **({} if bounds is None else asdict(bounds)),
            )
            self._put(made)
            return made

    def default_of(self, owner: int, role: str | None) -> Session:
        """The session of what a user runs in no other, made when it is first asked."""
        with self._lock:
            session_id = default_session(owner)
            if session_id not in self._sessions:
                self._put(self._made(session_id, role))
            return self._sessions[session_id]

    def get(self, session_id: str) -> Session | None:
        """The session as it is now, or None."""
        return self._sessions.get(session_id)

    def restrictions(self, session: Session, types: Mapping[str, MatchType]) -> Slices:
        """What a user added to the session's role; `types` are those in force.

        Raises RedlaneError when it cannot be had: then nothing may go on.
        """
        if session.restrictions is None:
            return ()
        return self._restrictions.rules(session.restrictions, types)

    def list(self) -> tuple[Session, ...]:
        """Every session, oldest first."""
        with self._lock:
            return tuple(self._sessions.values())

    def set_role(self, session_id: str, role: str | None) -> Session:
        """Judge the session under another role from now on."""
        return self._change(session_id, role=role)

    def freeze(self, session_id: str) -> Session:
        """Block everything that the session asks until it is unfrozen."""
        return self._change(session_id, frozen=True, paused=False)

    def pause(self, session_id: str) -> bool:
        """Freeze it until `resume`; whether it ran, and was not frozen already."""
        with self._lock:
            session = self._sessions.get(session_id)
            runs = session is not None and session.state is SessionState.RUNNING
            if session is None or not runs or session.frozen:
                return False
            self._put(replace(session, frozen=True, paused=True))
            return True

    def resume(self, session_id: str) -> bool:
        """Unfreeze what `pause` froze, unless a person has frozen it since."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None or not session.paused:
                return False
            self._put(replace(session, frozen=False, paused=False))
            return session.state is SessionState.RUNNING

    def unfreeze(self, session_id: str) -> Session:
        """Judge what the session asks again."""
        return self._change(session_id, frozen=False, paused=False)

    def set_filter(
        self,
        session_id: str,
        names: Iterable[str],
        *,
        sandboxes: bool,
        places: bool = False,
    ) -> Session:
        """Know what the filter of the session's processes stops."""
        filtered = tuple(sorted(set(names)))
        return self._change(
            session_id, filtered=filtered, sandboxes=sandboxes, places=places
        )

    def allow_write(self, session_id: str, path: str) -> Session:
        """Let the session change files below a canonical path, to its end."""
        session = self.get(session_id)
        allowed = () if session is None else session.allowed
        return self._change(session_id, allowed=tuple(dict.fromkeys((*allowed, path))))

    def end(self, session_id: str) -> Session:
        """Block everything that the session asks for good; the default cannot end."""
        if is_default(session_id):
            raise UsageError("the default session cannot be ended; freeze it instead")
        return self._change(session_id, state=SessionState.ENDED)

    def keep(self, session_id: str) -> None:
        """Have an ended session stay in the list: some of its processes may still run.

        Whoever wants to end those has to find it.
        """
        with self._lock:
            self._kept.add(session_id)

    def let_go(self, session_id: str) -> None:
        """An ended session stays in the list no longer than others."""
        with self._lock:
            self._kept.discard(session_id)

    def _made(self, session_id: str, role: str | None) -> Session:
        return Session(session_id, role, created=iso_time(self._clock()))

    def _take(self, records: Iterable[dict[str, Any]]) -> None:
        for record in records:
            names = (each.name for each in fields(Session) if each.name in record)
            known = {name: record[name] for name in names}
            known["state"] = SessionState(known["state"])
            for name in ("filtered", "placed", "concealed", "allowed"):
                if known.get(name) is not None:
                    known[name] = tuple(known[name])
            self._sessions[known["id"]] = Session(**known)

    def _change(self, session_id: str, **changes: Any) -> Session:  # noqa: ANN401  # fields of Session
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                raise UsageError(f"there is no session {session_id!r}")
            if session.state is SessionState.ENDED and "state" not in changes:
                raise UsageError(f"session {session_id!r} has ended")
            changed = replace(session, **changes)
            self._put(changed)
            return changed

    def _put(self, session: Session) -> None:
        """Let the change count, then write it down."""
        sessions = {**self._sessions, session.id: session}
        ended = [
            each
            for each in sessions.values()
            if each.state is SessionState.ENDED
            and self._quota_key(each.id) == self._quota_key(session.id)
        ]
        for is_kept in (False, True):
            alike = [each for each in ended if (each.id in self._kept) is is_kept]
            for old in alike[: max(0, len(alike) - MOST_ENDED)]:
                self._kept.discard(old.id)
                del sessions[old.id]
        self._sessions = sessions
        self.on_session(session.id)
        self._save()
        self._restrictions.keep_only(_restrictions_of(sessions.values()))
        self.on_change()

    def _save(self) -> None:
        """Write the table down; when that fails, leave no older one behind.

        Whoever fills the disk must not keep a person from freezing or killing it, so
        this never raises. A daemon after this one takes sessions that it does not find
        in the file for strangers, which get nothing.
        """
        try:
            save_records(self._file, map(asdict, self._sessions.values()))
        except OSError as error:
            self.unsaved = (
                f"{self._file}: the sessions cannot be saved ({error.strerror}): "
                "should the daemon be killed, the next one will not know them"
            )
            with suppress(OSError):
                self._file.unlink()
        else:
            self.unsaved = None


def _restrictions_of(sessions: Iterable[Session]) -> frozenset[str]:
    """The digests that sessions need which still run."""
    running = (each for each in sessions if each.state is SessionState.RUNNING)
    return frozenset(each.restrictions for each in running if each.restrictions)
