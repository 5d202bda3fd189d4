"""Seccomp programs as they are assembled, run by an interpreter of their own."""

import errno
import struct
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_context_syscall.bpf import (
    ALLOW,
    NOTIFY,
    Condition,
    Rule,
    assemble,
    errno_of,
    refuse,
)

_ARCH = 0xC000003E
_KILLED = 0x80000000
_EPERM = refuse(errno.EPERM)
_WORDS = st.integers(0, 2**32 - 1)
_SMALL = st.integers(0, 6)
_REGISTERS = st.builds(lambda high, low: high << 32 | low, _WORDS, _SMALL | _WORDS)
_CONDITIONS = st.builds(
    Condition,
    st.integers(0, 5),
    st.lists(_SMALL | _WORDS, min_size=0, max_size=40).map(tuple),
    st.just(0xFFFFFFFF) | _SMALL | _WORDS,
    st.booleans(),
)
_RULES = st.builds(
    Rule,
    st.sampled_from([_EPERM, NOTIFY, refuse(errno.ENOSYS)]),
    st.lists(_CONDITIONS, max_size=3).map(tuple),
)


def _run(
    program: bytes, number: int, arguments: Sequence[int] = (0,) * 6, arch: int = _ARCH
) -> int:
    """What a kernel would make of one call."""
    data = struct.pack("<IIQ6Q", number, arch, 0, *arguments)
    code = list(struct.iter_unpack("<HBBI", program))
    at = accumulator = 0
    while True:
        operation, jump_true, jump_false, value = code[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x54:
                accumulator &= value
            case 0x05:
                at += value
            case 0x15:
                at += jump_true if accumulator == value else jump_false
            case 0x35:
                at += jump_true if accumulator >= value else jump_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"no instruction: {operation:#x}")


def _expected(
    calls: Mapping[int, Sequence[Rule]], number: int, arguments: Sequence[int]
) -> int:
    for rule in calls.get(number, ()):
        if all(each.holds(arguments) for each in rule.when):
            return rule.action
    return ALLOW


@given(
    st.dictionaries(st.integers(0, 30), st.lists(_RULES, max_size=4), max_size=12),
    st.integers(0, 31),
    st.tuples(*[_REGISTERS] * 6),
)
def test_the_first_rule_that_applies_wins(
    calls: dict[int, list[Rule]], number: int, arguments: tuple[int, ...]
) -> None:
    program = assemble(calls, _ARCH)

    assert _run(program, number, arguments) == _expected(calls, number, arguments)


def test_every_number_of_many_is_found() -> None:
    calls = {number: [Rule(refuse(number + 1))] for number in range(0, 700, 2)}
    program = assemble(calls, _ARCH)

    found = [errno_of(_run(program, number)) for number in range(701)]

    assert found == [None if number % 2 else number + 1 for number in range(700)] + [
        None
    ]


@pytest.mark.parametrize("number", [-1, 0x40000000, 0x40000000 + 2, 0x80000000])
def test_numbers_of_another_table_are_no_calls(number: int) -> None:
    program = assemble({}, _ARCH)

    assert _run(program, number & 0xFFFFFFFF) == refuse(errno.ENOSYS)


def test_another_architecture_ends_the_process() -> None:
    assert _run(assemble({}, _ARCH), 0, arch=0x40000003) == _KILLED


def test_only_the_lower_half_of_a_register_counts() -> None:
    program = assemble({1: [Rule(_EPERM, (Condition(0, (-7,)),))]}, _ARCH)

    seen = [
        _run(program, 1, (value, *[0] * 5))
        for value in (0xFFFFFFF9, 0xDEADBEEF_FFFFFFF9, 7, 0xFFFFFFF8)
    ]

    assert seen == [_EPERM, _EPERM, ALLOW, ALLOW]


def test_a_program_too_long_for_the_kernel_is_an_error() -> None:
    rules = [Rule(_EPERM, (Condition(0, tuple(range(200))),))]

    with pytest.raises(ValueError, match="over 4096"):
        assemble(dict.fromkeys(range(40), rules), _ARCH)


def test_a_condition_too_long_for_a_jump_is_an_error() -> None:
    rule = Rule(_EPERM, (Condition(0, tuple(range(300))),))

    with pytest.raises(ValueError, match="too many"):
        assemble({1: [rule]}, _ARCH)
