"""The way from a session's supervisor to the daemon: rules come, reports go.

While the daemon cannot be reached nobody knows whether the rules still hold, so nothing
is judged by them: calls wait until it is back. Once one has waited as long as calls
wait at all, the others are refused at once, until it is back.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from redlane.client import RefusedError
from redlane.client.operations import (
    Operation,
    report_calls,
    rules_of_calls,
    verdict,
)
from redlane.contexts.syscall.reports import CallReport, Reports
from redlane.contexts.syscall.rules import CallRules, refusing
from redlane.engine.boundary import fail_closed
from redlane.errors import RedlaneError

__all__ = ["Daemon", "Link", "NotServedError"]

_WAIT_SECONDS = 50
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5
_REFUSED_PAUSE = 1.0
_CROWDED_SECONDS = 1.0
"""Sooner than this nothing new is answered only where too many wait for news."""
_MOST_REPORTED = 100
_LAST_SECONDS = 5.0
"""How long the end of a session waits for a report that is on its way."""


class NotServedError(RedlaneError):
    """The daemon is there, and refuses to serve this session."""


class Daemon(Protocol):
    """The daemon that serves a session; `redlane.client.Client` is one."""

    def send(self, operation: Operation) -> Any:  # noqa: ANN401  # JSON
        """What it answers; raises RefusedError, or RedlaneError without an answer."""
        ...


@dataclass(frozen=True, slots=True)
class _State:
    """The rules, whether they hold now, and how often that has changed."""

    generation: int
    rules: CallRules
    away: bool = False


class Link:
    """Follows the rules and reports, in two threads of its own once started."""

    def __init__(
        self, daemon: Daemon, session: str, read: Callable[[object], CallRules]
    ) -> None:
        """Get the rules once; raises RedlaneError when they cannot be had."""
        self._daemon = daemon
        self._session = session
        self._read = read
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._reports = Reports()
        self._telling: threading.Thread | None = None
        self._listeners: list[Callable[[], None]] = []
        self._announced: Callable[[], Mapping[str, object]] | None = None
        self._is_given_up = False
        self._state = _State(1, read(self._send(rules_of_calls(session))))

    @property
    def generation(self) -> int:
        """Another number whenever what held before may hold no longer."""
        return self._state.generation

    @property
    def rules(self) -> CallRules:
        """The rules as they were last heard of."""
        return self._state.rules

    def _send(self, operation: Operation) -> Any:  # noqa: ANN401  # JSON
        """Ask; NotServedError is the daemon's own refusal, and not that it fails."""
        try:
            return self._daemon.send(operation)
        except RefusedError as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            raise NotServedError(str(error)) from error

    def current(self) -> CallRules | None:
        """The rules that hold now; None when nobody could tell within their time."""
        state = self._state
        if not state.away:
            return state.rules
        end = time.monotonic() + state.rules.timeout_seconds
        with self._changed:
            while self._state.away:
                left = end - time.monotonic()
                if left <= 0:
                    self._give_up()
                if self._is_given_up or self._over.is_set():
                    return None
                self._changed.wait(left)
            return self._state.rules

    def _give_up(self) -> None:
        """Wait no longer for a daemon that is away, whoever does."""
        with self._changed:
            self._is_given_up = self._state.away
            self._changed.notify_all()

    def announce(self, describe: Callable[[], Mapping[str, object]]) -> None:
        """Tell the daemon how calls are held, now and whenever that may be news."""
        self._announced = describe
        self._send(report_calls(self._session, **describe()))

    def ask(self, content: Mapping[str, object]) -> Mapping[str, Any]:
        """The daemon's own verdict on a call; raises RedlaneError without one.

        One that is away is waited for, as calls are.
        """
        question = verdict(content, "Syscall", session=self._session, hold=False)
        end = time.monotonic() + self.rules.timeout_seconds
        while True:
            try:
                answer = self._send(question)
            except NotServedError:
                raise
            except RedlaneError:
                if time.monotonic() >= end:
                    self._give_up()
                if self._is_given_up or self._over.wait(_FIRST_PAUSE):
                    raise
            else:
                if not isinstance(answer, Mapping):
                    raise RedlaneError("the daemon's answer is no verdict")
                return answer

    def report(self, report: CallReport) -> None:
        """Have an event written, soon; never waits."""
        self._reports.put(report)

    def start(self) -> None:
        """Follow the rules from now on, and report."""
        follow, self._telling = (
            threading.Thread(target=work, name=f"link{work.__name__}", daemon=True)
            for work in (self._follow, self._tell)
        )
        follow.start()
        self._telling.start()

    def finish(self) -> None:
        """Tell what is left, once, and let go of everybody who waits."""
        self._over.set()
        with self._changed:
            self._changed.notify_all()
        self._reports.close()
        # What its thread has taken is in nobody else's hands, and would be lost.
        if self._telling is not None:
            self._telling.join(_LAST_SECONDS)
        while (left := self._reports.take(_MOST_REPORTED, 0)) and self._told(left):
            continue

    def on_change(self, tell: Callable[[], None]) -> None:
        """Have `tell` called each time that `generation` has changed."""
        self._listeners.append(tell)

    def _follow(self) -> None:
        """Ask again and again; whatever goes wrong, nothing is judged until it works.

        This is a fail-closed boundary: rules that nobody follows must not hold.
        """
        pause = _FIRST_PAUSE
        while not self._over.is_set():
            if fail_closed(self._asked, self._failed):
                pause = _FIRST_PAUSE
            else:
                self._over.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _asked(self) -> bool:
        """Ask once; whether the daemon is there."""
        start = time.monotonic()
        try:
            found = self._send(self._query())
        except NotServedError as error:
            self._put(refusing(str(error)))
            self._over.wait(_REFUSED_PAUSE)
        except RedlaneError:
            self._set(self._state.rules, away=True)
            return False
        else:
            is_news = self._put(self._read(found))
            if not is_news and time.monotonic() - start < _CROWDED_SECONDS:
                self._over.wait(_REFUSED_PAUSE)
        return True

    def _failed(self, reason: str) -> bool:
        self._set(refusing(f"the session's rules cannot be followed: {reason}"))
        return False

    def _query(self) -> Operation:
        """What to ask for: what holds now, or what comes after it."""
        state = self._state
        if state.away or not state.rules.generation:
            return rules_of_calls(self._session)
        return rules_of_calls(
            self._session, after=state.rules.generation, wait_seconds=_WAIT_SECONDS
        )

    def _put(self, rules: CallRules) -> bool:
        """Let the rules hold that were answered; whether they are others."""
        is_news = self._set(rules)
        if rules.generation and (is_news or not rules.known):
            self._announce_again()
        return is_news

    def _set(self, rules: CallRules, *, away: bool = False) -> bool:
        """Let other rules hold, or none for now; whether that is news."""
        before = self._state
        held = (before.away, before.rules.generation, before.rules.reason)
        if held == (away, rules.generation, rules.reason):
            return False
        with self._changed:
            self._state = _State(before.generation + 1, rules, away)
            self._is_given_up = False
            self._changed.notify_all()
        for tell in self._listeners:
            fail_closed(tell, _unheard)  # one that fails must not end the following
        return True

    def _announce_again(self) -> None:
        """Tell a daemon that was started meanwhile; it will ask again if it must."""
        if self._announced is None:
            return
        try:
            self._send(report_calls(self._session, **self._announced()))
        except RedlaneError:
            self._over.wait(_FIRST_PAUSE)

    def _tell(self) -> None:
        while not self._over.is_set():
            reports = self._reports.take(_MOST_REPORTED, _REFUSED_PAUSE)
            if reports and not self._told(reports):
                self._over.wait(_LONGEST_PAUSE)

    def _told(self, reports: list[CallReport]) -> bool:
        """Whether the daemon has heard it; what it could not hear is kept."""
        body = {
            "ruleset": self._state.rules.ruleset.digest,
            "events": [each.document() for each in reports],
        }
        try:
            self._send(report_calls(self._session, **body))
        except NotServedError:
            return True  # it will not take them later either
        except RedlaneError:
            for each in reports:
                self._reports.put(each)
            return False
        return True


def _unheard(_reason: str) -> None:
    """Nothing: who listens reads the generation as well."""
