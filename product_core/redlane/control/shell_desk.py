"""Answers the shell wrapper: the same judging as for `POST /api/analyze`, in lines.

A caller that has no right to ask, and a question that cannot be judged, are blocked:
the wrapper shows why.
"""

import logging
from collections.abc import Callable

import falcon

from redlane.control.access import Door, refusal
from redlane.control.callers import Who
from redlane.control.held_calls import HeldCalls
from redlane.control.judging import Contents, Judging, Question
from redlane.control.peers import Peer
from redlane.control.protocol import (
    block_line,
    command_details,
    shell_answer,
    split_command,
    supervise_line,
)
from redlane.control.shell_frames import Frame
from redlane.errors import RedlaneError
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.state.reviews import Review

__all__ = ["ShellDesk"]

_log = logging.getLogger(__name__)


class ShellDesk:
    """What becomes of one question."""

    def __init__(
        self, judging: Judging, contents: Contents, door: Door, held: HeldCalls
    ) -> None:
        """Judge with `judging` what `contents` reads, for whom `door` lets in.

        `held` knows which roles name system calls.
        """
        self._held = held
        self._judging = judging
        self._contents = contents
        self._door = door

    def answer(
        self, frame: Frame, peer: Peer, on_hold: Callable[[Review], None]
    ) -> bytes:
        """The final line, and what belongs to it.

        This is a fail-closed boundary: an error that nobody foresaw is a Block.
        """
        try:
            return self._judge(frame, peer, on_hold)
        except falcon.HTTPError as error:
            return block_line(error.description or error.title)
        except RedlaneError as error:
            return block_line(str(error))
        except Exception:  # noqa: BLE001  # the boundary, see above
            _log.exception("a question of the shell wrapper failed")
            return block_line("the daemon failed to answer: its log says why")

    def _judge(
        self, frame: Frame, peer: Peer, on_hold: Callable[[Review], None]
    ) -> bytes:
        caller = self._door.caller(peer)
        if caller.who is Who.UNKNOWN:
            raise falcon.HTTPForbidden(description=refusal(caller))
        command, arguments = split_command(frame.body)
        directory = frame.directory.decode(errors="surrogateescape")
        question = Question(
            Context.SHELL,
            frame.body,
            lambda: (
                self._contents.shell(
                    command, arguments, directory or None, frame.before, peer
                ),
            ),
            details=command_details(arguments, directory),
        )
        judgement = self._judging.judge(question, caller, on_hold)
        answer = shell_answer(judgement)
        verdict = judgement.verdict
        goes_on = verdict.decision in (Decision.ALLOW, Decision.MODIFY)
        # Outside of a session nothing holds the calls of what a command starts.
        if goes_on and caller.is_outside and verdict.role is not None:
            self._held.check_opening(verdict.role, (), holds=True)
            if self._held.names(verdict.role):
                return supervise_line(verdict.role) + answer
        return answer
