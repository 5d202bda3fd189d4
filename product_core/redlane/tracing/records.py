"""One thing that a session has done: a line for people, an object for programs."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from redlane.messages import single_line
from redlane.state.redaction import redact

__all__ = ["Record", "What", "read_record"]

_HIDDEN, _PROBE = "[redacted]", "x1Y2z3W4v5U6t7"
_OK, _ASKED = "ok", "asked"
_ASKS, _GUARDS = re.compile(r"program-[0-9]+-(.*)", re.DOTALL), "/dev/fd/"
"""How `redlane-sh` is started in the place of a program, to ask whether it may run."""


class What(StrEnum):
    """What was done."""

    EXEC = "exec"
    OPEN = "open"
    CONNECT = "connect"
    CALL = "call"
    """A system call that policies name, or the call of a tool."""


@dataclass(frozen=True, slots=True)
class Record:
    """What was done, by whom and when, and what came of it.

    `target` is a file, an address, or a command; `words` are those of a program that
    was started, `is_all` unless there were more. `mode` is r, w or rw, with c where
    the file may be made, `directory` the descriptor that a path begins at. `result` is
    `ok`, the name of an error, or a verdict; `asked` where a program that has started
    did not run: the guarded shell is there in its place, and asks.
    """

    time: datetime
    what: What
    target: str
    result: str = _OK
    pid: int | None = None
    program: str = ""
    words: Sequence[str] = ()
    is_all: bool = True
    mode: str = ""
    directory: int | None = None

    @property
    def line(self) -> str:
        """The time, who, what, what came of it, and to what: without line breaks."""
        moment = self.time.astimezone().strftime("%H:%M:%S.%f")[:-3]
        who = f"{'-' if self.pid is None else self.pid:>7} {self.program:<15}"
        return single_line(
            f"{moment} {who} {self.what:<7} {self.result:<9} {self._told}"
        )

    @property
    def _told(self) -> str:
        if self.words:
            rest = "" if self.is_all else " …"
            return f"{self.target}: {shlex.join(_without_secrets(self.words))}{rest}"
        at = "" if self.directory is None else f"{self.directory}:"
        mode = f" ({self.mode})" if self.mode else ""
        return f"{at}{redact(self.target)}{mode}"

    def document(self, session: str, source: str) -> dict[str, Any]:
        """All of it; what there is not is left out."""
        made: dict[str, Any] = {
            "time": self.time.astimezone(UTC).isoformat(timespec="microseconds"),
            "session": session,
            "source": source,
            "pid": self.pid,
            "program": self.program,
            "what": self.what,
            "target": redact(self.target),
            "result": self.result,
        }
        if self.words:
            words = list(_without_secrets(self.words))
            made |= {"words": words, "is_all": self.is_all}
        if self.mode:
            made["mode"] = self.mode
        if self.directory is not None:
            made["directory"] = self.directory
        return made


def _without_secrets(words: Sequence[str]) -> Sequence[str]:
    """The words of a command without what is secret by itself, or by what is before."""
    hidden = [
        _HIDDEN if before[:1] == "-" and _names_secret(before) else redact(word)
        for before, word in zip(("", *words), words, strict=False)
    ]
    line = " ".join(hidden)
    told = redact(line)
    return hidden if told == line else told.split(" ")


def _names_secret(option: str) -> bool:
    """Whether what follows an option is secret, whatever it is."""
    return redact(f"{option} {_PROBE}") != f"{option} {_PROBE}"


def read_record(told: Mapping[str, Any]) -> Record:
    """What the kernel tracer tells; raises KeyError, TypeError or ValueError."""
    words, result = tuple(map(str, told.get("words", ()))), str(told["result"])
    asks = _ASKS.match(words[0]) if words else None
    if asks is not None and str(told["target"]).startswith(_GUARDS):
        words, result = (asks[1], *words[1:]), _ASKED
    return Record(
        datetime.fromtimestamp(told["time"], UTC),
        What(told["what"]),
        str(told["target"]),
        result,
        int(told["pid"]),
        str(told["program"]),
        words,
        bool(told.get("is_all", True)),
        str(told.get("mode", "")),
        told.get("directory"),
    )
