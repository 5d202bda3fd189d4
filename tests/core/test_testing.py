"""What a plugin's tests are given judges as the daemon does, and hides nothing."""

from collections.abc import Iterable
from typing import Any

import pytest
from engine_samples import SampleType

from redlane.api import MatchType, hookimpl
from redlane.errors import ContentError
from redlane.plugins import find_plugins
from redlane.testing import Decision, LoadError, findings, judge


class Offering:
    """A plugin that is not installed."""

    @hookimpl
    def redlane_match_types(self) -> Iterable[MatchType]:
        return (SampleType("Given"),)


def policy(**fields: Any) -> dict[str, Any]:
    return {"id": "p", "type": "Simple", "action": "Block", "pattern": "rm", **fields}


@pytest.mark.parametrize(
    ("context", "content", "decision"),
    [
        ("Shell", "bash -c 'rm x'", Decision.BLOCK),
        ("Shell", b"ls \xff", Decision.ALLOW),
        ("Network", "GET /rm HTTP/1.1\n\n", Decision.BLOCK),
        ("Inbound", "rm", Decision.BLOCK),
        ("Mcp", {"server": "s", "tool": "t", "arguments": {"a": "rm"}}, Decision.BLOCK),
        ("All", "rm", Decision.BLOCK),
    ],
)
def test_policy_is_judged_in_every_context(
    context: str, content: Any, decision: Decision
) -> None:
    assert judge(policy(), content, context=context).decision is decision


def test_system_call_is_an_object() -> None:
    named = policy(context="Syscall", syscall="unlink", pattern="/etc")
    call = {"syscall": "unlink", "paths": ["/etc/passwd"]}
    assert judge(named, call, context="Syscall").policy == "p"


def test_several_policies_are_one_role() -> None:
    allow = policy(id="a", action="Allow")
    assert judge([policy(), allow], "rm").policy == "a"


def test_plugin_that_is_not_installed_is_used() -> None:
    given = policy(type="Given", pattern="word")
    assert judge(given, "a word", plugin=Offering()).policy == "p"
    with pytest.raises(LoadError, match="no plugin offers"):
        judge(given, "a word")


def test_installed_plugin_may_be_given_as_well() -> None:
    import redlane_match_simple as installed  # noqa: PLC0415  # by this test alone

    assert judge(policy(), "rm", plugin=installed).policy == "p"
    assert find_plugins(installed).conflicts == ()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"pattern": None}, "error: p: Simple policies need `pattern`"),
        ({"type": "Regex", "pattern": "("}, "error: p: "),
        ({"patern": "x"}, "did you mean `pattern`"),
        ({"pattern": ""}, "warning: p: an empty `pattern`"),
        ({"action": "Allow", "pattern": " "}, ""),
    ],
)
def test_findings_are_those_of_config_check(fields: dict[str, Any], told: str) -> None:
    found = findings(policy(**fields))
    assert any(told in each for each in found) or not told
    assert not [each for each in found if "redlane-testing-" in each]


def test_policy_that_does_not_load_is_not_judged() -> None:
    with pytest.raises(LoadError, match=r"error: p: .* \(and 1 more\)"):
        judge(policy(context="Nowhere", action="Deny"), "x")


def test_content_of_another_form_is_told() -> None:
    with pytest.raises(ContentError):
        judge(policy(), "no object", context="Mcp")


def test_settings_count() -> None:
    with pytest.raises(LoadError, match=r"review\.timeout_seconds"):
        judge(policy(), "x", settings={"review": {"timeout_seconds": -1}})
