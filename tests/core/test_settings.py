"""settings.json: one table, from which parser, schema and messages come."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.model.field import Kind
from redlane.model.problem import Severity
from redlane.model.settings import SETTINGS, Juror, Settings, Webhook
from redlane.policies.settings import parse_settings


def test_without_a_file_the_defaults_are_those_of_the_policy_format() -> None:
    settings, findings = parse_settings({}, "s")

    assert not findings
    assert settings == Settings()
    assert settings.sevsh.default_role is None
    assert settings.sevsh.validation_timeout_seconds == 5
    assert settings.inbound_scan.enabled
    assert settings.inbound_scan.oversize_action == "flag"
    assert settings.inbound_scan.max_segments == 3
    assert settings.inbound_scan.budget_ms == 2500
    assert settings.inbound_scan.max_buffer_bytes == 8 * 1024 * 1024
    assert not settings.tls.intercept
    assert settings.tls.passthrough_hosts == ()
    assert settings.review.timeout_seconds == 30
    assert settings.review.timeout_action == "block"
    assert settings.review.jury == ()
    assert settings.proxy.listen == "127.0.0.1:0"
    assert not settings.proxy.scan_headers
    assert settings.proxy.provider_hosts == ()


GOOD: dict[str, tuple[str, Any, Any]] = {
    "role": ("sevsh.default_role", "agent", "agent"),
    "timeout": ("sevsh.validation_timeout_seconds", 0.5, 0.5),
    "enabled": ("inbound_scan.enabled", False, False),
    "action": ("inbound_scan.oversize_action", "block", "block"),
    "segments": ("inbound_scan.max_segments", 7, 7),
    "whole-float": ("inbound_scan.max_segments", 7.0, 7),
    "bytes": ("inbound_scan.max_buffer_bytes", "100", 100),
    "b": ("inbound_scan.max_buffer_bytes", "100B", 100),
    "kb": ("inbound_scan.max_buffer_bytes", "2KB", 2048),
    "mb": ("inbound_scan.max_buffer_bytes", "8 MB", 8 * 1024**2),
    "gb": ("inbound_scan.max_buffer_bytes", "1GB", 1024**3),
    "intercept": ("tls.intercept", True, True),
    "hosts": ("tls.passthrough_hosts", ["a.b", "c"], ("a.b", "c")),
    "review": ("review.timeout_action", "allow", "allow"),
    "jury": (
        "review.jury",
        [
            {"name": "a", "type": "command", "command": "/bin/true"},
            {"name": "b", "type": "http", "url": "https://h/v", "model": "m"},
            {"name": "c", "type": "model", "model": "m", "block_at": 1},
            {
                "name": "d",
                "type": "http",
                "url": "http://[::1]:8/",
                "model": "m",
                "key_file": __file__,
                "timeout_seconds": 2.5,
            },
        ],
        (
            Juror("a", "command", 20, {"command": "/bin/true"}),
            Juror("b", "http", 20, {"url": "https://h/v", "model": "m"}),
            Juror("c", "model", 20, {"model": "m", "block_at": 1}),
            Juror(
                *("d", "http", 2.5),
                {"url": "http://[::1]:8/", "model": "m", "key_file": __file__},
            ),
        ),
    ),
    "webhook": (
        "review.webhook",
        {"url": "https://h/", "secret": "s"},
        Webhook("https://h/", "s"),
    ),
    "listen": ("proxy.listen", "[::1]:8080", "[::1]:8080"),
    "port": ("proxy.listen", "localhost:65535", "localhost:65535"),
}


def _nested(name: str, value: Any) -> dict[str, Any]:
    group, _, leaf = name.partition(".")
    return {group: {leaf: value}}


def _value(settings: Settings, name: str) -> Any:
    group, _, leaf = name.partition(".")
    return getattr(getattr(settings, group), leaf)


@pytest.mark.parametrize(("name", "value", "expected"), GOOD.values(), ids=GOOD)
def test_a_setting_is_taken_nested_and_dotted(
    name: str, value: Any, expected: Any
) -> None:
    for document in (_nested(name, value), {name: value}):
        settings, findings = parse_settings(document, "s")

        assert not findings
        assert _value(settings, name) == expected
        assert type(_value(settings, name)) is type(expected)


BAD: dict[str, tuple[str, Any]] = {
    "role-number": ("sevsh.default_role", 1),
    "role-empty": ("sevsh.default_role", ""),
    "role-with-line-break": ("sevsh.default_role", "a\nb"),
    "timeout-string": ("sevsh.validation_timeout_seconds", "5"),
    "timeout-bool": ("sevsh.validation_timeout_seconds", True),
    "timeout-zero": ("sevsh.validation_timeout_seconds", 0),
    "timeout-negative": ("sevsh.validation_timeout_seconds", -1),
    "timeout-endless": ("sevsh.validation_timeout_seconds", 1e300),
    "enabled-number": ("inbound_scan.enabled", 1),
    "action-unknown": ("inbound_scan.oversize_action", "drop"),
    "action-case": ("inbound_scan.oversize_action", "Block"),
    "segments-zero": ("inbound_scan.max_segments", 0),
    "segments-fraction": ("inbound_scan.max_segments", 1.5),
    "segments-bool": ("inbound_scan.max_segments", True),
    "budget-string": ("inbound_scan.budget_ms", "2500"),
    "size-number": ("inbound_scan.max_buffer_bytes", 8388608),
    "size-unit": ("inbound_scan.max_buffer_bytes", "8XB"),
    "size-fraction": ("inbound_scan.max_buffer_bytes", "1.5MB"),
    "size-negative": ("inbound_scan.max_buffer_bytes", "-1MB"),
    "size-line-break": ("inbound_scan.max_buffer_bytes", "8MB\n"),
    "hosts-string": ("tls.passthrough_hosts", "a.b"),
    "hosts-number": ("tls.passthrough_hosts", [1]),
    "hosts-empty": ("tls.passthrough_hosts", [""]),
    "listen-everywhere": ("proxy.listen", "0.0.0.0:0"),
    "listen-everywhere-v6": ("proxy.listen", "[::]:0"),
    "listen-address": ("proxy.listen", "192.168.0.1:8080"),
    "listen-name": ("proxy.listen", "proxy.example:8080"),
    "listen-near-loopback": ("proxy.listen", "127.0.0.1.example:8080"),
    "listen-no-address": ("proxy.listen", "127.0.0.256:8080"),
    "listen-no-port": ("proxy.listen", "127.0.0.1"),
    "listen-port": ("proxy.listen", "127.0.0.1:65536"),
    "listen-space": ("proxy.listen", "127.0.0.1 :1"),
}


@pytest.mark.parametrize(("name", "value"), BAD.values(), ids=BAD)
def test_a_setting_of_the_wrong_form_is_an_error_and_keeps_its_default(
    name: str, value: Any
) -> None:
    for document in (_nested(name, value), {name: value}):
        settings, (finding,) = parse_settings(document, "s")

        assert (finding.severity, finding.file) == (Severity.ERROR, "s")
        assert finding.subject == name
        assert settings == Settings()


def test_a_setting_given_nested_and_dotted_is_an_error() -> None:
    document = {"tls": {"intercept": True}, "tls.intercept": True}

    _, (finding,) = parse_settings(document, "s")

    assert finding.severity is Severity.ERROR
    assert finding.subject == "tls.intercept"


@pytest.mark.parametrize("value", [True, [], "x", 3], ids=repr)
def test_a_group_that_is_no_object_is_an_error(value: Any) -> None:
    _, (finding,) = parse_settings({"tls": value}, "s")

    assert (finding.severity, finding.subject) == (Severity.ERROR, "tls")


@pytest.mark.parametrize("document", [None, [], "x", 3], ids=repr)
def test_settings_that_are_no_object_are_an_error(document: Any) -> None:
    _, (finding,) = parse_settings(document, "s")

    assert finding.severity is Severity.ERROR


def test_null_is_as_if_absent() -> None:
    document = {"tls": None, "review": {"jury": None}, "proxy.listen": None}

    assert parse_settings(document, "s") == (Settings(), [])


UNKNOWN = {
    "nested": ({"tls": {"versions": 1}}, "tls.versions", ""),
    "nested-near": ({"tls": {"intercpt": True}}, "tls.intercpt", "`tls.intercept`"),
    "dotted-near": ({"proxy.lisen": "x"}, "proxy.lisen", "`proxy.listen`"),
    "group-near": ({"inboundscan": {}}, "inboundscan", "`inbound_scan`"),
    "strange": ({"colour": "red"}, "colour", ""),
    "empty": ({"": 1}, "", ""),
}


@pytest.mark.parametrize(("document", "subject", "near"), UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_setting_is_a_warning_that_names_the_likely_one(
    document: dict[str, Any], subject: str, near: str
) -> None:
    _, (finding,) = parse_settings(document, "s")

    assert (finding.severity, finding.subject) == (Severity.WARNING, subject)
    assert near in finding.message
    assert ("did you mean" in finding.message) is bool(near)


def test_words_for_editors_are_no_settings() -> None:
    document = {"$schema": "x", "description": "y"}

    assert parse_settings(document, "s") == (Settings(), [])


@pytest.mark.parametrize("field", SETTINGS, ids=lambda field: field.name)
def test_every_default_has_the_form_of_its_setting(field: Any) -> None:
    default = field.default
    if default is None:
        return
    value = f"{default}B" if field.kind is Kind.SIZE else default
    value = list(default) if isinstance(default, tuple) else value

    settings, findings = parse_settings({field.name: value}, "s")

    assert not findings
    assert settings == Settings()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
NAMES = st.sampled_from(
    [part for field in SETTINGS for part in (field.name, *field.name.split("."))]
)


@given(JSON | st.dictionaries(NAMES, JSON | st.dictionaries(NAMES, JSON)))
def test_any_document_gives_settings_and_findings(document: Any) -> None:
    settings, findings = parse_settings(document, "s")

    assert isinstance(settings, Settings)
    assert all(finding.file == "s" for finding in findings)
