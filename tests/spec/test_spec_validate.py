"""`redlane validate`: its output, its exit codes and its roles (interface contract)."""

import json
from typing import Any

import pytest
from spec.cases import regex, simple
from spec.redlane_home import Home

FIELDS = {"verdict", "lane", "policy", "reason", "content", "role", "context"}
UPPER = {"type": "Executable", "command": "tr a-z A-Z"}


@pytest.fixture
def ready(home: Home) -> Home:
    home.policies(
        {"id": "block", **simple("Block", "bad")},
        {"id": "flag", **simple("Flag", "odd")},
        {"id": "allow", **simple("Allow", "fine")},
        {"id": "modify", **simple("Modify", "low", transform=UPPER)},
    )
    home.role("agent", "block", "flag", "allow", "modify")
    home.role("other", "flag")
    return home


TABLE = {
    "block": ("bad", 1, "BLOCK", "RED", "block", None),
    "flag": ("odd", 0, "FLAG", "YELLOW", "flag", None),
    "allow": ("fine bad", 0, "ALLOW", "GREEN", "allow", None),
    "no-match": ("plain", 0, "ALLOW", "GREEN", None, None),
    "modify": ("low", 0, "MODIFY", "GREEN", "modify", "LOW"),
    "modify-and-flag": ("low odd", 0, "FLAG", "YELLOW", "flag", "LOW ODD"),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_verdict_lane_and_exit_code(ready: Home, row: tuple[Any, ...]) -> None:
    content, code, verdict, lane, policy, rewritten = row

    ran = ready.run("validate", content, "-r", "agent", "-C", "Network")

    assert ran.code == code
    assert ran.err == ""
    body = ran.json
    assert body.keys() >= FIELDS
    assert (body["verdict"], body["lane"], body["policy"]) == (verdict, lane, policy)
    assert body["content"] == rewritten
    assert (body["role"], body["context"]) == ("agent", "Network")
    assert isinstance(body["reason"], str)


def test_modify_and_flag_name_both_policies(ready: Home) -> None:
    body = ready.verdict("low odd", "agent", "Network")

    assert (body["policy"], body["modified_by"]) == ("flag", "modify")


def test_one_json_object_and_nothing_else(ready: Home) -> None:
    ran = ready.run("validate", "bad", "-r", "agent")

    _, end = json.JSONDecoder().raw_decode(ran.out)
    assert ran.out[end:].strip() == ""


def test_a_block_gives_a_reason(ready: Home) -> None:
    assert ready.verdict("bad", "agent")["reason"]


def test_the_context_is_shell_by_default(ready: Home) -> None:
    assert ready.verdict("bad", "agent")["context"] == "Shell"


@pytest.mark.parametrize(
    "options",
    [("-r", "agent", "-C", "Network"), ("-ragent", "-CNetwork")],
    ids=["apart", "joined"],
)
def test_options_may_stand_before_the_content(
    ready: Home, options: tuple[str, ...]
) -> None:
    ran = ready.run("validate", *options, "bad")

    assert (ran.code, ran.json["policy"]) == (1, "block")


def test_a_dash_reads_standard_input(ready: Home) -> None:
    ran = ready.run(
        "validate", "-", "-r", "agent", "-C", "Network", stdin="so\0very\nbad\n"
    )

    assert (ran.code, ran.json["policy"]) == (1, "block")


def test_standard_input_is_taken_as_is(home: Home) -> None:
    home.policies({"id": "p", **regex("Block", r"(?s)^a\n$")})
    home.role("agent", "p")

    assert home.verdict(b"a\n", "agent", "Network")["verdict"] == "BLOCK"
    assert home.verdict(b"a", "agent", "Network")["verdict"] == "ALLOW"


def test_an_argument_is_no_standard_input(ready: Home) -> None:
    ran = ready.run("validate", "plain", "-r", "agent", stdin="bad")

    assert ran.json["verdict"] == "ALLOW"


def test_empty_content_is_content(ready: Home) -> None:
    assert ready.verdict("", "agent")["verdict"] == "ALLOW"


def test_no_role_blocks(ready: Home) -> None:
    ran = ready.validate("plain")

    assert (ran.code, ran.json["verdict"]) == (1, "BLOCK")
    assert ran.json["role"] is None


def test_the_default_role_of_the_settings(ready: Home) -> None:
    ready.settings(sevsh={"default_role": "other"})

    body = ready.verdict("bad odd")

    assert (body["verdict"], body["role"]) == ("FLAG", "other")


def test_a_role_asked_for_goes_before_the_default(ready: Home) -> None:
    ready.settings(sevsh={"default_role": "other"})

    assert ready.verdict("bad odd", "agent")["role"] == "agent"


@pytest.mark.parametrize("role", ["nobody", "Agent", "agen", ""])
def test_an_unknown_role_blocks(ready: Home, role: str) -> None:
    ran = ready.validate("plain", role)

    assert (ran.code, ran.json["verdict"]) == (1, "BLOCK")


def test_an_unrelated_dangling_reference_is_a_note(ready: Home) -> None:
    ready.role("broken", "nowhere")

    ran = ready.validate("bad", "agent")

    assert (ran.code, ran.json["policy"]) == (1, "block")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("policies/x.json", {"id": "x", **regex("Block", "(")}),
        ("policies/x.json", "{ broken"),
        ("policies/x.json", {"id": "x", "type": "Nope", "action": "Block"}),
        ("roles/x.json", "{ broken"),
        ("roles/x.json", {"name": "x"}),
    ],
    ids=["regex", "policy-json", "type", "role-json", "role-field"],
)
def test_unrelated_problems_are_notes(ready: Home, name: str, data: object) -> None:
    ready.write(name, data)

    ran = ready.validate("bad", "agent")

    assert (ran.code, ran.json["policy"]) == (1, "block")
    assert "Traceback" not in ran.err
    assert all(line.startswith("redlane: ") for line in ran.err.splitlines())


