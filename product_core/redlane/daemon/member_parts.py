"""The lanes of members, built and joined with the rest of the daemon."""

from redlane.contexts.inbound.message import MessageContent
from redlane.contexts.mcp.content import ToolCallContent
from redlane.control.access import Door
from redlane.control.member_desk import MemberDesk, Messages, Pieces
from redlane.control.member_lanes import MemberLanes
from redlane.control.pin_desk import PinDesk
from redlane.control.session_control import SessionControl
from redlane.daemon.proxy_parts import Bench
from redlane.daemon.rules import Rules
from redlane.daemon.tenancy import Tenancy
from redlane.model.content import Content
from redlane.state.pins import Pins

__all__ = ["build_members"]


def build_members(
    door: Door,
    sessions: SessionControl,
    bench: Bench,
    rules: Rules,
    served: Tenancy,
    pins: Pins,
) -> MemberLanes:
    """Join everything; nothing is served yet."""

    def is_scanned() -> bool:
        return rules.loaded.settings.inbound_scan.enabled

    messages = Messages(ToolCallContent.from_json, _message, is_scanned)
    compared = PinDesk(pins, bench.gate)
    desk = MemberDesk(door, sessions, bench.gate, bench.metrics, messages, compared)
    cancel = bench.reviews.cancel
    return MemberLanes(desk, cancel, served.counted, served.counted_session)


def _message(
    values: tuple[bytes, ...], texts: tuple[bytes, ...]
) -> tuple[Content, Pieces]:
    content = MessageContent(values, texts)
    return content, content
