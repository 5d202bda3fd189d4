"""Answers the shell wrapper: the same judging as for `POST /api/analyze`, in lines.

A caller that has no right to ask, and a question that cannot be judged, are blocked:
the wrapper shows why.
"""

import hashlib
import logging
from contextlib import closing
from functools import partial

from redlane.errors import ForbiddenError, RedlaneError
from redlane.gate import Judgement
from redlane.judging.decided_texts import DecidedText, DecidedTexts
from redlane.judging.held_command import HeldCommand
from redlane.judging.judged_texts import JudgedTexts
from redlane.judging.leases import Leases
from redlane.judging.service import (
    Contents,
    JudgeRequest,
    JudgingService,
    OnHold,
    Passing,
    Read,
    Reading,
)
from redlane.judging.shell_answers import (
    ShellAnswer,
    block_line,
    command_details,
    open_line,
    preview_line,
    shell_answer,
    split_command,
    supervise_line,
)
from redlane.membership.authentication import Authenticator, refusal
from redlane.membership.callers import Caller, Who
from redlane.membership.peers import Peer
from redlane.model.content import Content
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.sessions.held_calls import HeldCalls
from redlane.sessions.service import SessionService
from redlane.state.review import Decider
from redlane.state.sessions import Session
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
        leases: Leases,
    ) -> None:
        """Judge with `judging` what `contents` reads, for whom `authenticator` knows.

        Who asks decides in which of `sessions`; `held` knows which roles name system
        calls, and `leases` for how long a command is known to pass.
        """
        self._leases = leases
        self._sessions = sessions
        self._held = held
        self._judging = judging
        self._contents = contents
        self._authenticator = authenticator
        self._texts = JudgedTexts()
        self._decided = DecidedTexts()

    def answer(self, frame: ShellFrame, peer: Peer, on_hold: OnHold) -> ShellAnswer:
        """The final line, and what belongs to it.

        This is a fail-closed boundary: an error that nobody foresaw is a Block.
        """
        try:
            return self._judge(frame, peer, on_hold)
        except RedlaneError as error:
            return ShellAnswer(block_line(str(error)))
        except Exception:  # noqa: BLE001  # the boundary, see above
            _log.exception("a question of the shell wrapper failed")
            failed = "the daemon failed to answer: its log says why"
            return ShellAnswer(block_line(failed))

    def _judge(self, frame: ShellFrame, peer: Peer, on_hold: OnHold) -> ShellAnswer:
        """The answer; raises ForbiddenError for who has no right to ask."""
        caller = self._authenticator.caller(peer)
        if caller.who is Who.UNKNOWN:
            raise ForbiddenError(refusal(caller))
        if frame.process is None:
            return self._judge_of(peer, caller, frame, on_hold)
        with closing(peer.with_process(frame.process)) as asking:
            self._check_same_session(caller, asking)
            return self._judge_of(asking, caller, frame, on_hold)

    def _check_same_session(self, caller: Caller, other: Peer) -> None:
        """Raise ForbiddenError unless both are in one session, which runs."""
        both = (caller, self._authenticator.caller(other))
        inside = all(each.who in (Who.SUPERVISOR, Who.MEMBER) for each in both)
        if not inside or len({each.membership.session for each in both}) != 1:
            raise ForbiddenError("nobody asks for a process but who is in its session")

    def _judge_of(
        self, peer: Peer, caller: Caller, frame: ShellFrame, on_hold: OnHold
    ) -> ShellAnswer:
        """Judge what `peer` is about to run; `caller` is in its session."""
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
            return self._previewed(read, session, is_keeper=peer.pid != caller.pid)
        request = JudgeRequest(
            Context.SHELL,
            frame.body,
            read,
            pid=peer.pid,
            details=command_details(arguments, directory),
            on_hold=on_hold,
            cwd=directory or None,
            witness=partial(_witness, asked, frame, peer),
            earlier=DecidedText(self._decided, asked, session),
        )
        judgement = self._judgement(frame, request, session, asked)
        if judgement is None:
            return ShellAnswer(preview_line(passes=False))
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
                answer = supervise_line(verdict.role) + answer
        return ShellAnswer(answer)

    def _judgement(
        self,
        frame: ShellFrame,
        request: JudgeRequest,
        session: Session,
        asked: HeldCommand,
    ) -> Judgement | None:
        """The judgement; None where the same question is to come once more."""
        if frame.as_it_is:
            return self._judging.judge_as_it_is(request, session)
        judgement = self._judging.judge(request, session)
        if _goes_on(judgement) and asked.has_changed:
            return self._judging.refuse(request, session, _CHANGED)
        return judgement

    def _previewed(
        self, read: Read, session: Session, *, is_keeper: bool
    ) -> ShellAnswer:
        """Whether a command passes; who asks for others may be told for how long."""
        lease = self._leases.grant(session.id) if is_keeper else None
        passing = self._judging.passes(read, session)
        if lease is not None and passing is not Passing.LASTING:
            lease.close()
            lease = None
        return ShellAnswer(preview_line(passes=passing is not Passing.NO), lease)


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

    Not where an Allow lets it go on, whatever is inside, unless that is about the
    commands alone. Nor, once a person has decided
    on a text as it was typed, or it was rewritten: what it starts would be held, or
    rewritten, once more. Of scripts that was not seen. A jury is asked once more.
    """
    verdict = judgement.verdict
    is_seen = judgement.review and judgement.decided_by != Decider.JURY
    is_as_it_was = verdict.decision is Decision.ALLOW and not is_seen
    is_allowed = verdict.policy is not None and not verdict.by_commands
    if is_as_it_was and not judgement.review and is_allowed:
        return False
    is_open = asked.is_open or asked.may_be_exchanged
    return bool(asked.unknown_words) or (is_open and is_as_it_was)


def _goes_on(judgement: Judgement) -> bool:
    return judgement.verdict.decision in (Decision.ALLOW, Decision.MODIFY)
