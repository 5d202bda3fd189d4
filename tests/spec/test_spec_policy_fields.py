"""What each field of a policy may hold (policy format: Policy, Errors).

Every case is a file of its own in one home, and one `config check` must find the
problems of all of them.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from spec.redlane_home import Checked, Home

BASE: dict[str, Any] = {"type": "Simple", "action": "Block", "pattern": "x"}
REGEX = {**BASE, "type": "Regex"}
STRIP = {"type": "Regex", "pattern": "a", "replacement": ""}
MODIFY = {**BASE, "action": "Modify", "transform": STRIP}
MCP = {"type": "McpTool", "action": "Block"}
SYSCALL = {**BASE, "context": "Syscall"}
ABSENT = object()


@dataclass(frozen=True)
class Field:
    """One policy file: the policy `base` with `fields` changed.

    `says` are words of which at least one stands in the message.
    """

    id: str
    base: dict[str, Any]
    fields: dict[str, Any]
    says: tuple[str, ...] = ()

    @property
    def policy(self) -> dict[str, Any]:
        """The policy as written."""
        fields = {"id": self.id, **self.base, **self.fields}
        return {name: value for name, value in fields.items() if value is not ABSENT}


def _each(
    prefix: str, base: dict[str, Any], name: str, *values: object, says: str = ""
) -> tuple[Field, ...]:
    """One case for each value of the field `name`."""
    return tuple(
        Field(f"{prefix}-{_word(value)}", base, {name: value}, (says or name,))
        for value in values
    )


def _word(value: object) -> str:
    if value is ABSENT:
        return "absent"
    if value in ([], {}):
        return f"empty-{type(value).__name__}"
    text = "".join(c if c.isalnum() else "-" for c in repr(value).replace("'", ""))
    return text[:24] or "empty"


WRONG = (
    # Required fields.
    *_each(
        "type", BASE, "type", ABSENT, None, 1, "", "simple", "SIMPLE", "Glob", " Simple"
    ),
    *_each(
        "action", BASE, "action", ABSENT, None, 1, "", "block", "Deny", "Block ", 1.5
    ),
    *_each(
        "context", BASE, "context", 1, "", "shell", "HTTP", "SysCall", ["Shell"], "MCP"
    ),
    *_each("pattern-simple", BASE, "pattern", ABSENT, None, 1, ["x"]),
    *_each("pattern-regex", REGEX, "pattern", ABSENT, None, 1),
    *_each(
        "pattern-executable",
        {**BASE, "type": "Executable"},
        "pattern",
        ABSENT,
        None,
        1,
    ),
    *_each(
        "command",
        {**BASE, "type": "Executable"},
        "pattern",
        "",
        "  ",
        "grep 'x",
        says="command",
    ),
    *_each("kill", SYSCALL, "kill", "yes", 1, "true", 0, [], says="kill"),
    # Syscall.
    *_each(
        "syscall-regex",
        {**REGEX, "context": "Syscall"},
        "syscall",
        ABSENT,
        None,
        [],
        "",
    ),
    *_each(
        "syscall-executable",
        {**BASE, "type": "Executable", "context": "Syscall"},
        "syscall",
        ABSENT,
        None,
        [],
    ),
    *_each("syscall-type", SYSCALL, "syscall", 1, 1.5, {"a": 1}, [1], ["open", None]),
    Field("syscall-unknown", SYSCALL, {"syscall": "opne"}, ("open",)),
    Field(
        "syscall-unknown-in-array", SYSCALL, {"syscall": ["open", "unlnk"]}, ("unlink",)
    ),
    Field("syscall-unknown-pattern", SYSCALL, {"pattern": "renmae"}, ("rename",)),
    Field("syscall-neither", SYSCALL, {"pattern": ABSENT}, ("pattern", "syscall")),
    Field(
        "syscall-modify",
        SYSCALL,
        {"syscall": "open", "action": "Modify", "transform": STRIP},
        ("Modify",),
    ),
    # Transform.
    *_each("transform", MODIFY, "transform", ABSENT, None, "x", [], 1, {}),
    *(
        Field(f"transform-{name}", MODIFY, {"transform": transform}, says)
        for name, transform, says in (
            ("type-absent", {"pattern": "a", "replacement": ""}, ("type",)),
            ("type-unknown", {**STRIP, "type": "Sed"}, ("type", "Sed")),
            ("type-case", {**STRIP, "type": "regex"}, ("type", "regex")),
            ("pattern-absent", {"type": "Regex", "replacement": ""}, ("pattern",)),
            ("pattern-null", {**STRIP, "pattern": None}, ("pattern",)),
            ("pattern-number", {**STRIP, "pattern": 1}, ("pattern",)),
            ("replacement-number", {**STRIP, "replacement": 1}, ("replacement",)),
            ("command-absent", {"type": "Executable"}, ("command",)),
            ("command-empty", {"type": "Executable", "command": ""}, ("command",)),
            ("command-number", {"type": "Executable", "command": 1}, ("command",)),
            (
                "command-unbalanced",
                {"type": "Executable", "command": "a 'b"},
                ("command",),
            ),
            ("does-not-compile", {**STRIP, "pattern": "("}, ("transform", "pattern")),
            ("look-ahead", {**STRIP, "pattern": "(?=a)"}, ("transform", "pattern")),
            ("near-miss", {**STRIP, "replacment": "x"}, ("replacement",)),
        )
    ),
    # McpTool.
    Field("mcp-neither", MCP, {}, ("server", "tool")),
    Field("mcp-both-null", MCP, {"server": None, "tool": None}, ("server", "tool")),
    *_each("mcp-server", {**MCP, "tool": "t"}, "server", 1, ["a"]),
    *_each("mcp-tool", {**MCP, "server": "s"}, "tool", 1, ["t"]),
    # Regular expressions that RE2 does not know.
    *(
        Field(f"regex-{name}", REGEX, {"pattern": pattern}, says)
        for name, pattern, says in (
            ("open-group", "(", (")", "paren")),
            ("stray-close", "a)", (")", "paren")),
            ("open-class", "[a", ("]", "bracket")),
            ("bad-repeat", "*a", ("*", "repetition")),
            ("bad-range", "[z-a]", ("z-a", "range")),
            ("trailing-backslash", "a\\", ("\\",)),
            ("look-ahead", "a(?=b)", ("?=", "look")),
            ("negative-look-ahead", "a(?!b)", ("?!", "look")),
            ("look-behind", "(?<=a)b", ("?<", "look")),
            ("negative-look-behind", "(?<!a)b", ("?<", "look")),
            ("back-reference", r"(a)\1", (r"\1", "back")),
            ("atomic-group", "(?>a)", ("?>", "atomic")),
            ("possessive", "a++", ("++", "possessive")),
            ("repeat-over-1000", "a{1001}", ("1001", "1000", "repetition")),
            ("unknown-property", r"\p{Nope}", ("Nope",)),
        )
    ),
    # A near miss of a field's name.
    *(
        Field(f"near-miss-{typo}", base, {typo: value}, (field,))
        for typo, field, value, base in (
            ("patern", "pattern", "x", BASE),
            ("Pattern", "pattern", "x", BASE),
            ("pattren", "pattern", "x", BASE),
            ("contxt", "context", "Shell", BASE),
            ("contexts", "context", "Shell", BASE),
            ("acton", "action", "Block", BASE),
            ("Action", "action", "Allow", BASE),
            ("typ", "type", "Simple", BASE),
            ("transfrom", "transform", STRIP, BASE),
            ("syscalls", "syscall", "open", SYSCALL),
            ("sycall", "syscall", "open", SYSCALL),
            ("kil", "kill", True, SYSCALL),
            ("servre", "server", "s", {**MCP, "tool": "t"}),
            ("tol", "tool", "t", {**MCP, "server": "s"}),
        )
    ),
)

RIGHT = (
    Field("ok-simple", BASE, {}),
    *(
        Field(f"ok-context-{each}", BASE, {"context": each})
        for each in ("Shell", "Network", "Mcp", "Inbound", "All", None)
    ),
    *(
        Field(f"ok-action-{each}", BASE, {"action": each})
        for each in ("Block", "Flag", "Allow")
    ),
    Field("ok-modify", MODIFY, {}),
    Field(
        "ok-modify-command",
        MODIFY,
        {"transform": {"type": "Executable", "command": "cat"}},
    ),
    Field("ok-executable", {**BASE, "type": "Executable"}, {"pattern": "grep -q x"}),
    Field("ok-mcp-server", MCP, {"server": "s"}),
    Field("ok-mcp-tool", MCP, {"tool": "t"}),
    Field("ok-mcp-null-tool", MCP, {"server": "s", "tool": None}),
    Field("ok-syscall-pattern", SYSCALL, {"pattern": "open"}),
    Field("ok-syscall-string", SYSCALL, {"syscall": "open"}),
    Field("ok-syscall-array", SYSCALL, {"syscall": ["open", "openat", "renameat2"]}),
    Field("ok-syscall-no-pattern", SYSCALL, {"pattern": ABSENT, "syscall": "open"}),
    Field("ok-syscall-regex", {**REGEX, "context": "Syscall"}, {"syscall": "open"}),
    Field("ok-syscall-all", BASE, {"syscall": "open"}),
    Field("ok-kill-true", SYSCALL, {"syscall": "open", "kill": True}),
    Field("ok-kill-false", SYSCALL, {"syscall": "open", "kill": False}),
    Field("ok-kill-null", SYSCALL, {"syscall": "open", "kill": None}),
    Field(
        "ok-null-optionals", BASE, {"transform": None, "syscall": None, "server": None}
    ),
    Field(
        "ok-known-extras",
        BASE,
        {
            "description": "d",
            "reason": "r",
            "suggestion": "s",
            "tests": [],
            "tags": ["a"],
            "$schema": "https://example.invalid/schema.json",
        },
    ),
    Field("ok-id-with-spaces-ünïcode", BASE, {}),
    Field("ok-regex-re2", REGEX, {"pattern": r"(?i)^(?P<n>\x{41}|\pL)\z"}),
)

WARNED = (
    Field("warn-unknown-field", BASE, {"owner": "me"}, ("owner",)),
    Field("warn-unknown-field-2", BASE, {"x-priority": 7}, ("x-priority",)),
    *(
        Field(
            f"warn-command-{name}", {**BASE, "type": "Executable"}, {"pattern": pattern}
        )
        for name, pattern in (
            ("pipe", "cat | grep x"),
            ("and", "true && false"),
            ("background", "true &"),
            ("semicolon", "true; false"),
            ("input", "cat < /etc/passwd"),
            ("output", "cat > /dev/null"),
            ("backquote", "echo `id`"),
            ("substitution", "echo $(id)"),
            ("unspaced-pipe", "cat|grep x"),
        )
    ),
    Field(
        "warn-transform-command",
        MODIFY,
        {"transform": {"type": "Executable", "command": "cat | tr a b"}},
    ),
)
NOT_WARNED = tuple(
    Field(f"quiet-command-{name}", {**BASE, "type": "Executable"}, {"pattern": pattern})
    for name, pattern in (
        ("quoted-pipe", "sh -c 'cat | grep x'"),
        ("double-quoted", 'sh -c "cat | grep x; true > /dev/null"'),
        ("escaped", r"grep -q a\|b\;c"),
        ("dollar", "echo $HOME"),
    )
)
FILES = (*WRONG, *RIGHT, *WARNED, *NOT_WARNED)


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    home = Home(tmp_path_factory.mktemp("fields"))
    for case in FILES:
        home.write(f"policies/{case.id}.json", case.policy)
    return home.check()


def test_the_cases_have_names_of_their_own() -> None:
    assert len({case.id for case in FILES}) == len(FILES)


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.id)
def test_a_wrong_field_is_an_error(checked: Checked, case: Field) -> None:
    errors = checked.errors_in(f"{case.id}.json")

    assert errors
    assert {each["subject"] for each in errors} == {case.id}
    messages = " ".join(each["message"] for each in errors)
    assert any(word.lower() in messages.lower() for word in case.says), messages


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.id)
def test_a_right_field_is_no_problem(checked: Checked, case: Field) -> None:
    assert not checked.errors_in(f"{case.id}.json")
    assert not checked.warnings_in(f"{case.id}.json")


@pytest.mark.parametrize("case", WARNED, ids=lambda case: case.id)
def test_an_odd_field_is_a_warning(checked: Checked, case: Field) -> None:
    warnings = checked.warnings_in(f"{case.id}.json")

    assert not checked.errors_in(f"{case.id}.json")
    assert {each["subject"] for each in warnings} == {case.id}
    assert all(word in warnings[0]["message"] for word in case.says)


@pytest.mark.parametrize("case", NOT_WARNED, ids=lambda case: case.id)
def test_a_quoted_operator_is_no_warning(checked: Checked, case: Field) -> None:
    assert not checked.warnings_in(f"{case.id}.json")


@pytest.mark.parametrize("value", [ABSENT, None, 1, "", ["x"]], ids=_word)
def test_a_policy_needs_an_id(home: Home, value: object) -> None:
    policy = {**BASE} if value is ABSENT else {**BASE, "id": value}
    home.write("policies/a.json", policy)

    checked = home.check()

    assert checked.code == 1
    assert "id" in checked.errors[0]["message"]


@pytest.mark.parametrize(
    "fields",
    [{"kill": True}, {"syscall": "open", "context": "Shell"}],
    ids=["kill", "syscall"],
)
def test_a_syscall_field_elsewhere_is_told(home: Home, fields: dict[str, Any]) -> None:
    home.policies({"id": "p", **BASE, **fields, "context": "Shell"})

    checked = home.check()

    assert [each["subject"] for each in checked.errors + checked.warnings] == ["p"]


@pytest.mark.parametrize("same_file", [True, False], ids=["one-file", "two-files"])
def test_a_duplicate_policy_id_is_an_error(home: Home, *, same_file: bool) -> None:
    twin = {"id": "twin", **BASE}
    if same_file:
        home.policies(twin, twin)
    else:
        home.policies(twin, file="a.json")
        home.policies(twin, file="b.json")

    checked = home.check()

    assert checked.code == 1
    assert "twin" in {each["subject"] for each in checked.errors}


def test_several_problems_of_one_policy_are_all_told(home: Home) -> None:
    home.policies({"id": "p", "type": "Simple", "action": "block", "kill": "yes"})

    messages = " ".join(each["message"] for each in home.check().errors)

    for word in ("action", "kill", "pattern"):
        assert word in messages
