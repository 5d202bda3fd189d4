"""Policies about requests and responses, where no proxy asks them."""

from dataclasses import replace

import pytest
from engine_samples import policy, rules

from redlane.model.policy import Context, Policy
from redlane.model.problem import Severity
from redlane.model.settings import Settings
from redlane.policies.loaded import Loaded
from redlane.policies.ruleset import RuleSet
from redlane.policies.traffic import is_asked, named_traffic, with_proxy

MISSING = "there is none"


def of(*contexts: Context) -> RuleSet:
    made = (policy(f"p{at}", "Block", "x") for at, _ in enumerate(contexts))
    found: list[Policy] = [
        replace(each, context=context)
        for each, context in zip(made, contexts, strict=True)
    ]
    return rules(*found)


def warnings(*contexts: Context) -> list[str]:
    loaded = with_proxy(Loaded(of(*contexts), Settings(), ()), MISSING)
    assert loaded.missing_proxy == MISSING
    assert {each.severity for each in loaded.findings} <= {Severity.WARNING}
    return [each.message for each in loaded.findings]


def test_with_a_proxy_nothing_is_told() -> None:
    loaded = Loaded(of(Context.NETWORK), Settings(), ())
    assert with_proxy(loaded, None) is loaded


@pytest.mark.parametrize("context", [Context.NETWORK, Context.INBOUND])
def test_policies_that_name_traffic_are_told(context: Context) -> None:
    (message,) = warnings(context, Context.ALL)
    assert "nothing asks policy p0 about" in message
    assert "there is none" in message
    assert "refuses roles that hold it" in message


def test_policies_of_every_context_are_told_of_in_one_line() -> None:
    (message,) = warnings(*[Context.ALL] * 5)
    assert message.startswith("policies p0, p1, p2 and 2 more cannot see")


def test_policies_of_other_contexts_are_not_concerned() -> None:
    assert warnings(Context.SHELL, Context.MCP) == []


@pytest.mark.parametrize(
    ("context", "asked"),
    [
        *((each, True) for each in (Context.NETWORK, Context.INBOUND)),
        (Context.MCP, True),
        *((each, False) for each in (Context.SHELL, Context.SYSCALL, Context.ALL)),
    ],
)
def test_requests_are_what_policies_of_these_contexts_are_about(
    context: Context, *, asked: bool
) -> None:
    ruleset = of(context)
    assert is_asked(ruleset, ruleset.roles["r"]) is asked


def test_a_role_names_traffic_by_its_policies() -> None:
    ruleset = of(Context.NETWORK, Context.ALL, Context.INBOUND, Context.SHELL)
    assert named_traffic(ruleset, "r") == ("p0", "p2")
    assert named_traffic(ruleset, "other") == ()
    assert named_traffic(ruleset, None) == ()
    added = of(Context.NETWORK).rules("r")
    assert added is not None
    assert named_traffic(of(Context.SHELL), "r", (added,)) == ("p0",)
