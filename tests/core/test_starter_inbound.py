"""What the starter role `developer` holds of what comes back, and what it lets go."""

import json
from pathlib import Path

import pytest
from core.test_starter import starter

from redlane.contexts.parse import parse_contents
from redlane.engine.judge import judge
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict

DATA = Path(__file__).parents[1] / "data"
ORDERS: dict[str, list[str]] = json.loads((DATA / "inbound_orders.json").read_text())
ORDINARY: list[str] = json.loads((DATA / "inbound_ordinary.json").read_text())


def verdict(text: str, role: str = "developer") -> Verdict:
    contents = parse_contents(Context.INBOUND, text.encode())
    return judge(starter().ruleset, role, contents)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=f"{family}: {text[:60]!a}")
        for family, texts in ORDERS.items()
        for text in texts
    ],
)
def test_plain_order_to_the_agent_is_held(text: str) -> None:
    found = verdict(text)
    assert found.decision is Decision.FLAG
    assert found.policy is not None
    assert found.policy.startswith("inbound-")


@pytest.mark.parametrize("text", ORDINARY, ids=ascii)
def test_ordinary_text_goes_on(text: str) -> None:
    assert verdict(text).decision is Decision.ALLOW


def test_order_is_no_matter_to_who_only_observes() -> None:
    order = ORDERS["drops its instructions"][0]
    assert verdict(order, "observe").decision is Decision.ALLOW
