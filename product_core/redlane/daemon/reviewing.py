"""What becomes of what is held: who is told, who is asked, and what waits meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redlane.daemon.answering import Answering
from redlane.daemon.proxy_parts import acting
from redlane.daemon.rules import Rules
from redlane.jury import Jury
from redlane.membership.resolver import MembershipResolver
from redlane.membership.tcp_callers import TcpCallers
from redlane.model.settings import Review as ReviewSettings
from redlane.sessions.pausing import Pausing
from redlane.sessions.resuming import resumed_if_killed
from redlane.state.review import Review
from redlane.state.reviews import Reviews
from redlane.state.sessions import SessionTable
from redlane.webhook import Webhooks

__all__ = ["Reviewing", "build_reviewing"]


@dataclass(frozen=True, slots=True)
class Reviewing:
    """The parts, joined; a person decides by the control API besides."""

    jury: Jury
    webhooks: Webhooks
    answering: Answering
    pausing: Pausing

    def own(self) -> tuple[tuple[str, int], ...]:
        """Hosts and ports where reviews are answered: no session is led there."""
        return self.answering.own()

    @contextmanager
    def consult(self, review: Review, settings: ReviewSettings) -> Iterator[None]:
        """Have a review known to a webhook and a jury, as long as it is held."""
        with (
            self.webhooks.told(review),
            self.pausing.until_decided(review),
            self.jury.ask(review, settings),
        ):
            yield


def build_reviewing(
    rules: Rules,
    table: SessionTable,
    membership: MembershipResolver,
    reviews: Reviews,
    sessions: Path,
) -> Reviewing:
    """Join everything; nothing listens yet. The table is kept in `sessions`."""

    def settings() -> ReviewSettings:
        return rules.loaded.settings.review

    is_outside = TcpCallers(membership, acting).is_outside
    answering = Answering(reviews, settings, is_outside)
    return Reviewing(
        Jury(lambda: rules.ruleset.match_types, reviews),
        Webhooks(reviews, settings, link=answering.links.link),
        answering,
        Pausing(
            table,
            membership,
            lambda: rules.ruleset,
            partial(resumed_if_killed, sessions),
        ),
    )