BROKEN_ROLES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "dangling-reference": (None, ("nowhere",)),
    "regex": (regex("Block", "("), ()),
    "unknown-type": ({"type": "Nope", "action": "Block"}, ()),
    "near-miss": (simple("Block", "x", contxt="Shell"), ()),
    "mcp-tool": ({"type": "McpTool", "action": "Block"}, ()),
    "other-context": (regex("Block", "(", context="Inbound"), ()),
}


@pytest.mark.parametrize("name", BROKEN_ROLES)
def test_a_load_error_of_the_role_is_exit_2(ready: Home, name: str) -> None:
    policy, extra = BROKEN_ROLES[name]
    if policy:
        ready.write("policies/x.json", {"id": "x", **policy})
    ready.role("broken", "block", *(extra or ("x",)))

    ran = ready.validate("bad", "broken")

    assert ran.code == 2
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert ran.err.startswith("redlane: ")
    assert (extra or ("x",))[0] in ran.err


@pytest.mark.parametrize("same_file", [True, False], ids=["one-file", "two-files"])
def test_a_duplicate_id_in_the_role_is_exit_2(ready: Home, *, same_file: bool) -> None:
    twins = [
        {"id": "x", **simple("Block", "bad")},
        {"id": "x", **simple("Allow", "bad")},
    ]
    if same_file:
        ready.policies(*twins, file="x.json")
    else:
        ready.policies(twins[0], file="0.json")
        ready.policies(twins[1], file="x.json")
    ready.role("broken", "x")

    ran = ready.validate("bad", "broken")

    assert (ran.code, ran.out) == (2, "")
    assert "x" in ran.err


def test_a_duplicate_role_is_exit_2(ready: Home) -> None:
    ready.write("roles/x.json", {"name": "agent", "policies": []})

    ran = ready.validate("bad", "agent")

    assert (ran.code, ran.out) == (2, "")
    assert "agent" in ran.err


def test_a_policy_in_a_file_that_does_not_parse_is_exit_2(ready: Home) -> None:
    ready.write("policies/x.json", "{ broken")
    ready.role("broken", "block", "x")

    ran = ready.validate("plain", "broken")

    assert (ran.code, ran.out) == (2, "")


def test_a_role_in_a_file_that_does_not_parse_never_allows(ready: Home) -> None:
    ready.write("roles/other.json", "{ broken")

    ran = ready.validate("plain", "other")

    assert ran.code in (1, 2)
    assert "ALLOW" not in ran.out


def test_a_load_error_of_the_default_role_is_exit_2(ready: Home) -> None:
    ready.role("broken", "nowhere")
    ready.settings(sevsh={"default_role": "broken"})

    ran = ready.validate("plain")

    assert (ran.code, ran.out) == (2, "")


def test_a_default_role_that_is_not_there_is_exit_2(ready: Home) -> None:
    ready.settings(sevsh={"default_role": "nobody"})

    ran = ready.validate("plain")

    assert (ran.code, ran.out) == (2, "")
    assert "nobody" in ran.err


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("-r", "agent"),
        ("x", "-C", "shell"),
        ("x", "-C", "Http"),
        ("x", "-r"),
        ("x", "y", "-r", "agent"),
        ("x", "--nope"),
    ],
    ids=["nothing", "no-content", "case", "context", "no-value", "two", "option"],
)
def test_wrong_usage_is_exit_2(ready: Home, args: tuple[str, ...]) -> None:
    ran = ready.run("validate", *args)

    assert ran.code == 2
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert ran.err.splitlines()[-1].startswith("redlane: ")


def test_non_ascii_content_comes_back_exactly(home: Home) -> None:
    transform = {"type": "Regex", "pattern": "x", "replacement": "🔑"}
    home.policies({"id": "m", **simple("Modify", "x", transform=transform)})
    home.role("agent", "m")

    assert home.verdict("naïve x\n\0", "agent", "Network")["content"] == "naïve 🔑\n\0"


def test_output_is_utf8_in_any_locale(home: Home) -> None:
    transform = {"type": "Regex", "pattern": "x", "replacement": "🔑"}
    home.policies({"id": "m", **simple("Modify", "x", transform=transform)})
    home.role("agent", "m")
    home.env["LANG"] = home.env["LC_ALL"] = "C"

    assert home.verdict("naïve x", "agent", "Network")["content"] == "naïve 🔑"


def test_it_needs_no_daemon_and_writes_nothing(ready: Home) -> None:
    before = sorted(ready.user.rglob("*"))

    ready.validate("bad", "agent")

    assert sorted(ready.user.rglob("*")) == before


def test_the_reason_a_policy_gives_is_told(home: Home) -> None:
    home.policies({"id": "p", **simple("Block", "x"), "reason": "because of the rules"})
    home.role("agent", "p")

    assert "because of the rules" in home.verdict("x", "agent")["reason"]
