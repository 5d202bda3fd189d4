"""Holds the system calls of a session, from before its first program to its end."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from redlane.contexts.syscall.judge import SessionJudge
from redlane.contexts.syscall.launching import Launch
from redlane.contexts.syscall.link import Link
from redlane.engine.boundary import fail_closed
from redlane.model.supervision import ContextService, Coverage, GuardOptions

__all__ = ["Supervision"]

_CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")


class Supervision:
    """A guard at work, and the link by which the daemon knows of it."""

    def __init__(
        self,
        service: ContextService,
        link: Link,
        session: str,
        launch: Launch,
        *,
        is_shell: bool = False,
    ) -> None:
        """Have a guard made for the rules as they are; raises what the guard raises.

        By `launch` the agent will be started, and every program is seen after it; it
        may be a shell (`is_shell`).
        """
        rules = link.rules
        self._link = link
        self._launch = launch
        self._filtered = sorted(rules.named)
        self._namespaces = rules.namespaces
        self._places = bool(rules.places)
        self.is_coreless = bool(rules.hidden) or (self._places and _leaves_cores())
        """Whether the agent is to be started with no room for a core file, for good."""
        options = GuardOptions(
            session,
            rules.namespaces,
            rules.ebpf,
            starts=launch,
            places=self._places,
            is_shell=is_shell,
            coreless=self.is_coreless,
        )
        self._guard = service.guard(SessionJudge(link), options)
        self.is_held = True
        """Whether the guard is still at work; False once it has told of its loss."""

    def start(self, launcher: int, on_loss: Callable[[str], None]) -> None:
        """Have the agent started under the filter, and let it go on.

        `launcher` is the process that does so. Before the agent runs, its calls are
        answered and the daemon knows how. Raises LaunchError, RedlaneError, and what
        the guard raises.
        """

        def lose(reason: str) -> None:
            self.is_held = False
            on_loss(reason)

        protected = {os.getpid(), launcher, self._link.rules.daemon} - {0}
        code = self._guard.program(launcher, frozenset(protected))
        self._guard.serve(self._launch.listener(code), lose)
        self._link.announce(self._description)
        self._link.start()
        self._launch.go_on()

    def stop(self) -> None:
        """Refuse what is still asked, and tell the daemon what it has not heard."""
        fail_closed(self._guard.stop, lambda _: None)  # its listener ends with us
        self._link.finish()

    def _description(self) -> Mapping[str, object]:
        """What the filter stops, and how each system call is held, if that is known."""
        coverage: tuple[Coverage, ...] = fail_closed(self._guard.coverage, lambda _: ())
        return {
            "filter": {
                "syscalls": self._filtered,
                "namespaces": self._namespaces,
                "places": self._places,
            },
            "coverage": [
                {
                    "syscall": each.syscall,
                    "enforcement": each.enforcement.value,
                    "by": each.by,
                    "reason": each.reason,
                }
                for each in coverage
            ],
        }


def _leaves_cores() -> bool:
    """Whether the kernel writes core files into the working directory (core(5)).

    Where it cannot be read that is assumed.
    """
    try:
        pattern = _CORE_PATTERN.read_bytes()
    except OSError:
        return True
    return not pattern.startswith((b"|", b"/"))
