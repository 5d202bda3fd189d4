"""The match type Executable: a program's exit status says whether content matches."""

from collections.abc import Iterable, Iterator, Sequence

from redlane.api import (
    Answer,
    Command,
    Content,
    Context,
    Ending,
    Matcher,
    MatchType,
    Outcome,
    Policy,
    Problem,
    Reader,
    Severity,
    command_problems,
    hookimpl,
    run_all,
    split_command,
)

__all__ = ["ExecutableMatcher", "ExecutableType", "redlane_match_types"]


class ExecutableType:
    """Pipes content to a command: status 0 is a match, any other is none.

    A command that cannot be started, is killed by a signal or does not exit in time
    has FAILED, which forces Block (policy format: Executable).
    """

    name = "Executable"
    contexts = frozenset(Context)
    reader = Reader.CHECKER
    fields: frozenset[str] = frozenset()
    ignores_action = False

    def problems(self, policy: Policy) -> Iterable[Problem]:
        """A pattern that is no command line."""
        if policy.pattern is None:
            return [Problem(Severity.ERROR, "pattern is missing: the command to run")]
        return command_problems(policy.pattern)

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One matcher that runs the commands of all `policies` side by side."""
        return ExecutableMatcher(policies)


class ExecutableMatcher:
    """The commands of many policies, by load order."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        """Split each command line into its words, once."""
        self._commands = sorted(
            (policy.order, split_command(policy.pattern or "")) for policy in policies
        )

    def answers(
        self,
        content: Content,  # noqa: ARG002  # the views hold all that is matched
        views: tuple[bytes, ...],
        before: int,
    ) -> Iterator[Answer]:
        """The policies that match or failed; every view is a run of its own."""
        texts = tuple(dict.fromkeys(views))
        asked = [(order, words) for order, words in self._commands if order < before]
        endings = run_all(
            [Command(words, text) for _, words in asked for text in texts]
        )
        for place, (order, words) in enumerate(asked):
            of_policy = endings[place * len(texts) : (place + 1) * len(texts)]
            answer = _answer(order, words[0], of_policy)
            if answer is not None:
                yield answer


def _answer(order: int, program: str, endings: Iterable[Ending]) -> Answer | None:
    """One policy's answer from its runs: a failure outweighs any match."""
    matched = False
    for ending in endings:
        if ending.failure is not None:
            return Answer(order, Outcome.FAILED, f"{program!r} {ending.failure}")
        matched = matched or ending.status == 0
    return Answer(order, Outcome.YES) if matched else None


@hookimpl
def redlane_match_types() -> Iterable[MatchType]:
    """Offer the match type Executable."""
    return (ExecutableType(),)
