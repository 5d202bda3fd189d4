"""Contexts that plugins serve: started once the daemon serves, stopped before it ends.

One that does not start, or fails to stop, is told in the log and in the status, and
takes nothing down with it: what it does not serve does not pass.
"""

import logging
import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from redlane.engine.boundary import fail_closed
from redlane.judging.service import Contents, JudgeRequest, JudgingService, Reading
from redlane.membership.authentication import Authenticator
from redlane.membership.peers import peer_of
from redlane.model.policy import Context
from redlane.model.serving import ContentJudge, ServedContext
from redlane.model.verdict import Decision, Verdict
from redlane.sessions.service import SessionService

__all__ = ["PeersJudge", "ServedContexts"]

_log = logging.getLogger(__name__)


class PeersJudge:
    """Judges for whoever is at the other end of a connection, as the kernel says."""

    def __init__(
        self,
        judging: JudgingService,
        sessions: SessionService,
        contents: Contents,
        authenticator: Authenticator,
    ) -> None:
        """Ask the same as the shell wrapper does."""
        self._judging = judging
        self._sessions = sessions
        self._contents = contents
        self._authenticator = authenticator

    def judge(
        self, connection: socket.socket, context: Context, data: bytes
    ) -> Verdict:
        """The verdict; what goes wrong on the way is a Block."""
        return fail_closed(
            partial(self._judge, connection, context, data),
            lambda reason: Verdict(Decision.BLOCK, reason, context=str(context)),
        )

    def _judge(
        self, connection: socket.socket, context: Context, data: bytes
    ) -> Verdict:
        peer = peer_of(connection)
        try:
            caller = self._authenticator.caller(peer)
            session = self._sessions.session_for(caller)
            hiding = self._sessions.hiding(session)
            wanted = Context(context)
            request = JudgeRequest(
                wanted,
                data,
                lambda: Reading(
                    self._contents.parse(Context(context), data, peer, hiding)
                ),
                pid=caller.pid,
            )
            return self._judging.judge(request, session).verdict
        finally:
            peer.close()


class ServedContexts:
    """The contexts that plugins serve, and how each of them is."""

    def __init__(
        self,
        contexts: Mapping[str, ServedContext],
        judge: ContentJudge,
        directory: Path,
    ) -> None:
        """Start nothing yet; their sockets have their place in `directory`."""
        self._contexts = contexts
        self._start = (judge, directory)
        self._states = dict.fromkeys(contexts, "not started")
        self._started: list[str] = []

    def start(self) -> None:
        """Start each, in the order of their names."""
        for name in sorted(self._contexts):
            problem = _problem(partial(self._contexts[name].start, *self._start))
            if problem is None:
                self._started.append(name)
                self._states[name] = "serving"
                continue
            self._states[name] = f"failed to start: {problem}"
            _log.error("context %s is not served: %s", name, problem)

    def stop(self) -> None:
        """Stop those that were started, the last one first."""
        while self._started:
            name = self._started.pop()
            problem = _problem(self._contexts[name].stop)
            self._states[name] = "stopped"
            if problem is not None:
                _log.error("context %s failed to stop: %s", name, problem)

    def status(self) -> dict[str, str]:
        """Each by its name, and in words how it is."""
        return dict(self._states)


def _problem(work: Callable[[], None]) -> str | None:
    """Why a plugin's work failed, or None."""

    def done() -> None:
        work()

    return fail_closed(done, lambda reason: reason)
