"""The Syscall context: a session's system calls, judged (policy format: Syscall)."""

from collections.abc import Iterable

from redlane.api import ContextService, hookimpl

__all__ = ["redlane_contexts"]


@hookimpl
def redlane_contexts() -> Iterable[ContextService]:
    """The one context of this plugin.

    It is imported when asked for: commands that only list plugins stay quick.
    """
    from redlane_context_syscall.service import SyscallContext  # noqa: PLC0415

    return [SyscallContext()]
