"""Answers about pinned tools: what a server lists, and what is called.

Whoever lists tools may have made them up. So a listing pins what was never seen, and
changes nothing that is pinned: only the control API does, and it knows who asks.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from redlane.engine.boundary import one_line
from redlane.gate import Gate, why_stopped
from redlane.membership.callers import Caller
from redlane.model.content import TextContent, ToolCall
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.state.pin import FindingKind, canonical
from redlane.state.pin_book import ListedTool, Listing, PinStatus, shown, told
from redlane.state.pins import AgainError, Pins
from redlane.state.sessions import Session
from redlane.wire.answer import Answer, ToolStatus
from redlane.wire.question import Question, QuestionError, Step
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["PinService", "pin_policy", "pin_record"]

_MOST_TOOLS = 1_000
_LONGEST_NAME = 256
_LONGEST_DEFINITION = 64 * 1024
_LONGEST_SPELLING = 6 * _LONGEST_DEFINITION
"""No spelling of so many characters is longer in bytes."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question about a listing; `places` has where each usable tool stands in it."""

    step: Step
    listing: Listing
    places: tuple[int, ...]
    unusable: tuple[tuple[int, str], ...]


class PinService:
    """Asks the pins; safe for several threads."""

    def __init__(self, pins: Pins, gate: Gate) -> None:
        """Compare with `pins`; what is found is written down by `gate`."""
        self._pins = pins
        self._gate = gate

    def problem(
        self, caller: Caller, session: Session, call: ToolCall, key: object
    ) -> str:
        """Why a call must wait for a person, "" for nothing; raises PinsError.

        Without the key of a server there is nothing to compare with.
        """
        if not isinstance(key, str):
            return ""
        return self._pins.problem(
            _owner(caller, session),
            call.server,
            key,
            call.tool,
            _where(caller, session),
        )

    def listed(self, question: Question, caller: Caller, session: Session) -> Answer:
        """How each tool of a listing stands, after what is new was pinned if asked.

        Raises RedlaneError: then none of it may pass.
        """
        stopped = why_stopped(session)
        if stopped:
            raise QuestionError(stopped)
        asked = _read(question, caller, session)
        owner = _owner(caller, session)
        if asked.step is Step.PIN:
            if asked.unusable:
                raise QuestionError("there is a tool that cannot be pinned")
            return self._pin(owner, asked.listing, caller, session)
        if asked.step is Step.BLOCK:
            return self._block(owner, asked.listing, caller, session)
        stands = self._pins.look(owner, asked.listing)
        self._write_down(asked.listing, stands, caller, session)
        found: list[ToolStatus] = [("", "")] * len(question.blobs)
        for place, tool, each in zip(
            asked.places, asked.listing.tools, stands, strict=True
        ):
            found[place] = _told(asked.listing, tool, each)
        for place, reason in asked.unusable:
            found[place] = ("unusable", reason)
        return _statuses(found)

    def _pin(
        self, owner: int | None, listing: Listing, caller: Caller, session: Session
    ) -> Answer:
        try:
            new = self._pins.pin(owner, listing)
        except AgainError as error:
            return Answer(Decision.BLOCK, str(error), again=True)
        if new:
            reason = f"{len(new)} tools of MCP server {listing.name!r} are pinned now"
            verdict = Verdict(Decision.ALLOW, reason, pin_policy("pinned"))
            self._record(listing, new, verdict, caller, session)
        return _statuses(())

    def _block(
        self, owner: int | None, listing: Listing, caller: Caller, session: Session
    ) -> Answer:
        new = self._pins.block(owner, listing)
        if new:
            reason = (
                f"{len(new)} tools of MCP server {listing.name!r} say what is blocked"
            )
            policy = pin_policy(FindingKind.BLOCKED.value)
            verdict = Verdict(Decision.FLAG, reason, policy)
            self._record(listing, new, verdict, caller, session)
        return _statuses(())

    def _write_down(
        self,
        listing: Listing,
        stands: Sequence[PinStatus],
        caller: Caller,
        session: Session,
    ) -> None:
        """One event for each kind of what was found now."""
        pairs = list(zip(listing.tools, stands, strict=True))
        for kind in FindingKind:
            found = [
                (tool, each.found)
                for tool, each in pairs
                if each.found is not None and each.is_fresh and each.found.kind is kind
            ]
            if found:
                tool, first = found[0]
                text = told(listing.name, listing.key, tool.name, first)
                more = f", and {len(found) - 1} more" if len(found) > 1 else ""
                verdict = Verdict(Decision.FLAG, text + more, pin_policy(kind.value))
                names = [each.name for each, _ in found]
                self._record(listing, names, verdict, caller, session)

    def _record(
        self,
        listing: Listing,
        tools: Sequence[str],
        verdict: Verdict,
        caller: Caller,
        session: Session,
    ) -> None:
        self._gate.record(
            pin_record(listing.name, tools),
            session,
            replace(verdict, role=session.role, context=Context.MCP.value),
            pid=caller.pid,
            details=(f"started: {shown(listing.started)}",),
        )


