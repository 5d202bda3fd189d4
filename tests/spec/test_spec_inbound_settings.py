"""`inbound_scan`: the switch, and the warning where policies cannot see."""

import pytest
from proxied import MakeLab
from spec.cases import executable, simple
from spec.redlane_home import Home

POLICIES = {"word": simple("Block", "incoming-word", context="Inbound")}


def test_switched_off_nothing_is_scanned(make_lab: MakeLab) -> None:
    lab = make_lab(POLICIES, inbound_scan={"enabled": False})
    path = lab.origin.serve("/unscanned", b"an incoming-word")

    assert lab.agent().request(lab.http + path).body == b"an incoming-word"


def test_switched_on_by_default(make_lab: MakeLab) -> None:
    lab = make_lab(POLICIES)
    path = lab.origin.serve("/scanned", b"an incoming-word")

    assert lab.agent().request(lab.http + path).blocked_by == "word"


def test_a_setting_holds_after_a_reload(make_lab: MakeLab) -> None:
    lab = make_lab({"again": POLICIES["word"]})
    path = lab.origin.serve("/reloaded", b"an incoming-word")
    assert lab.agent().request(lab.http + path).status == 403

    lab.home.settings(inbound_scan={"enabled": False})
    assert lab.home.run("session", "reload").code == 0

    assert lab.agent().request(lab.http + path).status == 200


def test_a_checker_that_fails_blocks(make_lab: MakeLab) -> None:
    lab = make_lab({"gone": executable("Block", "/nonexistent", context="Inbound")})
    path = lab.origin.serve("/failing", b"harmless")

    assert lab.agent().request(lab.http + path).blocked_by == "gone"


WARNING = "intercept"


@pytest.mark.parametrize(
    ("policies", "settings", "warned"),
    [
        (POLICIES, {}, True),
        (POLICIES, {"tls": {"intercept": True}}, False),
        ({"out": simple("Block", "x", context="Network")}, {}, False),
    ],
    ids=["inbound", "intercepted", "network"],
)
def test_inbound_policies_without_interception_are_warned_of(
    home: Home,
    policies: dict[str, dict[str, object]],
    settings: dict[str, object],
    warned: bool,  # noqa: FBT001  # a column of the table
) -> None:
    home.policies(*({"id": name, **each} for name, each in policies.items()))
    home.role("agent", *policies)
    home.settings(**settings)

    said = home.everything_said(home.start("--role", "agent"))

    assert (WARNING in said.lower()) == warned
