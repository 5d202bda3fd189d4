"""What an answer tells besides is bounded in the verdict, and redacted in the event."""

import json
import math
from typing import Any

import pytest

from redlane.engine.answers import details_of, score_of
from redlane.model.matching import Answer, Outcome
from redlane.state.redaction import redact_details

SCORES = {
    "a fraction": (0.5, 0.5),
    "an integer": (1, 1.0),
    "a boolean": (True, None),
    "not a number": (math.nan, None),
    "infinite": (-math.inf, None),
    "text": ("0.5", None),
    "nothing": (None, None),
    "too large for JSON": (10**400, None),
}


@pytest.mark.parametrize(("score", "told"), SCORES.values(), ids=SCORES)
def test_score_is_a_finite_number_or_none(score: Any, told: float | None) -> None:
    assert score_of(Answer(0, Outcome.YES, score=score)) == told


@pytest.mark.parametrize(
    ("details", "told"),
    [
        ({}, {}),
        ({"b": 1, "a": "x"}, {"a": "x", "b": 1}),
        ({"a": None, "b": False, "c": 0.5}, {"a": None, "b": False, "c": 0.5}),
        ({"a": [1], "b": {}, "c": b"x", "d": math.nan, "e": 10**4000}, {}),
        ({1: "x", "n" * 65: "x"}, {}),
        ({"a\nb": "x\x1b[31m\ud800"}, {"a b": "x [31m "}),
        ({"a\nb": "x", "a b": 3}, {"a b": 3}),
        ({"a": "x" * 1000}, {"a": "x" * 300 + "…"}),
        ({f"{n:02}": n for n in range(20)}, {f"{n:02}": n for n in range(16)}),
    ],
    ids=range(9),
)
def test_details_are_few_short_and_of_forms_that_json_has(
    details: Any, told: dict[str, object]
) -> None:
    found = details_of(Answer(0, Outcome.YES, details=details))
    assert found == told
    assert json.dumps(found, allow_nan=False) == json.dumps(found, sort_keys=True)


def test_secrets_in_details_are_not_written_down() -> None:
    details = {
        "api_key": "x1",
        "token": 12345,
        "seen": "curl -H 'Authorization: Bearer abcdef'",
        "ghp_0123456789abcdefghij": "x",
        "words": 3,
    }
    written = redact_details(details)
    assert list(written) == ["api_key", "seen", "token", "words"]
    assert written["words"] == 3
    assert not [each for each in ("x1", "12345", "abcdef") if each in str(written)]
