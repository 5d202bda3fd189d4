"""Restrictions in great number, and patterns that are made to be slow."""

import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from restriction_samples import TYPES, added, block, verdict

from redlane.engine.restricting import restrict
from redlane.model.content import TextContent
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.policies.restrictions import (
    MOST_SECONDS,
    RestrictionsError,
    parse_restrictions,
)


def ticking(step: float) -> Callable[[], float]:
    """A clock that goes on by `step` seconds each time it is read."""
    return partial(next, count(0.0, step))


def many(number: int, action: str = "Block") -> list[dict[str, Any]]:
    return [
        block(f"word{place}.", id=f"p{place:04}", action=action)
        for place in range(number)
    ]


@pytest.mark.parametrize("place", [0, 31, 32, 500, 999])
@pytest.mark.parametrize("action", ["Block", "Flag"])
def test_every_one_of_many_restrictions_counts(place: int, action: str) -> None:
    found = verdict([], added(*many(1_000, action)), f"a word{place}. b")
    assert (found.decision.value, found.policy) == (action.upper(), f"p{place:04}")


def test_first_of_many_is_the_one_that_is_told() -> None:
    documents = many(100)
    for each in (documents[70], documents[40], documents[90]):
        each["pattern"] = "bad"
    assert verdict([], added(*documents), "bad").policy == "p0040"


def test_flag_in_front_does_not_hide_a_block_or_a_failure() -> None:
    flags = many(100, "Flag")
    flags[0]["pattern"] = ""
    tool = {"id": "z", "type": "McpTool", "action": "Flag", "server": "files"}
    call = '{"server": "fi\u200bles", "tool": "x"}'
    assert verdict([], added(*flags, tool), call, Context.MCP).policy == "z"
    flags[99] = block(id="zz")
    assert verdict([], added(*flags), "bad").policy == "zz"


def test_restrictions_that_take_too_long_block() -> None:
    content = TextContent(Context.NETWORK, b"good")
    allowed = Verdict(Decision.ALLOW, "", context="Network")
    slices = added(*many(100)).slices
    assert restrict(allowed, slices, [content], timer=ticking(0.1)) == allowed
    late = restrict(allowed, slices, [content], timer=ticking(2.0))
    assert (late.decision, late.policy) == (Decision.BLOCK, None)
    assert "not done with this in time" in late.reason


def test_restrictions_that_take_too_long_to_make_ready_are_refused() -> None:
    value = {"policies": many(100)}
    assert parse_restrictions(value, TYPES, timer=ticking(0.01)).policies
    with pytest.raises(RestrictionsError, match="longer than 5 s"):
        parse_restrictions(value, TYPES, timer=ticking(0.1))


HOSTILE = {
    "states": ["[ab]*a" + "[ab]" * 30 + "[cd]" * (n % 40 + 1) for n in range(1_000)],
    "programs": ["[a-z]{1000}" * 60 + f"|Q{n}" for n in range(1_000)],
    "repeats": [f"(?:[a-z]{{30}}){{30}}|Q{n}" for n in range(1_000)],
    "alternatives": ["(?:a|b)?[xy]*.+c" * 60 + str(n) for n in range(1_000)],
}


@pytest.mark.parametrize("patterns", HOSTILE.values(), ids=[*HOSTILE])
def test_hostile_patterns_are_refused_or_end_in_a_verdict(patterns: list[str]) -> None:
    """As large as may be; a second of the processor for the slowest slice."""
    documents = [
        block(pattern, id=str(n), type="Regex") for n, pattern in enumerate(patterns)
    ]
    begun = time.process_time()
    try:
        slices = added(*documents).slices
    except RestrictionsError:
        assert time.process_time() - begun < 4 * MOST_SECONDS
        return
    content = TextContent(Context.NETWORK, b"abba" * 500)
    allowed = Verdict(Decision.ALLOW, "", context="Network")
    begun = time.process_time()
    found = restrict(allowed, slices, [content])
    assert found.decision in (Decision.ALLOW, Decision.BLOCK)
    assert time.process_time() - begun < 4 * MOST_SECONDS


def test_what_patterns_take_goes_with_the_session() -> None:
    """A match type lives as long as the daemon: what it kept would only ever grow."""
    pattern = "(?:a|é){3}Z"
    slices = added(block(pattern, type="Regex")).slices
    content = TextContent(Context.NETWORK, "aéaZ".encode())
    allowed = Verdict(Decision.ALLOW, "", context="Network")
    assert restrict(allowed, slices, [content]).decision is Decision.BLOCK
    kept = vars(TYPES["Regex"])["_pattern"](pattern)
    assert not [name for name in vars(kept) if name.endswith("_engine")]
