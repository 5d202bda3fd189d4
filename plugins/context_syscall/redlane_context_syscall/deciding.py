"""What is ruled on a call, remembered as long as the rules stay what they are.

A program opens the same files again and again, and a judge answers from many patterns:
the rulings of one generation are kept by the call's name and candidates.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from errno import EACCES, EPERM
from typing import NoReturn

from redlane.api import Judge, Ruling, SystemCall
from redlane_context_syscall.adopting import lifted
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.mounts import MountTable
from redlane_context_syscall.processes import Described

__all__ = ["Candidates", "Decisions"]

Candidates = tuple[bytes | None, ...]
"""Each path of a call, as written and as it is in truth; None cannot be read."""

_PLACES = "builtin:writable"  # as a directory that is not the user's to write to
_MOST_KEPT = 65_536
_LONGEST_KEPT = 16  # candidates: whole directories are asked about just once
_DESCRIBED = frozenset({"pid", "ppid", "command", "session"})


def _nobody(_call: SystemCall, _ruling: Ruling) -> None:
    """Tell nobody."""


class Decisions:
    """Rules on calls, reports what is refused or flagged, and kills where asked to."""

    def __init__(
        self,
        judge: Judge,
        describe: Callable[[Notification], Described],
        kill: Callable[[Notification], None],
        session: str = "",
        refused: Callable[[SystemCall, Ruling], None] = _nobody,
        *,
        program: Callable[[Notification], str] = lambda _: "",
    ) -> None:
        """Ask `judge`; `describe` tells of a caller, `kill` ends its process.

        `refused` is told of every call that is, while its caller waits. `program` tells
        the canonical path of what a caller runs, "" where none can be.
        """
        self._judge = judge
        self._describe = describe
        self._kill = kill
        self._session = session
        self._refused = refused
        self._program = program
        self._generation = judge.generation
        self._kept: dict[tuple[str, Candidates, Candidates], Ruling] = {}
        self._table = MountTable()
        self._mounts = self._table.current()

    def check(
        self,
        notification: Notification,
        name: str,
        candidates: Candidates = (),
        changed: Candidates = (),
    ) -> None:
        """Return when the call may go on; raises PermissionError otherwise.

        `changed` are true paths of what it would make, change or remove. What is
        refused or flagged is reported; a process is killed before it could see the
        refusal.
        """
        ruling = self.ruling(notification, name, candidates, changed)
        if ruling.allowed and not ruling.flagged:
            return
        self._report(notification, name, candidates, ruling, changed)
        if not ruling.allowed:
            if ruling.kill:
                with lifted():
                    self._kill(notification)
            is_by_place = ruling.policy == _PLACES
            raise PermissionError(EACCES if is_by_place else EPERM, ruling.reason)

    def would_block(
        self,
        notification: Notification,
        name: str,
        candidates: Candidates,
        changed: Candidates = (),
    ) -> bool:
        """Whether such a call of the same process would be refused; reports nothing."""
        return not self.ruling(notification, name, candidates, changed).allowed

    def refuse(
        self,
        notification: Notification,
        name: str,
        reason: str,
        candidates: Candidates = (),
    ) -> NoReturn:
        """Refuse what cannot be done faithfully, whatever the policies say of it."""
        ruling = Ruling(allowed=False, reason=reason)
        self._report(notification, name, candidates, ruling)
        raise PermissionError(EPERM, reason)

    def _report(
        self,
        notification: Notification,
        name: str,
        candidates: Candidates,
        ruling: Ruling,
        changed: Candidates = (),
    ) -> None:
        """Have an event written, with what is known of the caller while it waits."""
        call = self._call(notification, name, candidates, changed)
        with lifted():
            call = replace(call, details=dict(call.details))
            self._judge.report(call, ruling)
            if not ruling.allowed:
                self._refused(call, ruling)

    def is_slow(self, name: str) -> bool:
        """Whether a ruling on such calls may take seconds."""
        return name in self._judge.is_slow

    def ruling(
        self,
        notification: Notification,
        name: str,
        candidates: Candidates,
        changed: Candidates = (),
    ) -> Ruling:
        """The ruling, from memory if it is there."""
        generation, mounts = self._judge.generation, self._table.current()
        if generation != self._generation or mounts is not self._mounts:
            self._kept, self._generation, self._mounts = {}, generation, mounts
        kept = self._kept
        key = (name, candidates, changed)
        ruling = kept.get(key)
        if ruling is None:
            # Who is asked has to see the supervisor, not the caller it acts for.
            with lifted():
                call = self._call(notification, name, candidates, changed)
                ruling = self._judge.rule(call)
            # An answer to rules that have changed meanwhile must not outlive them.
            is_lasting = ruling.lasting and len(candidates) <= _LONGEST_KEPT
            is_now = self._judge.generation == generation and self._mounts is mounts
            if is_lasting and is_now:
                if len(kept) >= _MOST_KEPT:
                    kept.clear()
                kept[key] = ruling
        return ruling

    def _call(
        self,
        notification: Notification,
        name: str,
        candidates: Candidates,
        changed: Candidates,
    ) -> SystemCall:
        """The call as judges and events see it."""
        tell = (self._describe, self._program)
        details = _Details(*tell, notification, self._session)
        mounts = self._mounts
        others = [o for each in candidates if each for o in mounts.others(each)]
        seen = tuple(dict.fromkeys((*candidates, *others)))
        return SystemCall(name, _texts(seen), details, _texts(changed))


def _texts(paths: Candidates) -> tuple[str | None, ...]:
    return tuple(
        None if each is None else each.decode(errors="surrogateescape")
        for each in paths
    )


class _Details(Mapping[str, object]):
    """What else there is to tell of a call, read when somebody first wants to know.

    Most rules look at paths alone, and reading this takes longer than they do.
    """

    __slots__ = ("_describe", "_notification", "_program", "_session", "_told")

    def __init__(
        self,
        describe: Callable[[Notification], Described],
        program: Callable[[Notification], str],
        notification: Notification,
        session: str,
    ) -> None:
        self._describe = describe
        self._program = program
        self._notification = notification
        self._session = session
        self._told: dict[str, object] | None = None

    def told(self) -> dict[str, object]:
        """All of it."""
        if self._told is None:
            caller = self._describe(self._notification)
            self._told = {
                "args": list(self._notification.args),
                "pid": caller.pid,
                "ppid": caller.ppid,
                "command": caller.command,
                "session": self._session,
            }
        return self._told

    def __getitem__(self, name: str) -> object:
        # Every call is asked for what it never has, and some for its registers.
        if name == "args":
            return list(self._notification.args)
        if name == "program":  # for judges alone: it is known while the caller waits
            return self._program(self._notification)
        if name not in _DESCRIBED:
            raise KeyError(name)
        return self.told()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.told())

    def __len__(self) -> int:
        return len(self.told())
