"""Judges a session's system calls where they are held, by the engine of the daemon."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from redlane.contexts.syscall.content import SystemCallContent, document_of_call
from redlane.contexts.syscall.link import Link
from redlane.contexts.syscall.owners import Programs
from redlane.contexts.syscall.reports import CallReport
from redlane.contexts.syscall.rules import CallRules
from redlane.engine.boundary import fail_closed
from redlane.engine.hiding import CONCEALED, Hidden
from redlane.engine.judge import judge
from redlane.engine.own_files import TOUCHES
from redlane.engine.places import OUTSIDE
from redlane.errors import RedlaneError
from redlane.model.content import SystemCall
from redlane.model.supervision import Ruling
from redlane.model.verdict import Decision, Verdict

__all__ = ["SessionJudge"]

_NOT_NAMED = Ruling(allowed=True, reason="no policy names this system call")
_AWAY = "the daemon cannot be reached, and without it nothing is allowed"


@dataclass(frozen=True, slots=True)
class _Judged(Ruling):
    """A ruling, and whether the daemon has `recorded` its event already.

    `restriction`: the policy is one that a user added to the role.
    """

    recorded: bool = False
    restriction: bool = False


class SessionJudge:
    """The `Judge` of one session (model.supervision); safe for several threads."""

    def __init__(self, link: Link) -> None:
        """Judge by the rules that `link` follows."""
        self._link = link
        self._programs = Programs()

    @property
    def generation(self) -> int:
        """Changes with the rules, and when the daemon comes or goes."""
        return self._link.generation

    @property
    def named(self) -> Mapping[str, bool]:
        """The system calls that policies name; True where some look at paths."""
        return self._link.rules.named

    def alike(self, name: str) -> Hashable:
        """The policies that name a system call: what they are tells how it is ruled."""
        return self._link.rules.named_by.get(name)

    @property
    def is_slow(self) -> frozenset[str]:
        """The system calls on which the daemon asks a program."""
        return self._link.rules.checked

    def rule(self, call: SystemCall) -> Ruling:
        """The ruling on a call; what fails is refused."""
        return fail_closed(partial(self._rule, call), _refused)

    def report(self, call: SystemCall, ruling: Ruling) -> None:
        """Have an event written of a call that was refused or flagged."""
        if isinstance(ruling, _Judged) and ruling.recorded:
            return
        verdict = Decision.FLAG if ruling.allowed else Decision.BLOCK
        restriction = isinstance(ruling, _Judged) and ruling.restriction
        self._link.report(
            CallReport(
                call,
                verdict.value,
                ruling.policy,
                ruling.reason,
                ruling.kill,
                restriction,
            )
        )

    def on_change(self, tell: Callable[[], None]) -> None:
        """Have `tell` called each time that `generation` has changed."""
        self._link.on_change(tell)

    def _rule(self, call: SystemCall) -> Ruling:
        rules = self._link.current()
        if rules is None:
            return _refused(_AWAY)
        if rules.reason:
            return Ruling(allowed=False, reason=rules.reason)
        found = self._found(call, rules)
        if found:
            call = replace(call, details={**call.details, found: True})
        elif call.name in rules.checked:
            return self._asked(call)
        judged = found or call.name in rules.named
        ruling = _ruling(_verdict(call, rules)) if judged else _NOT_NAMED
        # What becomes of such a call is told by more than its name and its paths.
        return replace(ruling, lasting=False) if _is_singular(call, rules) else ruling

    def _found(self, call: SystemCall, rules: CallRules) -> str:
        """Why a call is refused by what is built in, as its detail; or ""."""
        own_files = rules.own_files
        if own_files.concern(call) and own_files.are_touched(call):
            return TOUCHES
        if any(self._is_hidden(call, each) for each in rules.hidden):
            return CONCEALED
        return OUTSIDE if any(each.are_left(call) for each in rules.places) else ""

    def _is_hidden(self, call: SystemCall, hidden: Hidden) -> bool:
        owners = hidden.owners(call) if hidden.concern(call) else None
        return owners is not None and self._programs.name(call) not in owners

    def _asked(self, call: SystemCall) -> Ruling:
        """The daemon's ruling, where a program is to be asked."""
        try:
            answer = self._link.ask(_told(call))
        except RedlaneError as error:
            return _refused(f"{_AWAY}: {error}")
        decision = answer.get("verdict")
        return _Judged(
            allowed=decision in (Decision.ALLOW, Decision.FLAG),
            policy=answer.get("policy"),
            reason=str(answer.get("reason")),
            kill=decision == Decision.BLOCK and answer.get("kill") is True,
            flagged=decision == Decision.FLAG,
            lasting=False,
            recorded=True,
        )


def _is_singular(call: SystemCall, rules: CallRules) -> bool:
    """Whether another call by the same name and paths may be ruled on differently."""
    hidden = any(each.concern(call) for each in rules.hidden)
    return hidden or rules.own_files.concern(call)


def _verdict(call: SystemCall, rules: CallRules) -> Verdict:
    content = SystemCallContent(call, b"")
    return judge(rules.ruleset, rules.role or "", (content,), rules.restrictions)


def _ruling(verdict: Verdict) -> Ruling:
    """What becomes of a call; only these two let it go on."""
    return _Judged(
        allowed=verdict.decision in (Decision.ALLOW, Decision.FLAG),
        policy=verdict.policy,
        reason=verdict.reason,
        kill=verdict.decision is Decision.BLOCK and verdict.kill,
        flagged=verdict.decision is Decision.FLAG,
        restriction=verdict.restriction,
    )


def _refused(reason: str) -> Ruling:
    return Ruling(allowed=False, reason=reason, lasting=False)


def _told(call: SystemCall) -> dict[str, object]:
    """A call as a checker is told of it; a path that is no text counts as unreadable.

    JSON cannot carry it, and an unreadable path is the one that is never let through.
    """
    told = document_of_call(call)
    told["paths"] = [each if _is_text(each) else None for each in call.paths]
    return told


def _is_text(path: str | None) -> bool:
    if path is None:
        return False
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
