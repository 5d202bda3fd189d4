"""An Allow that matches everything is legal, never silent (policy format: Actions)."""

import pytest
from spec.cases import executable, mcp_tool, regex, simple
from spec.redlane_home import Checked, Home

BROAD = {
    "dot-star": regex("Allow", ".*"),
    "dot-plus": regex("Allow", ".+"),
    "caret": regex("Allow", "^"),
    "empty-regex": regex("Allow", ""),
    "empty-simple": simple("Allow", ""),
    "dot": regex("Allow", "."),
    "caret-dot-star-dollar": regex("Allow", "^.*$"),
    "inline-s-dot-star": regex("Allow", "(?s).*"),
    "text-start": regex("Allow", r"\A"),
    "dollar": regex("Allow", "$"),
    "grouped": regex("Allow", "(.*)"),
    "non-greedy": regex("Allow", ".*?"),
    "optional": regex("Allow", "(ls)?"),
    "alternative-empty": regex("Allow", "ls|"),
    "alternative-everything": regex("Allow", "^ls$|.*"),
    "everything-class": regex("Allow", r"[\s\S]*"),
    "one-context": regex("Allow", ".*", context="Shell"),
}
NARROW = {
    "command": regex("Allow", "^ls$"),
    "command-with-arguments": regex("Allow", "^git .*$"),
    "word": simple("Allow", "ls -la"),
    "literal-dot-star": simple("Allow", ".*"),
    "block-everything": regex("Block", ".*"),
    "flag-everything": regex("Flag", ".+"),
    "checker": executable("Allow", "grep -q x"),
    "mcp-server": mcp_tool("Allow", server="files"),
    "mcp-tool": mcp_tool("Allow", tool="read"),
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    home = Home(tmp_path_factory.mktemp("broad"))
    for name, policy in {**BROAD, **NARROW}.items():
        home.policies({"id": name, **policy}, file=f"{name}.json")
    home.role("agent", *BROAD, *NARROW)
    return home.check()


@pytest.mark.parametrize("name", BROAD)
def test_config_check_warns_of_a_broad_allow(checked: Checked, name: str) -> None:
    assert checked.code == 0
    assert [each["subject"] for each in checked.warnings_in(f"{name}.json")].count(name)
    assert not checked.errors_in(f"{name}.json")


@pytest.mark.parametrize("name", NARROW)
def test_config_check_does_not_warn_of_others(checked: Checked, name: str) -> None:
    warnings = checked.warnings_in(f"{name}.json")
    assert not [each for each in warnings if "everything" in each["message"]]
    assert not checked.errors_in(f"{name}.json")


@pytest.mark.parametrize("make", [simple, regex], ids=["simple", "regex"])
def test_an_empty_pattern_is_a_warning_whatever_the_action(
    home: Home, make: "type"
) -> None:
    home.policies({"id": "p", **make("Block", "")})

    checked = home.check()

    assert checked.code == 0
    assert [each["subject"] for each in checked.warnings] == ["p"]


def test_startup_logs_a_broad_allow(home: Home) -> None:
    home.policies({"id": "wide-open", **regex("Allow", ".*")})
    home.role("agent", "wide-open")

    ran = home.start("--role", "agent")

    assert "wide-open" in home.everything_said(ran)


def test_startup_logs_inbound_policies_without_tls_interception(home: Home) -> None:
    home.policies({"id": "p", **simple("Block", "x", context="Inbound")})
    home.role("agent", "p")

    said = home.everything_said(home.start("--role", "agent"))

    assert "inbound" in said.lower()
    assert "tls" in said.lower()
