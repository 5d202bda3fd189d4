"""Every object of the daemon, built once and joined."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redlane.control.app import Collaborators
from redlane.control.rendering import Facts, Rendering
from redlane.daemon.member_parts import build_members
from redlane.daemon.options import Options
from redlane.daemon.own_files import own_files_of
from redlane.daemon.proxy_parts import JudgingContext, build_proxying
from redlane.daemon.proxying import Proxying
from redlane.daemon.reviewing import Reviewing, build_reviewing
from redlane.daemon.rules import Rules
from redlane.daemon.runtime_files import SHIMS, write_timeout
from redlane.daemon.served_contexts import PeersJudge, ServedContexts
from redlane.daemon.tenancy import tenancy
from redlane.gate import Gate
from redlane.judging.leases import Leases
from redlane.judging.member_connections import MemberConnections
from redlane.judging.metrics import Metrics
from redlane.judging.service import JudgingService
from redlane.membership.authentication import Authenticator
from redlane.membership.resolver import MembershipResolver, MembershipState
from redlane.paths import Paths
from redlane.policies.loaded import Loaded
from redlane.processes import Ancestry
from redlane.sessions.changes import Changes
from redlane.sessions.held_calls import HeldCalls
from redlane.sessions.service import SessionService
from redlane.state.concurrency import ConcurrencyLimit
from redlane.state.event_feed import EventFeed
from redlane.state.pins import Pins
from redlane.state.quota_keys import QuotaKey, session_quota_key
from redlane.state.reviews import Reviews
from redlane.state.sessions import DEFAULT_SESSION, SessionState, SessionTable

__all__ = ["Container", "build"]

_LAST_WORDS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Container(Collaborators):
    """The daemon's objects: what the API needs, and what its life touches besides."""

    paths: Paths
    proxying: Proxying
    members: MemberConnections
    served_contexts: ServedContexts
    reviewing: Reviewing

    def restore_sessions(self, starter: Ancestry) -> list[str]:
        """Take up the sessions of a daemon that was killed.

        Those whose supervisor has gone too are over, unless whoever starts this daemon
        may be one of their orphans. Returns what a person should know of it.
        """
        self.sessions.restore()
        self.reviewing.pausing.resume_all()
        lost = [each for each in self.membership.roots() if each.lost]
        if self.membership.place(starter) is not MembershipState.LOST:
            for root in lost:
                self.sessions.kill(root.session)
            return []
        return [
            f"session {each.session} is over, but what it started may still run and "
            "has no rights; end it with: redlane session kill --session "
            f"{each.session}"
            for each in lost
        ]

    def release_waiters(self) -> None:
        """Block what is held, and let readers of events go."""
        self.reviews.close()
        self.events.stop_waiting()
        self.changes.close()

    def close(self) -> None:
        """Leave nothing behind that a next start would take for a killed daemon's."""
        self.leases.revoke_all()
        self.reviewing.webhooks.close(_LAST_WORDS_SECONDS)
        self.events.close()
        running = [e for e in self.table.list() if e.state is SessionState.RUNNING]
        if not any(each.frozen or each.root_pid is not None for each in running):
            _session_file(self.paths).unlink(missing_ok=True)


def build(
    paths: Paths,
    options: Options,
    rules: Rules,
    environ: Mapping[str, str],
    *,
    booted_since: bool,
) -> Container:
    """Join everything; `booted_since`: the machine started after the last daemon."""
    default_role = partial(_default_role, options, rules)
    served = tenancy(is_system=paths.is_system)
    quota_key = served.quota_key or session_quota_key
    kept = _session_file(paths, booted_since=booted_since)
    table = _table(kept, options.role, default_role(), served.quota_key)
    changes = Changes()
    held = HeldCalls(table, lambda: rules.loaded, own_files_of(paths))
    membership, metrics = MembershipResolver(served.knows), Metrics()
    reviews, events = Reviews(quota_key=served.quota_key), EventFeed(paths.logs)
    sessions = _sessions(
        table, membership, reviews, rules, default_role, quota_key, held
    )
    reviewing = build_reviewing(rules, table, membership, reviews, kept)
    gate = _gate(rules, table, events, reviews, quota_key, reviewing)
    judging = JudgingService(gate, metrics)
    context = JudgingContext(gate, table, membership, reviews, judging)
    proxying = build_proxying(paths, environ, rules, served, context, reviewing.own)
    table.on_change = partial(_changed, changes, proxying)
    authenticator = Authenticator(served.admission, membership)
    pins = Pins(paths.pins, knows=served.knows)
    members = build_members(authenticator, sessions, context, rules, served, pins)
    peers = PeersJudge(judging, sessions, served.contents, authenticator)
    served_contexts = ServedContexts(rules.plugins.served, peers, paths.run)
    facts = _facts(paths, options, served_contexts, reviewing)
    return Container(
        paths=paths,
        proxying=proxying,
        proxy=proxying,
        contents=served.contents,
        authenticator=authenticator,
        members=members,
        served_contexts=served_contexts,
        reviewing=reviewing,
        pins=pins,
        counted=served.counted,
        gate=gate,
        judging=judging,
        table=table,
        membership=membership,
        sessions=sessions,
        reviews=reviews,
        events=events,
        metrics=metrics,
        rendering=_rendering(
            facts, rules, default_role, context, sessions, held, proxying
        ),
        held=held,
        leases=_leases(table, rules),
        changes=changes,
        reload=partial(_reload, rules, paths, metrics, changes, proxying, reviewing),
    )


