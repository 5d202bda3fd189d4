"""Loading roles: only whole roles are enforced, and each says why it is not whole."""

from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, mcp_tool, regex, simple, told

from redlane.model.problem import Severity


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    home = PolicyHome(tmp_path)
    home.policies(simple("good"), simple("other"))
    return home


ERRORS = {
    "no-name": ({"policies": []}, "`name` is missing"),
    "empty-name": ({"name": "", "policies": []}, "`name` must be"),
    "name-with-tab": ({"name": "a\tb", "policies": []}, "`name` must be"),
    "no-policies": ({"name": "r"}, "`policies` is missing"),
    "null-policies": ({"name": "r", "policies": None}, "`policies` is missing"),
    "policies-string": (
        {"name": "r", "policies": "good"},
        "must be an array of strings",
    ),
    "policies-numbers": ({"name": "r", "policies": [1]}, "must be an array of strings"),
    "policies-null": ({"name": "r", "policies": [None]}, "must be an array of strings"),
    "policies-empty": ({"name": "r", "policies": [""]}, "must be an array of strings"),
    "dynamic-string": (
        {"name": "r", "policies": [], "is_dynamic": "no"},
        "`is_dynamic` must be true or false",
    ),
    "near-miss": ({"name": "r", "polices": ["good"]}, "did you mean `policies`?"),
    "case": ({"Name": "r", "policies": []}, "did you mean `name`?"),
    "dangling": ({"name": "r", "policies": ["good", "god"]}, "did you mean 'good'?"),
    "string": ("r", "a role must be an object, not 'r'"),
}


@pytest.mark.parametrize(("role", "says"), ERRORS.values(), ids=ERRORS)
def test_a_role_that_cannot_be_enforced_is_an_error(
    home: PolicyHome, role: Any, says: str
) -> None:
    home.write("roles/r.json", role)
    name = role.get("name") if isinstance(role, dict) else None

    loaded = home.load()

    assert [e for e in loaded.errors if e.file.endswith("r.json") and says in e.message]
    assert not loaded.ruleset.roles
    assert loaded.problems_of_role(name or "r") == loaded.errors


def test_a_role_file_holds_one_role_or_several(home: PolicyHome) -> None:
    home.write("roles/1.json", {"name": "a", "policies": ["good"]})
    home.write(
        "roles/2.json",
        [{"name": "b", "policies": []}, {"name": "c", "policies": [], "tags": ["x"]}],
    )

    loaded = home.load()

    assert not loaded.findings
    assert set(loaded.ruleset.roles) == {"a", "b", "c"}


def test_a_reserved_dynamic_role_is_a_warning(home: PolicyHome) -> None:
    home.write("roles/r.json", {"name": "r", "policies": [], "is_dynamic": True})

    assert [each.subject for each in home.load().findings] == ["r"]


def test_every_missing_policy_is_told(home: PolicyHome) -> None:
    home.role("r", "one", "good", "two", "two")

    assert told(home.load().errors) == [
        ("r.json", "r", "no file defines the policy 'one'"),
        ("r.json", "r", "no file defines the policy 'two'"),
    ]


def test_a_name_used_twice_is_an_error_that_names_both_files(home: PolicyHome) -> None:
    first = home.role("r", "good", file="1.json")
    home.role("r", "other", file="2.json")

    loaded = home.load()

    ((file, subject, message),) = told(loaded.errors)
    assert (file, subject) == ("2.json", "r")
    assert str(first) in message
    assert not loaded.ruleset.roles


def test_problems_elsewhere_leave_a_role_whole(home: PolicyHome) -> None:
    home.role("r", "good")
    home.role("dangling", "nowhere")
    home.policies(simple("broken", None), file="x.json")
    home.write("policies/y.json", b"{")
    home.write("roles/z.json", b"{")
    home.settings({"sevsh": {"default_role": 1}})

    loaded = home.load()

    assert len(loaded.errors) == 5
    assert loaded.problems_of_role("r") == ()
    assert loaded.ruleset.rules("r") is not None


def test_a_broken_policy_is_told_for_each_role_that_holds_it(home: PolicyHome) -> None:
    home.policies(regex("broken", "(("), file="x.json")
    home.role("r", "good", "broken")

    loaded = home.load()

    assert told(loaded.problems_of_role("r"))[0][:2] == ("x.json", "broken")
    assert loaded.ruleset.rules("r") is None


def test_an_unknown_role_has_no_problems_and_no_rules(home: PolicyHome) -> None:
    home.role("r", "good")

    loaded = home.load()

    assert loaded.problems_of_role("nobody") == ()
    assert loaded.ruleset.rules("nobody") is None


HIDING = {
    "broken-file": b"{",
    "nameless": [{"policies": []}],
    "no-object": [17],
}


@pytest.mark.parametrize("value", HIDING.values(), ids=HIDING)
def test_a_role_may_be_in_what_could_not_be_read(home: PolicyHome, value: Any) -> None:
    home.write("roles/x.json", value)

    loaded = home.load()

    assert loaded.problems_of_role("r") == loaded.errors != ()


def test_a_role_may_be_in_a_legacy_file_that_could_not_be_read(tmp_path: Path) -> None:
    home = PolicyHome(tmp_path)
    home.legacy([]).write_bytes(b"{")

    loaded = home.load()

    assert len(loaded.errors) == 1
    assert loaded.problems_of_role("r") == loaded.errors


