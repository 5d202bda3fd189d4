"""The guard of one session: its filter, and everything that answers its listener."""

import logging
from collections.abc import Callable
from errno import ENOSYS
from functools import partial

from redlane.api import Coverage, GuardOptions, Judge, Ruling, SystemCall
from redlane_context_syscall import filter as filters
from redlane_context_syscall.advisory import Advisory
from redlane_context_syscall.calls import Handler
from redlane_context_syscall.changing import CHANGING, Changing
from redlane_context_syscall.coverage import coverage
from redlane_context_syscall.deciding import Decisions
from redlane_context_syscall.ebpf.companions import Companions
from redlane_context_syscall.hot import HotSource, is_built
from redlane_context_syscall.kernel.features import Features
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.linking import Linking
from redlane_context_syscall.loop import Loop
from redlane_context_syscall.numbers import name_of, number_of
from redlane_context_syscall.opening import Opening
from redlane_context_syscall.processes import describe, kill_process
from redlane_context_syscall.protecting import Protection
from redlane_context_syscall.removing import Removing
from redlane_context_syscall.renaming import Renaming
from redlane_context_syscall.signals import SIGNALLING, Signals
from redlane_context_syscall.view import View
from redlane_context_syscall.world import World

__all__ = ["SessionGuard"]

_log = logging.getLogger(__name__)


class SessionGuard:
    """A `Guard` (redlane.api) that answers by seccomp's user notifications."""

    def __init__(
        self,
        judge: Judge,
        options: GuardOptions,
        features: Features,
        *,
        is_quick: bool = True,
    ) -> None:
        """Raises OSError on a kernel that cannot ask about system calls.

        Unless `is_quick`, the extension that answers plain opens is left out.
        """
        if not features.goes_on:
            raise OSError(ENOSYS, "Linux 5.5 or newer is needed to judge system calls")
        self._judge = judge
        self._options = options
        self._features = features
        self._is_quick = is_quick and features.injects and is_built()
        self._on_loss: Callable[[str], None] = _log.error
        self._companions = Companions(judge, options, self._lose)
        self._protected: frozenset[int] = frozenset()
        self._loop: Loop | None = None

    def program(self, launcher: int, protected: frozenset[int]) -> bytes:
        """The seccomp filter; see `Guard.program`."""
        self._companions.start()
        self._companions.admit(launcher)
        self._protected = protected | self._companions.processes
        named = self._judge.named
        return filters.program(
            named, self._protected, self._options, self._companions.refused
        )

    def serve(self, listener: int, on_loss: Callable[[str], None]) -> None:
        """Answer from now on; to be called by the main thread (see `Loop.start`)."""
        self._on_loss = on_loss
        self._loop = self._make_loop(Listener(listener))
        self._loop.start(on_loss)

    def coverage(self) -> tuple[Coverage, ...]:
        """How each system call that policies name is enforced, now."""
        named = self._judge.named
        spaces = self._options.namespaces
        held = {
            each.syscall: each
            for each in coverage(named, self._features, namespaces=spaces)
        }
        held |= {each.syscall: each for each in self._companions.coverage(named)}
        return tuple(held.values())

    def stop(self) -> None:
        """Answer nothing more, and take from the kernel what was put there."""
        if self._loop is not None:
            self._loop.stop()
        self._companions.stop()

    def _make_loop(self, listener: Listener) -> Loop:
        world = World(self._options.namespaces, view=View(self._protected))
        decisions = Decisions(
            self._judge,
            describe,
            partial(kill_process, listener),
            self._options.session,
        )
        handlers, otherwise = self._handlers(listener, world, decisions)
        if not self._is_quick:
            return Loop(listener, handlers, otherwise, self._tell_failure)
        quick = HotSource(listener, world, decisions)
        self._judge.on_change(quick.forget)
        handlers = quick.handlers(handlers)
        tell = self._tell_failure
        return Loop(listener, handlers, otherwise, tell, source=quick, quick=quick)

    def _handlers(
        self, listener: Listener, world: World, decisions: Decisions
    ) -> tuple[dict[int, Handler], Handler]:
        """What answers each call by its number, and what answers all others."""
        parts = (listener, world, decisions)
        advisory = Advisory(
            *parts,
            blocking=self._blocking,
            refusal=partial(filters.refusal, options=self._options),
            going_on=self._companions.allow,
        )
        signals = Signals(*parts, self._protected)
        protection = Protection(
            decisions,
            lambda: self._judge.named,
            alike=self._judge.alike,
            blocking=self._blocking,
        )
        by_name: dict[str, Handler] = {
            **dict.fromkeys(CHANGING, Changing(advisory, world)),
            **dict.fromkeys(SIGNALLING, signals),
            **Removing(*parts, blocking=self._blocking).handlers(),
            **Renaming(*parts, protection, blocking=self._blocking).handlers(),
            **Linking(*parts, protection, blocking=self._blocking).handlers(),
        }
        if self._features.injects:
            by_name |= Opening(*parts, blocking=self._blocking).handlers()
        numbered = ((number_of(name), each) for name, each in by_name.items())
        return {n: each for n, each in numbered if n is not None}, advisory

    def _lose(self, reason: str) -> None:
        self._on_loss(reason)

    def _blocking(self, notification: Notification) -> None:
        if self._loop is not None:
            self._loop.blocking(notification)

    def _tell_failure(self, notification: Notification, error: BaseException) -> None:
        """Have an event of a call that was refused because answering it failed."""
        name = name_of(notification.number) or f"number {notification.number}"
        reason = f"the supervisor failed ({type(error).__name__}), so it is refused"
        call = SystemCall(name, (), {"pid": notification.pid})
        self._judge.report(call, Ruling(allowed=False, reason=reason))
