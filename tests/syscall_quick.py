"""Handlers in Python and the extension before them, under a judge of words."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from syscall_harness import Kit, Outcome, Sourced, supervised

from redlane.api import Ruling, SystemCall
from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.deciding import Decisions
from redlane_context_syscall.hot import HotSource
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.loop import Source
from redlane_context_syscall.making import Making
from redlane_context_syscall.opening import Opening
from redlane_context_syscall.processes import Described
from redlane_context_syscall.protecting import Protection
from redlane_context_syscall.removing import Removing
from redlane_context_syscall.renaming import Renaming

__all__ = ["OPENS", "Bench", "WordJudge", "changing", "remove"]

OPENS = ("open", "openat", "creat")


class WordJudge:
    """Flags paths with the word "flagged", and blocks those with another, if any."""

    named: Mapping[str, bool] = MappingProxyType(dict.fromkeys(OPENS, True))
    is_slow: frozenset[str] = frozenset()

    def __init__(self, log: list[Any], blocked: str) -> None:
        self.generation = 1
        self.blocked = blocked
        self.log = log
        self.ruled: list[tuple[str, *tuple[tuple[str | None, ...], ...]]] = []
        self.tell: Callable[[], None] = lambda: None
        log.append(self.ruled)

    def rule(self, call: SystemCall) -> Ruling:
        self.ruled.append((call.name, call.paths, call.changed))
        texts = [self.blocked if path is None else path for path in call.paths]
        is_blocked = any(self.blocked in text for text in texts)
        return Ruling(
            allowed=not (self.blocked and is_blocked),
            flagged=any("flagged" in text for text in texts),
        )

    def report(self, call: SystemCall, ruling: Ruling) -> None:
        self.log.append((call.name, call.paths, ruling.allowed))

    def on_change(self, tell: Callable[[], None]) -> None:
        self.tell = tell

    def change(self, blocked: str) -> None:
        self.blocked = blocked
        self.generation += 1
        self.tell()


class Bench:
    """Handlers and, if `quick`, the extension before them; `judge` is made anew."""

    def __init__(
        self, *, quick: bool, blocked: str = "blocked", named: Sequence[str] = OPENS
    ) -> None:
        self.blocked = blocked
        self.named = MappingProxyType(dict.fromkeys(named, True))
        self.source: Sourced | None = self._source if quick else None
        self.extra: Callable[[WordJudge, Kit], dict[str, Handler]] = lambda _j, _k: {}

    def handlers(self, kit: Kit) -> Mapping[str, Handler]:
        self.judge = WordJudge(kit.log, self.blocked)
        self.judge.named = self.named
        self.decisions = Decisions(
            self.judge, lambda call: Described(call.pid), lambda _: None
        )
        parts = (kit.listener, kit.world, self.decisions)
        self.protection = Protection(self.decisions, lambda: self.named)
        renaming = Renaming(*parts, self.protection, blocking=kit.blocking)
        return {
            **Opening(*parts, blocking=kit.blocking).handlers(),
            **Making(*parts, blocking=kit.blocking).handlers(),
            **Removing(*parts, blocking=kit.blocking).handlers(),
            **renaming.handlers(),
            **self.extra(self.judge, kit),
        }

    def _source(
        self, kit: Kit, handlers: dict[int, Handler]
    ) -> tuple[Source, dict[int, Handler]]:
        source = HotSource(
            kit.listener,
            kit.world,
            self.decisions,
            moves_freely=self.protection.is_idle,
        )
        self.judge.on_change(source.forget)
        return source, source.handlers(handlers)

    def run(
        self, act: Callable[[], Any], names: Sequence[str] = OPENS, **given: Any
    ) -> Outcome:
        return supervised(act, names, self.handlers, source=self.source, **given)


def changing(judge: WordJudge, _: Kit) -> dict[str, Handler]:
    """A call after which paths with "file" in them are blocked."""

    def change(notification: Notification) -> Answer:  # noqa: ARG001
        judge.change("file")
        return GO_ON

    return {"getppid": change}


def remove(work: Path) -> None:
    """Take away what is there, whatever its rights have become."""
    for top, directories, _ in os.walk(work):
        for name in directories:
            if not (Path(top) / name).is_symlink():
                (Path(top) / name).chmod(0o700)
    shutil.rmtree(work)
