"""A line of the daemon's own log for each verdict that stops something.

It is for the journal, where fields can be searched for; content is in the event log
alone, and so are the verdicts that let something pass.
"""

import logging

from redlane.model.verdict import Decision
from redlane.state.event import Event

__all__ = ["VERDICT_LOGGER", "log_verdict"]

VERDICT_LOGGER = "redlane.verdicts"
"""The logger of these lines, which is switched on where there is a journal."""

_TOLD = frozenset({Decision.BLOCK.value, Decision.FLAG.value})

_log = logging.getLogger(VERDICT_LOGGER)


def log_verdict(event: Event) -> None:
    """Log an event, unless it let something pass."""
    if event.verdict not in _TOLD or not _log.isEnabledFor(logging.INFO):
        return
    _log.info(
        "%s of %s in session %s under role %s by policy %s",
        *(event.verdict, event.context, event.session),
        *(event.role or "(none)", event.policy or "(none)"),
        extra={
            "fields": {
                "event": event.id,
                "session": event.session,
                "role": event.role,
                "verdict": event.verdict,
                "policy": event.policy,
                "context": event.context,
                "review": event.review,
            }
        },
    )
