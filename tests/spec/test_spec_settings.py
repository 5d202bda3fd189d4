"""settings.json: names, types and values (policy format and interface contract)."""

from typing import Any

import pytest
from spec.cases import simple
from spec.redlane_home import Home

RIGHT: dict[str, dict[str, Any]] = {
    "empty": {},
    "default-role": {"sevsh": {"default_role": "agent"}},
    "validation-timeout": {"sevsh": {"validation_timeout_seconds": 7}},
    "inbound": {
        "inbound_scan": {
            "enabled": False,
            "oversize_action": "block",
            "max_segments": 5,
            "budget_ms": 100,
            "max_buffer_bytes": "512KB",
        }
    },
    "oversize-flag": {"inbound_scan": {"oversize_action": "flag"}},
    "oversize-allow": {"inbound_scan": {"oversize_action": "allow"}},
    "bytes": {"inbound_scan": {"max_buffer_bytes": "100B"}},
    "megabytes": {"inbound_scan": {"max_buffer_bytes": "8MB"}},
    "gigabytes": {"inbound_scan": {"max_buffer_bytes": "1GB"}},
    "tls": {"tls": {"intercept": True, "passthrough_hosts": ["example.org"]}},
    "review": {"review": {"timeout_seconds": 5, "timeout_action": "allow", "jury": []}},
    "proxy": {
        "proxy": {
            "listen": "127.0.0.1:0",
            "scan_headers": True,
            "provider_hosts": ["api.example.org"],
        }
    },
}
WRONG: dict[str, dict[str, Any]] = {
    "sevsh-no-object": {"sevsh": "agent"},
    "default-role-number": {"sevsh": {"default_role": 1}},
    "default-role-not-loaded": {"sevsh": {"default_role": "nobody"}},
    "validation-timeout-string": {"sevsh": {"validation_timeout_seconds": "5"}},
    "validation-timeout-boolean": {"sevsh": {"validation_timeout_seconds": True}},
    "inbound-no-object": {"inbound_scan": []},
    "enabled-string": {"inbound_scan": {"enabled": "yes"}},
    "enabled-number": {"inbound_scan": {"enabled": 1}},
    "oversize-unknown": {"inbound_scan": {"oversize_action": "maybe"}},
    "oversize-case": {"inbound_scan": {"oversize_action": "Flag"}},
    "segments-string": {"inbound_scan": {"max_segments": "3"}},
    "segments-fraction": {"inbound_scan": {"max_segments": 2.5}},
    "segments-boolean": {"inbound_scan": {"max_segments": True}},
    "budget-string": {"inbound_scan": {"budget_ms": "2500"}},
    "buffer-number": {"inbound_scan": {"max_buffer_bytes": 8}},
    "buffer-unit": {"inbound_scan": {"max_buffer_bytes": "8 parsecs"}},
    "buffer-word": {"inbound_scan": {"max_buffer_bytes": "much"}},
    "intercept-string": {"tls": {"intercept": "false"}},
    "passthrough-string": {"tls": {"passthrough_hosts": "example.org"}},
    "passthrough-numbers": {"tls": {"passthrough_hosts": [1]}},
    "review-timeout-string": {"review": {"timeout_seconds": "30"}},
    "review-action-unknown": {"review": {"timeout_action": "flag"}},
    "review-jury-string": {"review": {"jury": "me"}},
    "listen-number": {"proxy": {"listen": 8080}},
    "scan-headers-string": {"proxy": {"scan_headers": "no"}},
    "provider-hosts-string": {"proxy": {"provider_hosts": "api.example.org"}},
}
UNKNOWN: dict[str, dict[str, Any]] = {
    "top": {"colour": "red"},
    "inside": {"review": {"colour": "red"}},
    "near-miss": {"review": {"timeout_second": 5}},
}


def _prepare(home: Home) -> None:
    home.policies({"id": "p", **simple("Block", "x")})
    home.role("agent", "p")


@pytest.mark.parametrize("settings", RIGHT.values(), ids=RIGHT.keys())
def test_right_settings(home: Home, settings: dict[str, Any]) -> None:
    _prepare(home)
    home.settings(**settings)

    checked = home.check()

    assert (checked.code, checked.errors, checked.warnings) == (0, [], [])


@pytest.mark.parametrize("settings", WRONG.values(), ids=WRONG.keys())
def test_wrong_settings_are_errors(home: Home, settings: dict[str, Any]) -> None:
    _prepare(home)
    home.settings(**settings)

    checked = home.check()

    assert checked.code == 1
    assert len(checked.errors_in("settings.json")) == 1
    (group, value) = next(iter(settings.items()))
    name = next(iter(value)) if isinstance(value, dict) else group
    said = "{subject} {message}".format(**checked.errors[0])
    assert name in said


@pytest.mark.parametrize("settings", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_setting_is_a_warning(home: Home, settings: dict[str, Any]) -> None:
    home.settings(**settings)

    checked = home.check()

    assert (checked.code, checked.errors) == (0, [])
    assert len(checked.warnings_in("settings.json")) == 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{ broken", "null", '{"tls": {"intercept": true, "intercept": false}}'],
    ids=["empty", "array", "broken", "null", "duplicate-key"],
)
def test_settings_that_do_not_parse_are_errors(home: Home, text: str) -> None:
    home.write("settings.json", text)

    checked = home.check()

    assert checked.code == 1
    assert checked.errors_in("settings.json")


def test_the_default_role_that_is_not_loaded_is_named(home: Home) -> None:
    home.settings(sevsh={"default_role": "nobody"})

    assert "nobody" in home.check().errors[0]["message"]


def test_start_refuses_wrong_settings(home: Home) -> None:
    _prepare(home)
    home.settings(review={"timeout_seconds": "soon"})

    ran = home.run("start", "--role", "agent")

    assert ran.code not in (0, 3)
    assert "timeout_seconds" in ran.err
    assert home.run("status").code == 3


def test_validate_without_a_role_needs_the_settings(home: Home) -> None:
    _prepare(home)
    home.settings(review={"timeout_seconds": "soon"})

    ran = home.validate("x")

    assert ran.code == 2
    assert ran.out == ""


def test_validate_of_a_role_does_not_need_the_settings(home: Home) -> None:
    _prepare(home)
    home.settings(review={"timeout_seconds": "soon"})

    assert home.verdict("x", "agent", "Network")["verdict"] == "BLOCK"
