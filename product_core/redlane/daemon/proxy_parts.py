"""The proxy and its connections, built and joined with the rest of the daemon."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from redlane.contexts.network.authority import Authority, trusted_certificates
from redlane.contexts.network.installed import proxy_command
from redlane.contexts.shell.expansion.acting import Identity, acting_as
from redlane.contexts.traffic import traffic_content
from redlane.daemon.proxy_files import kept_key
from redlane.daemon.proxying import Proxying
from redlane.daemon.rules import Rules
from redlane.daemon.tenancy import Tenancy
from redlane.gate import Gate
from redlane.judging.decided_calls import DecidedCalls
from redlane.judging.proxy_connections import ProxyConnections
from redlane.judging.proxy_service import ProxyService
from redlane.judging.service import JudgingService
from redlane.membership.proxy_tokens import ProxyTokens
from redlane.membership.resolver import MembershipResolver
from redlane.membership.tcp_clients import TcpClients
from redlane.paths import Paths
from redlane.processes import Process
from redlane.state.reviews import Reviews
from redlane.state.sessions import SessionTable

__all__ = ["JudgingContext", "acting", "build_proxying"]


@dataclass(frozen=True, slots=True)
class JudgingContext:
    """What judges, and what is known of sessions."""

    gate: Gate
    table: SessionTable
    membership: MembershipResolver
    reviews: Reviews
    judging: JudgingService
    calls: DecidedCalls = field(default_factory=DecidedCalls)

    def root_of(self, session_id: str) -> Process | None:
        """The process below which all of a session runs, if it has any."""
        root = self.membership.root(session_id)
        return None if root is None else root.process


def acting(user: int, group: int) -> AbstractContextManager[None]:
    """Have this thread look at processes as their user."""
    return acting_as(Identity(user, group))


def build_proxying(
    paths: Paths,
    environ: Mapping[str, str],
    rules: Rules,
    served: Tenancy,
    context: JudgingContext,
    own: Callable[[], Sequence[tuple[str, int]]],
) -> Proxying:
    """Join everything; nothing runs or listens yet.

    Besides its own address the proxy leads nobody to those of `own`.
    """
    tokens = ProxyTokens(kept_key(paths.run))
    service = ProxyService(
        context.judging,
        context.gate,
        context.table,
        tokens,
        traffic_content,
        TcpClients(context.root_of, lambda: proxying.place, acting).comes_from,
        context.calls,
    )
    connections = ProxyConnections(
        service, context.reviews.cancel, served.counted_session
    )
    authority = Authority(paths.authority, trusted_certificates(environ))
    proxying = Proxying(
        paths,
        lambda: rules.loaded,
        authority,
        tokens,
        proxy_command(),
        connections,
        own,
    )
    return proxying
