"""The proxy and its lanes, built and joined with the rest of the daemon."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from redlane.contexts.network.authority import Authority, trusted_certificates
from redlane.contexts.network.installed import proxy_command
from redlane.contexts.shell.acting import Identity, acting_as
from redlane.contexts.traffic import traffic_content
from redlane.control.membership import Membership
from redlane.control.metrics import Metrics
from redlane.control.processes import Process
from redlane.control.proxy_desk import ProxyDesk
from redlane.control.proxy_lanes import ProxyLanes
from redlane.control.proxy_tokens import ProxyTokens
from redlane.control.tcp_clients import TcpClients
from redlane.daemon.proxy_files import kept_key
from redlane.daemon.proxying import Proxying
from redlane.daemon.rules import Rules
from redlane.daemon.tenancy import Tenancy
from redlane.gate import Gate
from redlane.paths import Paths
from redlane.state.reviews import Reviews
from redlane.state.sessions import SessionTable

__all__ = ["Bench", "build_proxying"]


@dataclass(frozen=True, slots=True)
class Bench:
    """What judges, and what is known of sessions."""

    gate: Gate
    table: SessionTable
    membership: Membership
    reviews: Reviews
    metrics: Metrics

    def root_of(self, session_id: str) -> Process | None:
        """The process below which all of a session runs, if it has any."""
        root = self.membership.root(session_id)
        return None if root is None else root.process


def _acting(user: int, group: int) -> AbstractContextManager[None]:
    """Have this thread look at processes as their user."""
    return acting_as(Identity(user, group))


def build_proxying(
    paths: Paths,
    environ: Mapping[str, str],
    rules: Rules,
    served: Tenancy,
    bench: Bench,
) -> Proxying:
    """Join everything; nothing runs or listens yet."""
    tokens = ProxyTokens(kept_key(paths.run))
    desk = ProxyDesk(
        bench.gate,
        bench.table,
        tokens,
        traffic_content,
        bench.metrics,
        TcpClients(bench.root_of, _acting).comes_from,
    )
    lanes = ProxyLanes(desk, bench.reviews.cancel, served.counted_session)
    authority = Authority(paths.authority, trusted_certificates(environ))
    return Proxying(
        paths, lambda: rules.loaded, authority, tokens, proxy_command(), lanes
    )
