"""Has flagged contents wait: for a person, a jury, or the end of their time."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from redlane.holding import Circumstances, inside_of, lineage, subject_of
from redlane.model.content import Content
from redlane.model.settings import Review as ReviewSettings
from redlane.model.verdict import Verdict
from redlane.state.review import Review, ReviewState
from redlane.state.reviews import Reviews

__all__ = ["Consult", "Held", "Holder"]

Consult = Callable[[Review, ReviewSettings], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Held:
    """What is to be held: the FLAG on contents of a session, and who asked, and how.

    What is not `is_known` whole is never the same as anything else.
    """

    contents: tuple[Content, ...]
    verdict: Verdict
    session: str
    pid: int | None
    around: Circumstances
    is_known: bool = True


class Holder:
    """Parks what is flagged and waits; safe for several threads."""

    def __init__(
        self, reviews: Reviews, settings: Callable[[], ReviewSettings]
    ) -> None:
        """Hold in `reviews`, by the settings that are in force."""
        self._reviews = reviews
        self._settings = settings
        self.consult: Consult = lambda *_: nullcontext()
        """Told of all that is held, as long as it is, and may have it decided."""

    def hold(
        self,
        held: Held,
        stopped: Callable[[], str],
        on_hold: Callable[[Review], None] | None,
    ) -> tuple[Review, bool]:
        """The review once it is over, and whether it was decided for this one.

        `stopped` says why nothing of the session goes on, or "". Raises
        ReviewsFullError.
        """
        earlier = held.around.earlier
        before = None if earlier is None else earlier.find(held.verdict)
        if before is not None and self._reviews.is_counting(before.id):
            return before, False
        review, is_new = self._decided(held, stopped, on_hold)
        if earlier is not None and earlier.keep(held.verdict, review):
            self._reviews.counts_for_more(review.id)
        return review, is_new

    def _decided(
        self,
        held: Held,
        stopped: Callable[[], str],
        on_hold: Callable[[Review], None] | None,
    ) -> tuple[Review, bool]:
        settings = self._settings()
        review = self._park(held, settings)
        if review.state is not ReviewState.WAITING:
            return review, False
        if stopped():
            self._reviews.cancel(review.id)
        try:
            if on_hold is not None:
                on_hold(review)
            with self.consult(review, settings):
                return self._reviews.wait(review), True
        finally:
            self._reviews.release(review.id)

    def _park(self, held: Held, settings: ReviewSettings) -> Review:
        contents, verdict, around = held.contents, held.verdict, held.around
        return self._reviews.park(
            contents[0].data if contents else b"",
            held.session,
            verdict.policy,
            verdict.reason,
            settings.timeout_seconds,
            context=verdict.context,
            details=around.details,
            modified=verdict.content,
            matched=verdict.matched,
            timeout_action=settings.ends_in,
            role=verdict.role,
            cwd=around.cwd,
            pid=held.pid,
            inside=inside_of(contents),
            waits_for=settings.decides.deciders,
            processes=lineage(held.pid),
            subject=subject_of(contents, verdict, held.session, around)
            if held.is_known
            else b"",
        )
