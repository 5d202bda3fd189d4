"""A Syscall context for tests: it finds nothing wrong, and enforces nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from redlane.model.policy import Policy
from redlane.model.problem import Problem
from redlane.model.supervision import Coverage, Enforcement, Guard, GuardOptions, Judge

__all__ = ["SampleContext"]


@dataclass
class SampleContext:
    """Answers with the problems that it was given, for each policy that it is shown."""

    found: tuple[Problem, ...] = ()
    shown: list[str] = field(default_factory=list)
    name: str = "Syscall"

    def problems(self, policy: Policy) -> Iterable[Problem]:
        self.shown.append(policy.id)
        return self.found

    def coverage(self, named: Mapping[str, bool]) -> tuple[Coverage, ...]:
        return tuple(
            Coverage(name, Enforcement.ADVISORY, "a test") for name in sorted(named)
        )

    def guard(
        self,
        judge: Judge,  # noqa: ARG002  # it has none to give
        options: GuardOptions,  # noqa: ARG002  # as above
    ) -> Guard:
        raise OSError("there is no guard")
