"""What was refused of one command, in lines that its reader can act on."""

import os
from dataclasses import dataclass, field

from redlane.api import Ruling, SystemCall, visible

__all__ = ["Refusals"]

_MOST_RULES, _MOST_TOLD = 64, 8
_MOST_CALLS = 3
_LONGEST_PATH, _LONGEST_RULE, _LONGEST_REASON = 160, 100, 240
_BEGIN = b"redlane: "


@dataclass(slots=True)
class _OfRule:
    """The calls that one rule has refused: how many, and the first of them."""

    reason: str
    count: int = 0
    calls: dict[tuple[str, str], None] = field(default_factory=dict)
    others: bool = False


class Refusals:
    """Counts by rule; bounded, however much a command tries."""

    __slots__ = ("_home", "_of", "_others")

    def __init__(self, home: str) -> None:
        """Nothing was refused yet; paths below `home` begin with ~."""
        self._home = home.rstrip("/")
        self._of: dict[str, _OfRule] = {}
        self._others = 0

    def add(self, call: SystemCall, ruling: Ruling) -> None:
        """Count one call."""
        rule = ruling.policy or ""
        key = rule or _reason(rule, ruling.reason)
        found = self._of.get(key)
        if found is None:
            if len(self._of) >= _MOST_RULES:
                self._others += 1
                return
            found = self._of[key] = _OfRule(_reason(rule, ruling.reason))
        found.count += 1
        told = call.name, self._path(call)
        if len(found.calls) < _MOST_CALLS:
            found.calls[told] = None
        elif told not in found.calls:
            found.others = True

    def lines(self) -> list[bytes]:
        """A line for each rule, and one for those that there is no room for."""
        told = [_line(key, each) for key, each in self._of.items()][:_MOST_TOLD]
        left = list(self._of.values())[_MOST_TOLD:]
        more = sum(each.count for each in left) + self._others
        if more:
            told.append(f"… and {_calls(more)} by other rules".encode())
        return [_BEGIN + each + b"\n" for each in told]

    def _path(self, call: SystemCall) -> str:
        """What a call was about: as it is in truth, where that is known."""
        known = [each for each in call.changed or call.paths[-1:] if each is not None]
        known = known or [each for each in call.paths if each is not None]
        return " to ".join(map(self._short, dict.fromkeys(known[:2])))

    def _short(self, path: str) -> str:
        home = self._home
        if home and (path == home or path.startswith(f"{home}/")):
            path = "~" + path[len(home) :]
        return _cut(path, _LONGEST_PATH)


def _line(key: str, refused: _OfRule) -> bytes:
    """One rule's; `key` is its id, or its reason where it has none."""
    calls = ", ".join(f"{name} {path}".rstrip() for name, path in refused.calls)
    others = " and others" if refused.others else ""
    rule = "" if key == refused.reason else f" ({_cut(key, _LONGEST_RULE)})"
    reason = f": {refused.reason}" if refused.reason else ""
    text = f"refused {_calls(refused.count)} of this command: {calls}{others}"
    return visible(os.fsencode(_cut(text, 900) + rule + reason))


def _reason(rule: str, reason: str) -> str:
    """A ruling's reason without the rule's name, which the line has anyway."""
    if rule and reason.startswith("policy "):
        _, named, rest = reason.partition(f"{rule!r} blocks this")
        reason = rest.removeprefix(":").strip() if named else reason
    return _cut(reason, _LONGEST_REASON)


def _calls(count: int) -> str:
    return f"{count} call" if count == 1 else f"{count} calls"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