def test_only_the_roles_asked_for_are_loaded(home: PolicyHome) -> None:
    home.role("a", "good")
    home.role("b", "other")
    home.role("dangling", "nowhere")

    loaded = home.load(only_roles=frozenset({"a"}))

    assert not loaded.findings
    assert set(loaded.ruleset.roles) == {"a"}
    assert set(loaded.ruleset.policies) == {"good", "other"}


def test_an_unknown_role_in_the_restriction_is_an_error(home: PolicyHome) -> None:
    home.role("agent", "good")

    loaded = home.load(only_roles=frozenset({"agent", "agnet"}))

    assert told(loaded.errors) == [
        (
            "roles",
            "agnet",
            "the role to load 'agnet' is in no role file; did you mean 'agent'?",
        )
    ]


DEFAULTS = {
    "absent": ("nobody", None, "is in no role file"),
    "misspelled": ("agnet", None, "did you mean 'agent'?"),
    "restricted": ("agent", frozenset({"b"}), "is not among the roles to load (b)"),
    "broken": ("dangling", None, "has errors"),
}


@pytest.mark.parametrize(("name", "only", "says"), DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_role_that_is_not_loaded_is_an_error(
    home: PolicyHome, name: str, only: frozenset[str] | None, says: str
) -> None:
    home.role("agent", "good")
    home.role("b", "other")
    home.role("dangling", "nowhere")
    home.settings({"sevsh": {"default_role": name}})

    loaded = home.load(only_roles=only)

    (error,) = [e for e in loaded.errors if e.subject == "sevsh.default_role"]
    assert Path(error.file).name == "settings.json"
    assert name in error.message
    assert says in error.message
    assert error in loaded.problems_of_role(None)


def test_settings_count_for_the_default_role_only(home: PolicyHome) -> None:
    home.role("agent", "good")
    home.settings({"sevsh": {"default_role": "agent"}, "tls": {"intercept": "yes"}})

    loaded = home.load()

    assert loaded.problems_of_role("agent") == ()
    assert loaded.problems_of_role(None) == loaded.errors != ()


BROAD = {
    name: {"pattern": pattern}
    for name, pattern in {
        "dot-star": ".*",
        "dot-plus": ".+",
        "caret": "^",
        "empty": "",
        "dot": ".",
        "whole-line": "^.*$",
        "any-with-breaks": "(?s).*",
        "start-of-text": r"\A",
        "or-nothing": "ls|",
        "classes": r"[\s\S]",
    }.items()
}


@pytest.mark.parametrize("fields", BROAD.values(), ids=BROAD)
def test_an_allow_that_matches_everything_is_a_warning_that_names_its_roles(
    home: PolicyHome, fields: dict[str, Any]
) -> None:
    home.policies(regex("wide", action="Allow", **fields))
    home.role("a", "wide")
    home.role("b", "wide")

    loaded = home.load()

    assert not loaded.errors
    broad = [each for each in loaded.warnings if "this Allow matches" in each.message]
    assert [each.subject for each in broad] == ["wide"]
    assert "roles a, b" in broad[0].message


NARROW = {
    "word": simple("p", "ls", action="Allow"),
    "literal-dot-star": simple("p", ".*", action="Allow"),
    "anchored": regex("p", "^git .*$", action="Allow"),
    "letters": regex("p", "[a-z]", action="Allow"),
    "ascii": regex("p", "^[ -~]+$", action="Allow"),
    "block": regex("p", ".*"),
    "tool": mcp_tool("p", server="files", action="Allow"),
    "syscall-name": simple("p", "open", action="Allow", context="Syscall"),
    "syscall-always": simple(
        "p", None, syscall="open", action="Allow", context="Syscall"
    ),
}


@pytest.mark.parametrize("policy", NARROW.values(), ids=NARROW)
def test_other_policies_are_not_called_broad(
    home: PolicyHome, policy: dict[str, Any]
) -> None:
    home.policies(policy)

    findings = home.load().findings

    assert not [each for each in findings if "everything" in each.message]


def test_inbound_policies_without_interception_are_a_warning(home: PolicyHome) -> None:
    home.policies(*(simple(f"in-{i}", context="Inbound") for i in range(5)))

    (warning,) = home.load().findings

    assert warning.severity is Severity.WARNING
    assert "in-0, in-1, in-2 and 2 more" in warning.message
    assert "tls.intercept" in warning.message


@pytest.mark.parametrize(
    ("juror", "told"),
    [
        ({"type": "model", "model": "gone", "block_at": 1}, "'gone' is not installed"),
        ({"type": "command", "command": "/no/such"}, "the juror votes to block"),
        ({"type": "http", "url": "http://h/", "model": "m"}, "others on the way"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_juror_that_will_hardly_do_what_was_meant_is_a_warning(
    home: PolicyHome, juror: dict[str, object], told: str
) -> None:
    home.settings({"review.jury": [{"name": "gavel", **juror}]})

    (warning,) = home.load().findings

    assert warning.severity is Severity.WARNING
    assert warning.subject.startswith("review.jury")
    assert told in warning.message


def test_inbound_policies_with_interception_are_fine(home: PolicyHome) -> None:
    home.policies(simple("in", context="Inbound"))
    home.settings({"tls.intercept": True})

    assert home.load().findings == ()