def _leases(table: SessionTable, rules: Rules) -> Leases:
    leases = Leases()
    table.on_session, rules.on_change = leases.revoke, leases.revoke_all
    return leases


def _default_role(options: Options, rules: Rules) -> str | None:
    return options.role or rules.loaded.settings.sevsh.default_role


def _rendering(
    facts: Facts,
    rules: Rules,
    default_role: Callable[[], str | None],
    context: JudgingContext,
    sessions: SessionService,
    held: HeldCalls,
    proxying: Proxying,
) -> Rendering:
    return Rendering(
        facts,
        loaded=lambda: rules.loaded,
        default_role=default_role,
        last_reload=lambda: rules.last_reload,
        table=context.table,
        membership=context.membership,
        reviews=context.reviews,
        roles_of=sessions.roles_of,
        held=held,
        proxy=proxying.status,
    )


def _sessions(
    table: SessionTable,
    membership: MembershipResolver,
    reviews: Reviews,
    rules: Rules,
    default_role: Callable[[], str | None],
    quota_key: QuotaKey,
    held: HeldCalls,
) -> SessionService:
    return SessionService(
        table,
        membership,
        reviews,
        lambda: rules.ruleset,
        default_role,
        lambda: rules.loaded.settings.system.user_roles,
        quota_key,
        held=held,
    )


def _gate(
    rules: Rules,
    table: SessionTable,
    events: EventFeed,
    reviews: Reviews,
    quota_key: QuotaKey,
    reviewing: Reviewing,
) -> Gate:
    gate = Gate(
        lambda: rules.ruleset,
        table,
        events,
        reviews,
        lambda: rules.loaded.settings.review,
        places=ConcurrencyLimit(quota_key=quota_key),
    )
    gate.scan_settings = lambda: rules.loaded.settings.inbound_scan
    gate.holder.consult = reviewing.consult
    return gate


def _facts(
    paths: Paths, options: Options, contexts: ServedContexts, reviewing: Reviewing
) -> Facts:
    return Facts(
        paths.socket,
        paths.run / SHIMS,
        time.time(),
        options.only_roles,
        is_system=paths.is_system,
        contexts=contexts.status,
        problem=lambda: reviewing.answering.problem,
    )


def _changed(changes: Changes, proxying: Proxying) -> None:
    """A session is not what it was."""
    changes.bump()
    proxying.look_again()


def _reload(
    rules: Rules,
    paths: Paths,
    metrics: Metrics,
    changes: Changes,
    proxying: Proxying,
    reviewing: Reviewing,
) -> Loaded:
    """Load again; what is returned is in force if it has no errors."""

    def prepare(fresh: Loaded) -> None:
        proxying.check(fresh.settings)
        write_timeout(paths, fresh.settings)

    fresh = rules.reload(prepare)
    metrics.count_reload(ok=not fresh.errors)
    changes.bump()
    reviewing.answering.refresh()
    proxying.refresh()
    return fresh


def _table(
    kept: Path, asked: str | None, default: str | None, quota_key: QuotaKey | None
) -> SessionTable:
    """The sessions, those included that a killed daemon had.

    The default one gets its role; one from before a kill stays, unless asked for.
    """
    table = SessionTable(
        kept, default_role=default, quota_key=quota_key or (lambda _: "")
    )
    session = table.get(DEFAULT_SESSION)
    if session is not None and (asked or session.role is None):
        table.set_role(DEFAULT_SESSION, asked or default)
    return table


def _session_file(paths: Paths, *, booted_since: bool = False) -> Path:
    """Where sessions are kept; process ids of before a start mean nothing after it."""
    kept = paths.run / "sessions.json"
    if booted_since:
        kept.unlink(missing_ok=True)
    return kept
