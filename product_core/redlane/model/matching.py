"""The seam between engine and match types: what is asked, and how it is answered."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from redlane.model.content import Content, Reader
from redlane.model.field import Field
from redlane.model.policy import Context, Policy
from redlane.model.problem import Problem

__all__ = [
    "Answer",
    "MatchType",
    "Matcher",
    "Outcome",
    "Preparation",
    "PreparedMatchType",
]


class Outcome(StrEnum):
    """How one policy answers; a policy that says nothing did not match.

    BLOCK and FLAG are the lanes of classifiers, whose action is ignored. PARTLY means
    that so much as was scored is in neither, and that more is there (`reason`). FAILED
    means that the policy could not be asked: it forces Block, whatever its action.
    """

    YES = "yes"
    BLOCK = "block"
    FLAG = "flag"
    PARTLY = "partly"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the policy whose `order` is given; `reason` says why it FAILED.

    Where it decides, the verdict and its event tell `score` and `details` as well, what
    is too long or of another form left out. They decide nothing themselves.
    """

    order: int
    outcome: Outcome
    reason: str = ""
    score: float | None = None
    details: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


class Matcher(Protocol):
    """Many policies of one match type and one action, compiled into one object.

    Called by several threads at once.
    """

    def answers(
        self, content: Content, views: tuple[bytes, ...], before: int
    ) -> Iterable[Answer]:
        """The policies that match any of `views`, lowest order first.

        Only orders below `before` can still change the verdict: others need not be
        asked. The caller stops early where it can, so answer lazily if asking is dear.
        """
        ...


class _Described(Protocol):
    """What every match type says of itself."""

    @property
    def name(self) -> str:
        """What policies write in `type`."""
        ...

    @property
    def contexts(self) -> frozenset[Context]:
        """The contexts in which its policies can match; a text type says all six."""
        ...

    @property
    def reader(self) -> Reader:
        """Which texts its policies see, and whether asking them can fail."""
        ...

    @property
    def fields(self) -> Collection[str | Field]:
        """Policy fields beyond the policy format's own, found in `Policy.options`.

        A `Field` is checked before `problems` is asked, stands in the JSON Schema, and
        has its default when it is absent; of a mere name nothing is known.
        """
        ...

    @property
    def ignores_action(self) -> bool:
        """True for classifiers: they answer BLOCK or FLAG, and `action` is ignored."""
        ...

    def problems(self, policy: Policy) -> Iterable[Problem]:
        """Everything wrong with one policy of this type; never an exception."""
        ...


class MatchType(_Described, Protocol):
    """A way of matching, as a plugin offers it."""

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One matcher for all `policies`, which had no error among their problems."""
        ...


class Preparation(Protocol):
    """A match type that is ready: its settings are known, its model is loaded."""

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One matcher for all `policies`, which had no error among their problems."""
        ...

    def close(self) -> None:
        """Let go of everything: no matcher of it is asked any more."""
        ...


class PreparedMatchType(_Described, Protocol):
    """A match type with settings, or with something to load once: a model.

    It has no say in context Syscall, whose policies are judged in other processes.
    """

    @property
    def settings(self) -> Collection[Field]:
        """What settings.json may say of it, in `plugins` under its name."""
        ...

    def prepare(self, settings: Mapping[str, object]) -> Preparation:
        """Get ready, once for each load in which a policy needs it; may raise.

        `settings` holds each of its settings that is given or has a default.
        """
        ...
