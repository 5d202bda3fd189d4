"""Answers the shell wrapper: the same judging as for `POST /api/analyze`, in lines.

A caller that has no right to ask, and a question that cannot be judged, are blocked:
the wrapper shows why.
"""

import hashlib
import logging
from functools import partial

from redlane.errors import ForbiddenError, RedlaneError
from redlane.gate import Judgement
from redlane.judging.decided_texts import DecidedText, DecidedTexts
from redlane.judging.held_command import HeldCommand
from redlane.judging.judged_texts import JudgedTexts
from redlane.judging.service import (
    Contents,
    JudgeRequest,
    JudgingService,
    OnHold,
    Reading,
)
from redlane.judging.shell_answers import (
    block_line,
    command_details,
    open_line,
    preview_line,
    shell_answer,
    split_command,
    supervise_line,
)
from redlane.membership.authentication import Authenticator, refusal
from redlane.membership.callers import Who
from redlane.membership.peers import Peer
from redlane.model.content import Content
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.sessions.held_calls import HeldCalls
from redlane.sessions.service import SessionService
from redlane.state.review import Decider
from redlane.wire.shell_frames import ShellFrame

__all__ = ["ShellService"]

_CHANGED = "what it names has changed while it was held: ask again"

_log = logging.getLogger(__name__)


class ShellService:
    """What becomes of one question."""

    def __init__(
        self,
        judging: JudgingService,
        sessions: SessionService,
        contents: Contents,
        authenticator: Authenticator,
        held: HeldCalls,
    ) -> None:
        """Judge with `judging` what `contents` reads, for whom `authenticator` knows.

        Who asks decides in which of `sessions`; `held` knows which roles name system
        calls.
        """
        self._sessions = sessions
        self._held = held
        self._judging = judging
        self._contents = contents
        self._authenticator = authenticator
        self._texts = JudgedTexts()
        self._decided = DecidedTexts()

    def answer(self, frame: ShellFrame, peer: Peer, on_hold: OnHold) -> bytes:
        """The final line, and what belongs to it.

        This is a fail-closed boundary: an error that nobody foresaw is a Block.
        """
        try:
            return self._judge(frame, peer, on_hold)
        except RedlaneError as error:
            return block_line(str(error))
        except Exception:  # noqa: BLE001  # the boundary, see above
            _log.exception("a question of the shell wrapper failed")
            return block_line("the daemon failed to answer: its log says why")

    def _judge(self, frame: ShellFrame, peer: Peer, on_hold: OnHold) -> bytes:
        caller = self._authenticator.caller(peer)
        if caller.who is Who.UNKNOWN:
            raise ForbiddenError(refusal(caller))
        command, arguments = split_command(frame.body)
        directory = frame.directory.decode(errors="surrogateescape")

        session = self._sessions.session_for(caller)
        hiding = self._sessions.hiding(session)

        def content() -> Content:
            return self._contents.shell(
                command,
                arguments,
                directory or None,
                frame.before,
                peer,
                hiding,
                partial(self._texts.hand_on_to, peer.pid),
            )

        asked = HeldCommand(content, peer.pid, has_arguments=bool(arguments))

        def read() -> Reading:
            return Reading((asked.judged(content()),))

        if frame.is_preview:
            return preview_line(passes=self._judging.passes(read, session))
        request = JudgeRequest(
            Context.SHELL,
            frame.body,
            read,
            pid=caller.pid,
            details=command_details(arguments, directory),
            on_hold=on_hold,
            cwd=directory or None,
            witness=partial(_witness, asked, frame, peer),
            earlier=DecidedText(self._decided, asked, session),
        )
        judgement = self._judging.judge(request, session)
        if _goes_on(judgement) and asked.has_changed:
            judgement = self._judging.refuse(request, session, _CHANGED)
        answer = shell_answer(judgement)
        verdict = judgement.verdict
        if _goes_on(judgement):
            self._texts.add(peer.pid)
        if _goes_on(judgement) and _is_open(asked, judgement):
            answer = open_line() + answer
        # Outside of a session nothing holds the calls of what a command starts.
        if _goes_on(judgement) and caller.is_outside and verdict.role is not None:
            self._held.check_opening(verdict.role, (), holds=True)
            if self._held.needs_session(verdict.role):
                return supervise_line(verdict.role) + answer
        return answer


def _witness(asked: HeldCommand, frame: ShellFrame, peer: Peer) -> bytes | None:
    """A digest of a question, and of what its command would use.

    None where that cannot be told, as of a shell that has run something before: what it
    has set is not seen here.
    """
    used = asked.hold()
    if used is None or frame.before:
        return None
    parts = (b"%d" % peer.uid, frame.directory, frame.body)
    return b"".join(hashlib.sha256(each).digest() for each in parts) + used


def _is_open(asked: HeldCommand, judgement: Judgement) -> bool:
    """Whether what it starts is to be asked about.

    Not where an Allow lets it go on, whatever is inside. Nor, once a person has decided
    on a text as it was typed, or it was rewritten: what it starts would be held, or
    rewritten, once more. Of scripts that was not seen. A jury is asked once more.
    """
    verdict = judgement.verdict
    is_seen = judgement.review and judgement.decided_by != Decider.JURY
    is_as_it_was = verdict.decision is Decision.ALLOW and not is_seen
    if is_as_it_was and not judgement.review and verdict.policy is not None:
        return False
    return bool(asked.unknown_words) or (asked.is_open and is_as_it_was)


def _goes_on(judgement: Judgement) -> bool:
    return judgement.verdict.decision in (Decision.ALLOW, Decision.MODIFY)
