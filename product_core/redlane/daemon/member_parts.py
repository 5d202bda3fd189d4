"""The connections of members, built and joined with the rest of the daemon."""

from dataclasses import dataclass

from redlane.contexts.inbound.message import MessageContent
from redlane.contexts.mcp.content import ToolCallContent
from redlane.daemon.proxy_parts import JudgingContext
from redlane.daemon.rules import Rules
from redlane.daemon.tenancy import Tenancy
from redlane.judging.member_connections import MemberConnections
from redlane.judging.member_service import MemberService, Pieces
from redlane.judging.pin_service import PinService
from redlane.membership.authentication import Authenticator
from redlane.model.content import Content
from redlane.sessions.service import SessionService
from redlane.state.pins import Pins

__all__ = ["build_members"]


def build_members(
    authenticator: Authenticator,
    sessions: SessionService,
    context: JudgingContext,
    rules: Rules,
    served: Tenancy,
    pins: Pins,
) -> MemberConnections:
    """Join everything; nothing is served yet."""
    messages = _Messages(rules)
    compared = PinService(pins, context.gate)
    service = MemberService(
        authenticator,
        sessions,
        context.judging,
        context.gate,
        messages,
        compared,
        context.calls,
    )
    cancel = context.reviews.cancel
    return MemberConnections(service, cancel, served.counted, served.counted_session)


@dataclass(frozen=True, slots=True)
class _Messages:
    """How MCP's messages become content."""

    rules: Rules

    def call(self, data: bytes) -> Content:
        return ToolCallContent.from_json(data)

    def message(
        self, values: tuple[bytes, ...], texts: tuple[bytes, ...]
    ) -> tuple[Content, Pieces]:
        content = MessageContent(values, texts)
        return content, content

    def is_scanned(self) -> bool:
        return self.rules.loaded.settings.inbound_scan.enabled
