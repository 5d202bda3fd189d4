"""A gate and all that it stands on, in a directory of its own."""

from dataclasses import dataclass, field
from pathlib import Path

from redlane.gate import Gate, Judgement
from redlane.model.content import TextContent
from redlane.model.policy import Context
from redlane.model.settings import Review as ReviewSettings
from redlane.policies.ruleset import RuleSet
from redlane.state.concurrency import ConcurrencyLimit
from redlane.state.event import Event
from redlane.state.events import EventLog
from redlane.state.history import Filter, History
from redlane.state.review import Review
from redlane.state.reviews import Reviews
from redlane.state.sessions import DEFAULT_SESSION, Session, SessionTable


def content(text: str = "some bad text") -> TextContent:
    return TextContent(Context.NETWORK, text.encode())


@dataclass
class Bench:
    """A gate and all that it stands on, in one directory."""

    directory: Path
    ruleset: RuleSet
    settings: ReviewSettings = field(default_factory=ReviewSettings)

    def __post_init__(self) -> None:
        self.sessions = SessionTable(self.directory / "s.json", default_role="r")
        self.reviews = Reviews()
        self.logs = self.directory / "logs"
        self.places = ConcurrencyLimit(longest_wait=0.05)
        self.gate = Gate(
            lambda: self.ruleset,
            self.sessions,
            EventLog(self.logs),
            self.reviews,
            lambda: self.settings,
            places=self.places,
        )

    @property
    def session(self) -> Session:
        found = self.sessions.get(DEFAULT_SESSION)
        assert found is not None
        return found

    def decide(self, text: str = "some bad text", **more: bool) -> Judgement:
        return self.gate.decide(content(text), self.session, **more)  # type: ignore[arg-type]  # only `hold` is given

    def deciding(self, decision: str) -> Judgement:
        """Decide a flagged content while the gate holds it."""

        def on_hold(review: Review) -> None:
            self.reviews.decide(review.id, decision, by="alice", note="seen")

        return self.gate.decide(content(), self.session, on_hold=on_hold)

    def events(self) -> list[Event]:
        return History(self.logs).read(Filter())