def pin_policy(what: str) -> str:
    """What stands in an event in the place of a policy."""
    return f"builtin:tool-{what}"


def pin_record(server: str, tools: Sequence[str]) -> TextContent:
    """The content of an event about tools of a server."""
    text = json.dumps({"server": server, "tools": list(tools)}, ensure_ascii=False)
    return TextContent(Context.MCP, text.encode(errors="replace"))


def _owner(caller: Caller, session: Session) -> int | None:
    """Whose pins count: those of the user whose session it is."""
    return caller.owner if caller.is_outside else session.owner


def _where(caller: Caller, session: Session) -> str:
    """The session that a caller is in; "" outside of any."""
    return "" if caller.is_outside else session.id


def _told(listing: Listing, tool: ListedTool, status: PinStatus) -> ToolStatus:
    if status.found is not None:
        return "flagged", told(listing.name, listing.key, tool.name, status.found)
    return ("new" if status.is_new else "pinned"), ""


def _statuses(tools: Sequence[ToolStatus]) -> Answer:
    """The answer that tells how each tool stands, and why."""
    return Answer(Decision.ALLOW, tools=tuple(tools))


def _read(question: Question, caller: Caller, session: Session) -> _Asked:
    """The listing of a question; raises QuestionError."""
    listed = question.listed
    if listed is None:
        raise QuestionError("the question has not the form of one")
    if len(question.blobs) > _MOST_TOOLS:
        raise QuestionError(f"more than {_MOST_TOOLS} tools are listed at once")
    tools: dict[int, ListedTool] = {}
    unusable = []
    for place, blob in enumerate(question.blobs):
        try:
            tools[place] = _tool(blob)
        except QuestionError as error:
            unusable.append((place, f"{error}, so it cannot be pinned"))
    _check_names(tools.values())
    listing = Listing(
        listed.server,
        listed.started,
        tuple(tools.values()),
        is_last=listed.is_last,
        lister=caller.pid,
        session=_where(caller, session),
    )
    return _Asked(listed.step, listing, tuple(tools), tuple(unusable))


def _tool(blob: bytes) -> ListedTool:
    """A tool that can be pinned; raises QuestionError for another."""
    if len(blob) > _LONGEST_SPELLING:
        raise QuestionError(f"a tool is longer than {_LONGEST_SPELLING} bytes")
    try:
        value = parse_json(blob)
    except JsonError:
        value = None
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        raise QuestionError("a tool has no name of usual length")
    if sum(each.casefold() == "name" for each in value) > 1:
        raise QuestionError("a tool has a name that only some readers see")
    text = canonical(value)
    if len(text) > _LONGEST_DEFINITION:
        raise QuestionError(
            f"the definition of tool {one_line(repr(name))} is longer than "
            f"{_LONGEST_DEFINITION} characters"
        )
    return ListedTool(name, text)


def _check_names(tools: Iterable[ListedTool]) -> None:
    """Refuse two tools of one name: nobody knows which of them is called."""
    texts: dict[str, str] = {}
    for tool in tools:
        if texts.setdefault(tool.name, tool.text) != tool.text:
            # Its name is a text of the server's: the reason goes where nobody judges.
            raise QuestionError("a tool is listed twice, and not alike")
