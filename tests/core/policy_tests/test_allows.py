"""`redlane config check` warns of Allows that let more go on than they seem to."""

from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, regex, simple, told
from hypothesis import given
from hypothesis import strategies as st

from redlane.policy_tests.examples import example_of
from redlane.policy_tests.findings import findings_of_tests

BESIDE = "it allows whatever stands beside a command that it matches, such as "


def allow(pattern: str, **fields: Any) -> dict[str, Any]:
    return {**regex("allow", pattern, action="Allow"), **fields}


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path)


def warnings(home: PolicyHome) -> list[str]:
    return [
        message
        for _, name, message in told(tuple(findings_of_tests(home.paths, home.load())))
        if name == "allow"
    ]


@pytest.mark.parametrize(
    ("policy", "example"),
    [
        (allow(r"^make\b"), "make"),
        (allow(r"^(?:npm|yarn)\s+(run\s+)?[a-z]+"), "npm run a"),
        (allow(r"^git[^a-z]status|^hg "), "gitastatus"),
        (allow(r"^rm [\w]{3,}", tests={"match": ["rm abc"]}), "rm abc"),
    ],
)
def test_another_command_beside_what_is_allowed_is_told(
    home: PolicyHome, policy: dict[str, Any], example: str
) -> None:
    home.policies(policy)
    expected = [] if example == "gitastatus" else [f"'{example}; rm -rf ~'"]
    found = [each.removeprefix(BESIDE).partition(":")[0] for each in warnings(home)]
    assert found == expected


@pytest.mark.parametrize(
    "policy",
    [
        allow(r"^make\b", scope="each"),
        allow(r"^make( \w+)*$"),
        allow(r"^https://example\.org/", context="Network"),
        allow("^make", type="Executable"),
        allow("make", type="Simple", context="Shell"),
        allow("make( test)?"),
    ],
)
def test_nothing_is_told_of_what_is_narrow(
    home: PolicyHome, policy: dict[str, Any]
) -> None:
    home.policies(policy)
    assert warnings(home) == []


@pytest.mark.parametrize(
    ("scope", "more"), [("content", ", and what 1 other Block does"), ("each", "")]
)
def test_blocks_that_it_lifts_are_told(home: PolicyHome, scope: str, more: str) -> None:
    home.policies(
        allow(r"^make", scope=scope),
        simple("block", "deploy", tests={"match": ["make deploy", "deploy"]}),
        simple("other", "secret", tests={"match": ["make | cat secret"]}),
        simple("elsewhere", "x", tests={"match": ["make x"]}),
    )
    home.role("r", "allow", "block", "other")
    said = f"in role r it allows what block blocks, such as 'make deploy'{more}"
    assert [each for each in warnings(home) if not each.startswith(BESIDE)] == [said]


def test_what_nothing_lets_go_on_is_not_told(home: PolicyHome) -> None:
    home.policies(
        allow("^unset", scope="each"),
        simple("block", "unset", tests={"match": ["unset REDLANE_SESSION"]}),
    )
    home.role("r", "allow", "block")
    assert warnings(home) == []


@given(st.text())
def test_an_example_is_made_of_any_text(pattern: str) -> None:
    assert isinstance(example_of(pattern), str)
