"""Seccomp filters, assembled: for each system call rules, of which the first wins.

libseccomp builds filters too, but lets no rule of a call stand before another: "refuse
this process id, ask about all others" cannot be told to it. Calls are found by halving,
and one that no rule is about meets no argument, so the kernel may skip the filter.
"""

import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redlane_context_syscall.numbers import NATIVE

__all__ = ["ALLOW", "NOTIFY", "Condition", "Rule", "assemble", "errno_of", "refuse"]

ALLOW = 0x7FFF0000
NOTIFY = 0x7FC00000
_ERRNO = 0x00050000
_KILL_PROCESS = 0x80000000

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP, _EQUAL, _AT_LEAST = 0x05, 0x15, 0x35
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_LOW_WORD_AT = 0 if sys.byteorder == "little" else 4
_HIGH_WORD_AT = 4 - _LOW_WORD_AT
_WORD = 0xFFFFFFFF
_FARTHEST, _LONGEST = 255, 4096
_OTHER_ABI = 0x40000000  # x32's numbers on x86_64; nobody else's reach so far
_NO_SUCH_CALL = 38  # ENOSYS

_INSTRUCTION = struct.Struct("=HBBI")
_Instruction = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Condition:
    """The low half of an argument, masked, is one of `values`; or none if `negated`.

    Ids, flags, commands and signals are 32 bits wide to the kernel, whatever a program
    leaves in the upper half of the register. `is_upper` looks at that: addresses fill
    both.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = _WORD
    negated: bool = False
    is_upper: bool = False

    def holds(self, arguments: Sequence[int]) -> bool:
        """Whether it does for these registers."""
        half = arguments[self.argument] >> (32 if self.is_upper else 0)
        found = half & self.mask in {each & _WORD for each in self.values}
        return found is not self.negated


@dataclass(frozen=True, slots=True)
class Rule:
    """What the kernel does with a call (SECCOMP_RET_…) when all conditions hold."""

    action: int
    when: tuple[Condition, ...] = ()


def refuse(error: int) -> int:
    """The action of failing with an errno; with 0, of success without doing it."""
    return _ERRNO | error


def errno_of(action: int) -> int | None:
    """The errno that an action fails with, 0 for success; None for other actions."""
    return action & 0xFFFF if action & ~0xFFFF == _ERRNO else None


def assemble(calls: Mapping[int, Sequence[Rule]], arch: int = NATIVE) -> bytes:
    """The filter: an array of `struct sock_filter`; what no rule is about is allowed.

    Calls of another architecture kill the process. Raises ValueError when it would be
    longer than the kernel takes.
    """
    code: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _OTHER_ABI),
        (_RETURN, 0, 0, refuse(_NO_SUCH_CALL)),
        *_halved(sorted(calls.items())),
    ]
    if len(code) > _LONGEST:
        raise ValueError(f"the filter has {len(code)} instructions, over {_LONGEST}")
    return b"".join(_INSTRUCTION.pack(*each) for each in code)


def _halved(calls: Sequence[tuple[int, Sequence[Rule]]]) -> list[_Instruction]:
    """Code that finds the call's number among these, and ends in any case."""
    if not calls:
        return [(_RETURN, 0, 0, ALLOW)]
    if len(calls) == 1:
        number, rules = calls[0]
        allow = [(_RETURN, 0, 0, ALLOW)]
        return _unless(_EQUAL, number, _ruled(rules), allow)
    middle = len(calls) // 2
    upper, lower = _halved(calls[middle:]), _halved(calls[:middle])
    return _unless(_AT_LEAST, calls[middle][0], upper, lower)


def _unless(
    test: int, value: int, when: list[_Instruction], otherwise: list[_Instruction]
) -> list[_Instruction]:
    """Both branches end by themselves; a conditional jump reaches only so far."""
    if len(when) <= _FARTHEST:
        return [(test, 0, len(when), value), *when, *otherwise]
    return [(test, 1, 0, value), (_JUMP, 0, 0, len(when)), *when, *otherwise]


def _ruled(rules: Sequence[Rule]) -> list[_Instruction]:
    code: list[_Instruction] = []
    for rule in rules:
        code += _tested(rule)
        if not rule.when:
            return code
    return [*code, (_RETURN, 0, 0, ALLOW)]


def _tested(rule: Rule) -> list[_Instruction]:
    """Code that returns the action, or falls out of its end."""
    code: list[_Instruction] = [(_RETURN, 0, 0, rule.action)]
    for condition in reversed(rule.when):
        code = [*_compared(condition, len(code)), *code]
    return code


def _compared(condition: Condition, rest: int) -> list[_Instruction]:
    """Code that goes on after itself when the condition holds, else `rest` further."""
    if len(condition.values) + rest > _FARTHEST:
        raise ValueError("too many values for one condition")
    half = _HIGH_WORD_AT if condition.is_upper else _LOW_WORD_AT
    at = _ARGUMENTS_AT + 8 * condition.argument + half
    code: list[_Instruction] = [(_LOAD, 0, 0, at)]
    if condition.mask != _WORD:
        code.append((_AND, 0, 0, condition.mask))
    hit, miss = (rest, 0) if condition.negated else (0, rest)
    for left in reversed(range(len(condition.values))):
        value = condition.values[-1 - left] & _WORD
        code.append((_EQUAL, left + hit, miss if left == 0 else 0, value))
    if not condition.values and not condition.negated:
        code.append((_JUMP, 0, 0, rest))
    return code
