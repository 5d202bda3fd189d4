"""Which policies take part in which context (policy format: Contexts)."""

from typing import Any

import pytest
from spec.cases import Case, Judge, regex, simple
from spec.redlane_home import Home

CONTENT: dict[str, object] = {
    "Shell": "echo lanemark",
    "Network": "GET http://lanemark/ HTTP/1.1\n\n",
    "Inbound": "<p>lanemark</p>",
    "Mcp": {"server": "s", "tool": "t", "arguments": {"a": "lanemark"}},
    "Syscall": {"syscall": "open", "paths": ["/lanemark"]},
}
FIELDS: dict[str, dict[str, Any]] = {
    "Shell": {"context": "Shell"},
    "Network": {"context": "Network"},
    "Inbound": {"context": "Inbound"},
    "Mcp": {"context": "Mcp"},
    "Syscall": {"context": "Syscall", "syscall": "open"},
    "All": {"context": "All"},
    "default": {},
    "null": {"context": None},
    "All-with-syscall": {"context": "All", "syscall": "open"},
    "default-with-syscall": {"syscall": ["open", "openat"]},
}


def _applies(policy: str, content: str) -> bool:
    if policy == content:
        return True
    if policy in ("All", "default", "null"):
        return content != "Syscall"
    return policy.endswith("with-syscall")


CASES = tuple(
    Case(
        f"{kind}-{policy}-on-{context}".lower(),
        (make("Block", "lanemark", **fields),),
        content,
        "BLOCK" if _applies(policy, context) else "ALLOW",
        0 if _applies(policy, context) else None,
        context=context,
    )
    for kind, make in (("simple", simple), ("regex", regex))
    for policy, fields in FIELDS.items()
    for context, content in CONTENT.items()
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_policy_applies_to_its_context(judge: Judge, case: Case) -> None:
    case.check(judge(case))


def _all_contexts(home: Home, *policies: dict[str, Any]) -> dict[str, Any]:
    numbered = [{"id": f"p{n}", **policy} for n, policy in enumerate(policies)]
    home.policies(*numbered)
    home.role("agent", *(each["id"] for each in numbered))
    return home.verdict("lanemark", "agent", "All")


@pytest.mark.parametrize("context", ["Shell", "Network", "Inbound", "All"])
def test_validate_all_judges_as_each_text_context(home: Home, context: str) -> None:
    verdict = _all_contexts(home, simple("Block", "lanemark", context=context))

    assert (verdict["verdict"], verdict["policy"]) == ("BLOCK", "p0")
    assert verdict["context"] == "All"


def test_validate_all_leaves_out_mcp_and_syscall(home: Home) -> None:
    verdict = _all_contexts(
        home,
        simple("Block", "lanemark", context="Mcp"),
        simple("Block", "lanemark", context="Syscall", syscall="open"),
    )

    assert (verdict["verdict"], verdict["policy"]) == ("ALLOW", None)


def test_validate_all_gives_the_most_severe_verdict(home: Home) -> None:
    strip = {"type": "Regex", "pattern": "mark", "replacement": ""}
    verdict = _all_contexts(
        home,
        simple("Modify", "lanemark", context="Shell", transform=strip),
        simple("Allow", "lanemark", context="Network"),
        simple("Block", "lanemark", context="Inbound"),
    )

    assert (verdict["verdict"], verdict["policy"]) == ("BLOCK", "p2")


def test_validate_all_puts_flag_over_modify_and_allow(home: Home) -> None:
    strip = {"type": "Regex", "pattern": "mark", "replacement": ""}
    verdict = _all_contexts(
        home,
        simple("Modify", "lanemark", context="Shell", transform=strip),
        simple("Allow", "lanemark", context="Network"),
        simple("Flag", "lanemark", context="Inbound"),
    )

    assert (verdict["verdict"], verdict["policy"]) == ("FLAG", "p2")


def test_validate_all_is_not_rescued_by_an_allow_elsewhere(home: Home) -> None:
    verdict = _all_contexts(
        home,
        simple("Block", "lanemark"),
        simple("Allow", "lanemark", context="Shell"),
        simple("Allow", "lanemark", context="Network"),
    )

    assert verdict["verdict"] == "BLOCK"
