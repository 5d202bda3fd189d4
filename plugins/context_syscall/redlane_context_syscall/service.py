"""The Syscall context as Redlane sees it: what holds here, and a guard a session."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from redlane.api import Coverage, GuardOptions, Judge, Policy, Problem, Severity
from redlane_context_syscall.kernel.features import Features

if TYPE_CHECKING:
    from redlane_context_syscall.guard import SessionGuard

__all__ = ["SyscallContext"]


class SyscallContext:
    """Guards sessions whose role names system calls.

    What guards is imported when a session is to be guarded: checking policies is quick.
    """

    name = "Syscall"

    def __init__(self, features: Features | None = None) -> None:
        """`features`: what the kernel offers, this one's by default."""
        self._features = features or Features.of_this_kernel()

    def problems(self, policy: Policy) -> Iterable[Problem]:
        """A path filter is refused where paths cannot be looked at (Linux 5.6)."""
        if self._features.resolves or not _looks_at_paths(policy):
            return
        version = "{}.{}".format(*self._features.version)
        yield Problem(
            Severity.ERROR,
            f"path filters need Linux 5.6 or newer, and this is {version}",
        )

    def coverage(self, named: Mapping[str, bool]) -> tuple[Coverage, ...]:
        """How a guard would enforce the calls named."""
        from redlane_context_syscall.coverage import coverage  # noqa: PLC0415

        return coverage(named, self._features)

    def guard(self, judge: Judge, options: GuardOptions) -> "SessionGuard":
        """A guard for one session; raises OSError where the kernel lacks the means."""
        from redlane_context_syscall.guard import SessionGuard  # noqa: PLC0415

        return SessionGuard(judge, options, self._features)


def _looks_at_paths(policy: Policy) -> bool:
    """Whether a policy of this context filters by path, not by name alone."""
    if policy.type == "Simple":
        return bool(policy.syscalls and policy.pattern)
    return True
