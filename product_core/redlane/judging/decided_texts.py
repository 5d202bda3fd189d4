"""What was decided on a text, for the parts of it that ask again.

A program of a text that was held is asked about when it starts, by itself or in a shell
of its own. Where it was seen, nobody is asked twice: an allow holds for what the text's
process and those below it do, so often and so long, and a block for a part that whoever
had started that process tries at once in its place.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redlane.judging.asking_shells import AskingShells
from redlane.judging.held_command import HeldCommand
from redlane.judging.seen_texts import Place, Seen
from redlane.model.verdict import Verdict
from redlane.processes import Process, ProcessUnreadableError, ancestry
from redlane.state.clock import uptime
from redlane.state.review import Review, ReviewState
from redlane.state.sessions import Session

__all__ = ["DecidedText", "DecidedTexts"]

_MOST = 128
"""Few: each has its text with it."""
_MOST_USES = 32
_ALLOWED_SECONDS = 3600.0
_BLOCKED_SECONDS = 2.0
"""So soon a program does without its helper; a model takes longer to try again."""

_Key = tuple[int, int]


@dataclass(slots=True)
class _Decided:
    """What was decided, and for which process: a text's, or that one's parent."""

    seen: Seen
    about: tuple[object, ...]
    review: Review
    until: float
    uses: int = 0


class DecidedTexts:
    """Remembers the latest decisions; safe for several threads."""

    def __init__(self, clock: Callable[[], float] = uptime, most: int = _MOST) -> None:
        """Keep `most` of each kind; `clock` counts seconds."""
        self._clock = clock
        self._most = most
        self._shells = AskingShells()
        self._lock = threading.Lock()
        self._allowed: OrderedDict[_Key, _Decided] = OrderedDict()
        self._blocked: OrderedDict[_Key, _Decided] = OrderedDict()

    def keep(
        self, asked: HeldCommand, session: Session, verdict: Verdict, review: Review
    ) -> bool:
        """Remember what became of a text that was flagged; whether that was done."""
        seen, chain = asked.seen(), _chain(asked.pid)
        if seen is None or len(chain) < 2 or not self._shells.is_guarded(asked.pid):  # noqa: PLR2004  # it and its parent
            return False
        about, now = _about(session, verdict), self._clock()
        if review.state is ReviewState.ALLOWED:
            kept, key, until = self._allowed, chain[0].key, now + _ALLOWED_SECONDS
        elif review.state is ReviewState.BLOCKED:
            kept, key, until = self._blocked, chain[1].key, now + _BLOCKED_SECONDS
        else:
            return False
        with self._lock:
            kept[key] = _Decided(seen, about, review, until)
            kept.move_to_end(key)
            while len(kept) > self._most:
                kept.popitem(last=False)
        return True

    def find(
        self, asked: HeldCommand, session: Session, verdict: Verdict
    ) -> Review | None:
        """The decision that holds for what is flagged now as well, if there is one."""
        about, chain, part = _about(session, verdict), _chain(asked.pid), asked.part()
        if part is None:
            return None
        with self._lock:
            found = [(place, self._allowed.get(e.key)) for place, e in enumerate(chain)]
            # Outside of sessions a parent is somebody's shell, who may mean it again.
            if session.root_pid is not None and len(chain) > 1:
                blocked = self._blocked.get(chain[1].key)
                # So may who asks the same again; a part of it is a try without it.
                if blocked is not None and blocked.seen.data != part.data:
                    found.append((-1, blocked))
        for place, decided in found:
            if decided is None or decided.about != about:
                continue
            where = self._place(chain[: place + 1])
            if part.stands_in(decided.seen, where) and self._use(decided):
                return decided.review
        return None

    def _place(self, chain: Sequence[Process]) -> Place:
        """Where the first one stands, seen from the process of a text, which is last.

        A fork of the text's shell is that shell as well. Of what was blocked, which has
        no process any more, the place does not count.
        """
        if not chain:
            return Place.OF_ITS_SHELL
        if len(chain) == 1:
            return Place.ITSELF
        *between, shell = chain[1:]
        is_own = all(e.is_fork for e in between) and self._shells.is_systems(shell.pid)
        return Place.OF_ITS_SHELL if is_own else Place.BELOW

    def _use(self, decided: _Decided) -> bool:
        with self._lock:
            decided.uses += 1
            return decided.uses <= _MOST_USES and self._clock() < decided.until


@dataclass(frozen=True, slots=True)
class DecidedText:
    """One question, as whoever holds it asks what was decided before."""

    texts: DecidedTexts
    asked: HeldCommand
    session: Session

    def find(self, verdict: Verdict) -> Review | None:
        """The decision that holds for it as well, if there is one."""
        return self.texts.find(self.asked, self.session, verdict)

    def keep(self, verdict: Verdict, review: Review) -> bool:
        """Remember what was decided on it; whether that was done."""
        return self.texts.keep(self.asked, self.session, verdict, review)


def _about(session: Session, verdict: Verdict) -> tuple[object, ...]:
    """What has to be the same, whatever the text is."""
    return session.id, verdict.policy, verdict.role, verdict.ruleset


def _chain(pid: int) -> tuple[Process, ...]:
    """A process and those above it; nothing where that cannot be told."""
    try:
        found = ancestry(pid)
    except ProcessUnreadableError:
        return ()
    return () if found is None else found.processes
