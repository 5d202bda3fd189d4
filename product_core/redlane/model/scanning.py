"""How much of what comes back classifiers score (policy format: Inbound scanning)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from redlane.model.settings import InboundScan
from redlane.model.verdict import Decision, Verdict

__all__ = [
    "OVERSIZE_DECISIONS",
    "SEGMENT_CHARACTERS",
    "ScanLimit",
    "declared",
    "limited_scan",
    "scan_limit",
    "scan_limit_of",
]

OVERSIZE_DECISIONS = {
    "block": Decision.BLOCK,
    "flag": Decision.FLAG,
    "allow": Decision.ALLOW,
}
"""What `oversize_action` says of content that is not looked at whole."""

SEGMENT_CHARACTERS = 7_000
"""How long a segment of extracted text is: three make about 21 KB."""

_limit: ContextVar["ScanLimit | None"] = ContextVar("scan_limit", default=None)


@dataclass(frozen=True, slots=True)
class ScanLimit:
    """So many segments of text are scored, for so long: what is left is declared."""

    segments: int
    seconds: float

    @property
    def characters(self) -> int:
        """The same in characters."""
        return self.segments * SEGMENT_CHARACTERS


def declared(verdict: Verdict, settings: InboundScan) -> Verdict:
    """The verdict, or a Block, whose reason tells what was not scored."""
    if not verdict.unscored:
        return verdict
    if OVERSIZE_DECISIONS[settings.oversize_action] is not Decision.BLOCK:
        return replace(verdict, reason=f"{verdict.reason}; {verdict.unscored}")
    return Verdict(
        Decision.BLOCK,
        f"{verdict.unscored} (inbound_scan.oversize_action)",
        role=verdict.role,
        context=verdict.context,
        ruleset=verdict.ruleset,
        unscored=verdict.unscored,
    )


def scan_limit_of(settings: InboundScan) -> ScanLimit:
    """What the settings allow."""
    return ScanLimit(settings.max_segments, settings.budget_ms / 1000)


@contextmanager
def limited_scan(limit: ScanLimit) -> Iterator[None]:
    """Let a limit hold as long as the block lasts, for what comes back."""
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def scan_limit() -> ScanLimit | None:
    """The limit that holds for what is judged in context Inbound, if there is one."""
    return _limit.get()
