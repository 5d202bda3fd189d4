"""Small match types that answer as a policy's pattern says, and rules made of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from redlane.model.content import Content, Reader
from redlane.model.matching import Answer, MatchType, Outcome
from redlane.model.policy import Action, Context, Policy, Role, Transform, TransformType
from redlane.model.problem import Problem
from redlane.policies.ruleset import RuleSet

BAD_ORDER = 10_000


@dataclass
class SampleMatcher:
    """Answers `WORD`, `OUTCOME:WORD`, `raise` and `stray`; counts who was asked."""

    policies: Sequence[Policy]
    asked: list[str]

    def answers(
        self,
        content: Content,  # noqa: ARG002  # these look at the texts only
        views: tuple[bytes, ...],
        before: int,
    ) -> Iterator[Answer]:
        for policy in self.policies:
            if policy.order >= before:
                return
            self.asked.append(policy.id)
            outcome, _, word = (policy.pattern or "").rpartition(":")
            if not any(word.encode() in view for view in views):
                continue
            if outcome == "raise":
                raise ZeroDivisionError(policy.id)
            if outcome == "leave":
                raise SystemExit(0)
            if outcome == "stray":
                yield Answer(BAD_ORDER, Outcome.YES)
            else:
                yield Answer(policy.order, Outcome(outcome or "yes"), "sample")


@dataclass
class SampleType:
    """A match type of these tests."""

    name: str
    reader: Reader = Reader.PATTERN
    ignores_action: bool = False
    contexts: frozenset[Context] = frozenset(Context)
    fields: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)

    def problems(self, policy: Policy) -> Iterable[Problem]:  # noqa: ARG002  # none ever
        return ()

    def compile(self, policies: Sequence[Policy]) -> SampleMatcher:
        return SampleMatcher(policies, self.asked)


def sample_types() -> dict[str, MatchType]:
    types: list[MatchType] = [
        SampleType("Word"),
        SampleType("Check", Reader.CHECKER),
        SampleType("OtherCheck", Reader.CHECKER),
        SampleType("Lane", Reader.CHECKER, ignores_action=True),
    ]
    return {each.name: each for each in types}


STAR = Transform(TransformType.REGEX, pattern="bad", replacement="*")


def policy(
    name: str,
    action: str,
    pattern: str,
    match_type: str = "Word",
    *,
    context: Context = Context.ALL,
    transform: Transform | None = None,
    reason: str | None = None,
    kill: bool = False,
) -> Policy:
    """A policy; its place in load order comes from where it stands in `rules`."""
    if transform is None and action == "Modify":
        transform = STAR
    return Policy(
        id=name,
        type=match_type,
        action=Action(action),
        pattern=pattern,
        context=context,
        transform=transform,
        reason=reason,
        kill=kill,
    )


def rules(
    *policies: Policy, types: dict[str, MatchType] | None = None, role: str = "r"
) -> RuleSet:
    """A rule set whose only role has all the policies."""
    ordered = [numbered(each, place) for place, each in enumerate(policies)]
    names = tuple(each.id for each in policies)
    return RuleSet(ordered, [Role(role, names)], types or sample_types(), "digest")


def numbered(one: Policy, order: int) -> Policy:
    fields = {name: getattr(one, name) for name in one.__slots__}
    return Policy(**{**fields, "order": order})
