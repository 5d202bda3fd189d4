"""A decision is about exactly what was shown: whatever else is another subject."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.holding import Circumstances, subject_of
from redlane.model.content import TextContent
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict


def text(data: bytes) -> TextContent:
    return TextContent(Context.SHELL, data)


FLAGGED = Verdict(Decision.FLAG, "why", role="dev", context="Shell", policy="p")
AROUND = Circumstances(("directory: /a", "$0: x"), "/a", lambda: b"files")
SAME: dict[str, Any] = {
    "contents": [text(b"rm x")],
    "verdict": FLAGGED,
    "session": "s",
    "around": AROUND,
}
OTHER: dict[str, dict[str, Any]] = {
    "content": {"contents": [text(b"rm y")]},
    "one more content": {"contents": [text(b"rm x"), text(b"")]},
    "other parts": {"contents": [text(b"rm"), text(b" x")]},
    "content of another context": {"contents": [TextContent(Context.MCP, b"rm x")]},
    "reason": {"verdict": replace(FLAGGED, reason="why else")},
    "rules": {"verdict": replace(FLAGGED, ruleset="new")},
    "session": {"session": "t"},
    "role": {"verdict": replace(FLAGGED, role="ops")},
    "policy": {"verdict": replace(FLAGGED, policy="q")},
    "context": {"verdict": replace(FLAGGED, context="Mcp")},
    "rewrite": {"verdict": replace(FLAGGED, content=b"")},
    "directory": {"around": replace(AROUND, cwd="/b")},
    "no directory": {"around": replace(AROUND, cwd=None)},
    "arguments": {"around": replace(AROUND, details=("directory: /a", "$0: y"))},
    "files": {"around": replace(AROUND, witness=lambda: b"changed")},
}


@pytest.mark.parametrize("fields", OTHER.values(), ids=OTHER)
def test_what_differs_is_another_subject(fields: dict[str, Any]) -> None:
    assert subject_of(**{**SAME, **fields}) != subject_of(**SAME)


def test_what_cannot_be_told_is_never_the_same() -> None:
    around = replace(AROUND, witness=lambda: None)
    assert subject_of(**{**SAME, "around": around}) == b""


@given(st.lists(st.integers(0, 9), max_size=4), st.lists(st.integers(0, 9), max_size=4))
def test_contents_are_told_apart_however_a_text_is_cut(
    one: list[int], other: list[int]
) -> None:
    data = b"0123456789"
    cuts = [[0, *sorted(each), len(data)] for each in (one, other)]
    parts = [[text(data[a:b]) for a, b in pairwise(each)] for each in cuts]
    subjects = [subject_of(**{**SAME, "contents": each}) for each in parts]
    assert (subjects[0] == subjects[1]) is (cuts[0] == cuts[1])
