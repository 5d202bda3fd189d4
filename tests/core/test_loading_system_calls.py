"""What a load says of policies about system calls: what enforces them, and how."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PLUGINS, PolicyHome, regex, simple, told
from sample_context import SampleContext

from redlane.model.policy import Policy
from redlane.model.problem import Problem, Severity
from redlane.plugins import PluginReport, Plugins

WITHOUT = replace(PLUGINS, contexts={}, reports=())
UNLINK = simple("no-unlink", None, context="Syscall", syscall="unlink")


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path)


def with_context(context: SampleContext) -> Plugins:
    return replace(PLUGINS, contexts={"Syscall": context})


NAMING = {
    "by syscall": UNLINK,
    "by pattern": simple("p", "unlink", context="Syscall"),
    "by path": regex("p", "^/etc/", context="Syscall", syscall=["open", "openat"]),
    "in context All": simple("p", "x", syscall="open"),
}


@pytest.mark.parametrize("policy", NAMING.values(), ids=NAMING)
def test_without_the_plugin_policies_load_with_a_warning(
    home: PolicyHome, policy: dict[str, Any]
) -> None:
    home.policies(policy)
    home.role("r", policy["id"])
    loaded = home.load(WITHOUT)
    assert loaded.errors == ()
    (warning,) = loaded.warnings
    assert warning.subject == "context Syscall"
    assert policy["id"] in warning.message
    assert "redlane-context-syscall" in warning.message
    assert "r" in loaded.ruleset.roles


def test_plugin_that_fails_is_named_with_its_failure(home: PolicyHome) -> None:
    home.policies(UNLINK)
    report = PluginReport(
        "context_syscall", "redlane-context-syscall", "1.0", "/x", error="OSError: no"
    )
    loaded = home.load(replace(WITHOUT, reports=(report,)))
    assert [each.message for each in loaded.warnings if "OSError: no" in each.message]


OTHERS = {
    "a shell policy": simple("p", "unlink", context="Shell"),
    "context All without names": simple("p", "unlink"),
}


@pytest.mark.parametrize("policy", OTHERS.values(), ids=OTHERS)
def test_other_policies_need_no_plugin(
    home: PolicyHome, policy: dict[str, Any]
) -> None:
    context = SampleContext((Problem(Severity.ERROR, "no"),))
    home.policies(policy)
    assert home.load(WITHOUT).findings == ()
    assert home.load(with_context(context)).findings == ()
    assert context.shown == []


@pytest.mark.parametrize("policy", NAMING.values(), ids=NAMING)
def test_context_is_shown_each_policy_about_system_calls(
    home: PolicyHome, policy: dict[str, Any]
) -> None:
    home.policies(policy)
    context = SampleContext((Problem(Severity.ERROR, "this kernel cannot"),))
    loaded = home.load(with_context(context))
    assert context.shown == [policy["id"]]
    assert told(loaded.errors) == [("p.json", policy["id"], "this kernel cannot")]


def test_context_that_fails_to_check_is_an_error(home: PolicyHome) -> None:
    class Broken(SampleContext):
        def problems(self, policy: Policy) -> tuple[Problem, ...]:
            raise ZeroDivisionError(policy.id)

    home.policies(UNLINK)
    (error,) = home.load(with_context(Broken())).errors
    assert "ZeroDivisionError" in error.message


def test_allow_is_left_out_of_the_ebpf_filter_with_a_warning(home: PolicyHome) -> None:
    home.policies(UNLINK, {**UNLINK, "id": "may", "action": "Allow"})
    ((file, subject, message),) = told(home.load().warnings)
    assert (file, subject) == ("p.json", "may")
    assert "unlink" in message
    assert "eBPF" in message
    assert "seccomp" in message


SANDBOXES: dict[str, tuple[dict[str, Any], bool, bool]] = {
    "neither": ({}, False, False),
    "both": ({"namespaces": "allow", "ebpf": True}, True, True),
    "denied": ({"namespaces": "deny", "ebpf": False}, False, False),
    "null": ({"namespaces": None, "ebpf": None}, False, False),
}


@pytest.mark.parametrize(
    ("fields", "namespaces", "ebpf"), SANDBOXES.values(), ids=SANDBOXES
)
def test_role_says_what_its_sessions_may(
    home: PolicyHome, fields: dict[str, Any], *, namespaces: bool, ebpf: bool
) -> None:
    home.policies(UNLINK)
    home.write("roles/r.json", {"name": "r", "policies": ["no-unlink"], **fields})
    role = home.load().ruleset.roles["r"]
    assert (role.namespaces, role.ebpf) == (namespaces, ebpf)


@pytest.mark.parametrize("places", [None, [], ["@work", "!./kept", "~/.cache"]])
def test_role_says_where_its_sessions_may_write(
    home: PolicyHome, places: list[str] | None
) -> None:
    home.write("roles/r.json", {"name": "r", "policies": [], "writable": places})
    loaded = home.load()
    assert loaded.findings == ()
    role = loaded.ruleset.roles["r"]
    assert role.writable == (None if places is None else tuple(places))


@pytest.mark.parametrize("places", [None, [], ["@keys", "!~/.ssh/config", "./own"]])
def test_role_says_what_it_hides_from_its_sessions(
    home: PolicyHome, places: list[str] | None
) -> None:
    home.write("roles/r.json", {"name": "r", "policies": [], "hidden": places})
    loaded = home.load()
    assert loaded.findings == ()
    assert loaded.ruleset.roles["r"].hidden == tuple(places or ())


@pytest.mark.parametrize("field", ["writable", "hidden"])
def test_such_a_role_needs_no_plugin(home: PolicyHome, field: str) -> None:
    home.write("roles/r.json", {"name": "r", "policies": [], field: ["."]})
    assert home.load(WITHOUT).findings == ()


LOOSE = {
    "hidden": ({"hidden": ["@keys"]}, False),
    "hidden, in a guarded session": (
        {"hidden": ["@keys"], "policies": ["no-unlink"]},
        True,
    ),
    "writable, in a guarded session": (
        {"writable": ["."], "policies": ["no-unlink"]},
        True,
    ),
    "writable": ({"writable": ["."]}, False),
}


@pytest.mark.parametrize(("fields", "is_loose"), LOOSE.values(), ids=LOOSE)
def test_places_that_may_have_other_names_are_a_warning(
    home: PolicyHome, fields: dict[str, list[str]], *, is_loose: bool
) -> None:
    home.policies(UNLINK)
    role = {"name": "r", "policies": [], "namespaces": "allow", **fields}
    home.write("roles/r.json", role)
    warnings = [each.message for each in home.load().warnings]
    assert ["mount files elsewhere" in each for each in warnings] == [True] * is_loose


WRONG = {
    "no array": ({"writable": "/srv"}, "must be an array of strings"),
    "no place": ({"writable": ["/srv", "srv"]}, "`writable`: 'srv' is no place"),
    "no set of secrets": ({"hidden": ["@caches"]}, "`hidden`: '@caches' is not known"),
    "no set": ({"writable": ["@cache"]}, "did you mean '@caches'?"),
    "a near miss": ({"namespace": "allow"}, "did you mean `namespaces`?"),
    "another near miss": ({"eBPF": True}, "did you mean `ebpf`?"),
    "no choice": ({"namespaces": "alow"}, "did you mean 'allow'?"),
    "no text": ({"namespaces": True}, "must be a string"),
    "no boolean": ({"ebpf": "yes"}, "must be true or false"),
}


@pytest.mark.parametrize(("fields", "message"), WRONG.values(), ids=WRONG)
def test_role_field_of_another_form_is_an_error(
    home: PolicyHome, fields: dict[str, Any], message: str
) -> None:
    home.policies(UNLINK)
    home.write("roles/r.json", {"name": "r", "policies": ["no-unlink"], **fields})
    (error,) = home.load().errors
    assert message in error.message
