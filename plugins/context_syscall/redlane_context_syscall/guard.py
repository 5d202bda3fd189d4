"""The guard of one session: its filter, and everything that answers its listener."""

import logging
import os
from collections.abc import Callable
from errno import ENOSYS
from functools import partial

from redlane.api import Coverage, GuardOptions, Judge, Ruling, SystemCall
from redlane_context_syscall import filter as filters
from redlane_context_syscall.advisory import Advisory
from redlane_context_syscall.altering import Altering
from redlane_context_syscall.binding import Binding
from redlane_context_syscall.calls import Handler
from redlane_context_syscall.changing import CHANGING, Changing
from redlane_context_syscall.coverage import coverage
from redlane_context_syscall.deciding import Decisions
from redlane_context_syscall.ebpf.attachments import Attachments
from redlane_context_syscall.hot import HotSource, is_built
from redlane_context_syscall.kernel.features import Features
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.lineage import Lineage
from redlane_context_syscall.linking import Linking
from redlane_context_syscall.loop import Loop
from redlane_context_syscall.making import Making
from redlane_context_syscall.numbers import name_of, number_of
from redlane_context_syscall.opening import Opening
from redlane_context_syscall.processes import describe, kill_process, program_of
from redlane_context_syscall.protecting import Protection
from redlane_context_syscall.removing import Removing
from redlane_context_syscall.renaming import Renaming
from redlane_context_syscall.signals import SIGNALLING, Signals
from redlane_context_syscall.starting import STARTING, Starting
from redlane_context_syscall.telling import Telling
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
        if options.places and not features.injects:
            reason = "Linux 5.9 or newer is needed to hold where files are written"
            raise OSError(ENOSYS, reason)
        self._judge = judge
        self._options = options
        self._features = features
        self._is_quick = is_quick and features.injects and is_built()
        self._is_root = os.geteuid() == 0
        self._on_loss: Callable[[str], None] = _log.error
        self._attachments = Attachments(judge, options, self._lose)
        self._protected: frozenset[int] = frozenset()
        self._loop: Loop | None = None
        self._telling: Telling | None = None

    def program(self, launcher: int, protected: frozenset[int]) -> bytes:
        """The seccomp filter; see `Guard.program`."""
        lineage = Lineage(launcher, is_shell=self._options.is_shell)
        self._telling = Telling(lineage, os.environ.get("HOME", ""))
        self._attachments.start()
        self._attachments.admit(launcher)
        self._protected = protected | self._attachments.processes
        named = self._judge.named
        return filters.program(
            named,
            self._protected,
            self._options,
            self._attachments.refused,
            is_root=self._is_root,
        )

    def serve(self, listener: int, on_loss: Callable[[str], None]) -> None:
        """Answer from now on; to be called by the main thread (see `Loop.start`)."""
        self._on_loss = on_loss
        self._loop = self._make_loop(Listener(listener))
        self._loop.start(on_loss)

    def coverage(self) -> tuple[Coverage, ...]:
        """How each system call that policies name is enforced, now."""
        named = self._judge.named
        options = self._options
        told = coverage(
            named,
            self._features,
            namespaces=options.namespaces,
            places=options.places,
        )
        held = {each.syscall: each for each in told}
        held |= {each.syscall: each for each in self._attachments.coverage(named)}
        return tuple(held.values())

    def stop(self) -> None:
        """Answer nothing more, and take from the kernel what was put there."""
        if self._loop is not None:
            self._loop.stop()
        if self._telling is not None:
            self._telling.stop()
        self._attachments.stop()

    def _make_loop(self, listener: Listener) -> Loop:
        view = View(self._protected, os.getpid())
        world = World(self._options.namespaces, view=view)
        decisions = Decisions(
            self._judge,
            describe,
            partial(kill_process, listener),
            self._options.session,
            self._refused,
            program=partial(program_of, listener),
        )
        protection = Protection(
            decisions,
            lambda: self._judge.named,
            alike=self._judge.alike,
            blocking=self._blocking,
        )
        parts = (listener, world, decisions)
        handlers, otherwise = self._handlers(*parts, protection)
        if not self._is_quick:
            return Loop(listener, handlers, otherwise, self._tell_failure)
        quick = HotSource(*parts, moves_freely=protection.is_idle)
        self._judge.on_change(quick.forget)
        handlers = quick.handlers(handlers)
        tell = self._tell_failure
        return Loop(listener, handlers, otherwise, tell, source=quick, quick=quick)

    def _handlers(
        self,
        listener: Listener,
        world: World,
        decisions: Decisions,
        protection: Protection,
    ) -> tuple[dict[int, Handler], Handler]:
        """What answers each call by its number, and what answers all others."""
        parts = (listener, world, decisions)
        refusal = partial(filters.refusal, options=self._options, is_root=self._is_root)
        advisory = Advisory(
            *parts,
            blocking=self._blocking,
            refusal=refusal,
            going_on=self._attachments.allow,
        )
        signals = Signals(*parts, self._protected, refusal)
        by_name: dict[str, Handler] = {
            **dict.fromkeys(CHANGING, Changing(advisory, world)),
            **dict.fromkeys(SIGNALLING, signals),
            **Removing(*parts, blocking=self._blocking).handlers(),
            **Renaming(*parts, protection, blocking=self._blocking).handlers(),
            **Linking(*parts, protection, blocking=self._blocking).handlers(),
            **Making(*parts, blocking=self._blocking).handlers(),
            **Altering(*parts, blocking=self._blocking).handlers(),
        }
        if self._options.starts is not None:
            going_on = self._attachments.allow
            starting = Starting(advisory, self._options.starts, going_on)
            by_name |= dict.fromkeys(STARTING, starting)
        if self._options.places:
            by_name |= Binding(*parts, blocking=self._blocking).handlers()
        if self._features.injects:
            by_name |= Opening(*parts, blocking=self._blocking).handlers()
        numbered = ((number_of(name), each) for name, each in by_name.items())
        return {n: each for n, each in numbered if n is not None}, advisory

    def _refused(self, call: SystemCall, ruling: Ruling) -> None:
        if self._telling is not None:
            self._telling.refused(call, ruling)

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
