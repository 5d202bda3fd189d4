"""McpTool, and text policies on MCP calls (policy format: Match types, Contexts)."""

import json
from typing import Any

import pytest
from spec.cases import Case, Judge, executable, mcp_tool, regex, simple
from spec.redlane_home import Home

READ = {"server": "files", "tool": "read", "arguments": {"path": "/tmp/x"}}


def _call(**fields: Any) -> dict[str, Any]:
    return {**READ, **fields}


def _case(name: str, policy: dict[str, Any], call: object, *, matches: bool) -> Case:
    if matches:
        return Case(name, (policy,), call, "BLOCK", 0, context="Mcp")
    return Case(name, (policy,), call, "ALLOW", None, context="Mcp")


def _tool(name: str, call: object, *, matches: bool, **fields: object) -> Case:
    return _case(name, mcp_tool("Block", **fields), call, matches=matches)


def _text(name: str, pattern: str, arguments: object, *, matches: bool = True) -> Case:
    call = _call(arguments=arguments)
    return _case(name, simple("Block", pattern), call, matches=matches)


def _regex(name: str, pattern: str, arguments: object, *, matches: bool = True) -> Case:
    call = _call(arguments=arguments)
    return _case(name, regex("Block", pattern), call, matches=matches)


CASES = (
    _tool("server-and-tool", READ, server="files", tool="read", matches=True),
    _tool("every-tool-of-a-server", READ, server="files", matches=True),
    _tool("a-tool-of-any-server", READ, tool="read", matches=True),
    _tool("another-server", READ, server="web", tool="read", matches=False),
    _tool("another-tool", READ, server="files", tool="write", matches=False),
    _tool("other-server-only", READ, server="web", matches=False),
    _tool("other-tool-only", READ, tool="write", matches=False),
    _tool("null-server-is-any", READ, server=None, tool="read", matches=True),
    _tool("null-tool-is-any", READ, server="files", tool=None, matches=True),
    _tool("no-part-of-a-tool", READ, tool="rea", matches=False),
    _tool("no-part-of-a-server", READ, server="file", matches=False),
    _tool("no-prefix", _call(tool="read_all"), tool="read", matches=False),
    _tool("case-matters", _call(tool="Read"), tool="read", matches=False),
    _tool("no-regex", READ, tool="re.d", matches=False),
    _tool("space-counts", _call(tool="read "), tool="read", matches=False),
    _tool("non-ascii-names", _call(tool="öffne"), tool="öffne", matches=True),
    # Names that look like others are refused whole.
    *(
        Case(
            f"{kind}-in-the-{field}-{action.lower()}",
            (mcp_tool(action, **{field: "elsewhere"}),),
            _call(**{field: f"re{mark}ad"}),
            "BLOCK",
            context="Mcp",
        )
        for kind, mark in (
            ("control", "\x07"),
            ("nul", "\0"),
            ("newline", "\n"),
            ("zero-width-space", "\u200b"),
            ("zero-width-joiner", "\u200d"),
            ("byte-order-mark", "\ufeff"),
            ("bidi-override", "\u202e"),
            ("bidi-isolate", "\u2066"),
        )
        for field in ("tool", "server")
        for action in ("Block", "Allow")
        if action == "Block" or kind == "zero-width-space"
    ),
    # Text policies see the call as JSON, and each string value.
    _text("text-sees-the-tool", '"tool":"read"', {}),
    _text("text-sees-the-server", '"server":"files"', {}),
    _text("text-sees-a-value", "/etc/passwd", {"path": "/etc/passwd"}),
    _text("text-sees-a-key-in-json", '"path":"/tmp', {"path": "/tmp/x"}),
    _text("text-sees-numbers-in-json", '"n":42', {"n": 42}),
    _text("text-without-spaces", '"a":[1,2],"b":null', {"a": [1, 2], "b": None}),
    _text("text-non-ascii-as-is", "naïve 🔑", {"a": "naïve 🔑"}),
    _text("text-newline-in-a-value", "one\ntwo", {"a": "one\ntwo"}),
    _text("text-quote-in-a-value", 'say "hi"', {"a": 'say "hi"'}),
    _text("text-backslash-in-a-value", "C:\\x", {"a": "C:\\x"}),
    _text("text-in-a-nested-value", "a\tb", {"x": {"y": [0, ["a\tb"]]}}),
    _text("text-absent", "/etc/passwd", {"path": "/tmp"}, matches=False),
    _regex("value-anchored", "^rm -rf", {"cmd": "rm -rf /"}),
    _regex("value-anchored-both", "^rm$", {"cmds": ["ls", "rm"]}),
    _regex("value-anchored-nested", "^rm$", {"a": {"b": {"c": "rm"}}}),
    _regex("value-not-joined", "^ls.*rm$", {"a": "ls", "b": "rm"}, matches=False),
    _regex("json-anchored", r'^\{"server":"files","tool":"read",', {}),
    _case(
        "escapes-are-decoded",
        simple("Block", "/etc/passwd"),
        r'{"server":"s","tool":"t","arguments":{"p":"\u002fetc\u002fpass\u0077d"}}',
        matches=True,
    ),
    _case(
        "insignificant-space-is-removed",
        simple("Block", '{"p":"x"}'),
        '{ "server" : "s",\n "tool": "t", "arguments" : { "p" :\t"x" } }',
        matches=True,
    ),
    _case(
        "escaped-tool-name",
        mcp_tool("Block", tool="read"),
        r'{"server":"s","tool":"\u0072ead","arguments":{}}',
        matches=True,
    ),
    _case(
        "checker-gets-the-call",
        executable("Block", 'grep -qF \'"tool":"read"\''),
        READ,
        matches=True,
    ),
    _case(
        "checker-gets-each-value",
        executable("Block", "grep -qx 'rm -rf /'"),
        _call(arguments={"cmd": "rm -rf /"}),
        matches=True,
    ),
    # Precedence works between match types.
    Case(
        "allow-rescues-one-tool",
        (mcp_tool("Block", server="files"), mcp_tool("Allow", tool="read")),
        READ,
        "ALLOW",
        1,
        context="Mcp",
    ),
    Case(
        "allow-leaves-the-other-tools",
        (mcp_tool("Block", server="files"), mcp_tool("Allow", tool="read")),
        _call(tool="write"),
        "BLOCK",
        0,
        context="Mcp",
    ),
    Case("flag", (mcp_tool("Flag", tool="read"),), READ, "FLAG", 0, context="Mcp"),
    Case(
        "never-on-other-contexts",
        (mcp_tool("Block", server="files"), mcp_tool("Block", tool="read")),
        json.dumps(READ),
        "ALLOW",
        None,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_mcp_calls(judge: Judge, case: Case) -> None:
    case.check(judge(case))


MALFORMED = {
    "no-json": "read files",
    "array": "[]",
    "string": '"read"',
    "empty": "",
    "cut-short": '{"server":"s","tool":',
    "no-server": '{"tool":"t","arguments":{}}',
    "no-tool": '{"server":"s","arguments":{}}',
    "null-tool": '{"server":"s","tool":null,"arguments":{}}',
    "server-no-string": '{"server":1,"tool":"t","arguments":{}}',
    "arguments-no-object": '{"server":"s","tool":"t","arguments":[]}',
    "too-deep": '{"server":"s","tool":"t","arguments":{"a":'
    + "[" * 50_000
    + "]" * 50_000
    + "}}",
}


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED.keys())
def test_validate_cannot_evaluate_what_is_no_call(home: Home, content: str) -> None:
    home.role("open")

    ran = home.validate(content, "open", "Mcp")

    assert ran.code == 2
    assert ran.out == ""
    assert ran.refusal


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED.keys())
def test_the_daemon_blocks_what_is_no_call(table_daemon: Home, content: str) -> None:
    verdict = table_daemon.control.analyze(content, "Mcp", role="flag", hold=False)

    assert verdict["verdict"] == "BLOCK"


def _rewrite(home: Home, pattern: str, replacement: str, call: object) -> Any:
    transform = {"type": "Regex", "pattern": pattern, "replacement": replacement}
    home.policies({"id": "m", **regex("Modify", ".", transform=transform)})
    home.role("agent", "m")
    verdict = home.verdict(call, "agent", "Mcp")
    assert (verdict["verdict"], verdict["policy"]) == ("MODIFY", "m")
    return json.loads(verdict["content"])


def test_a_modify_rewrites_string_values_of_arguments(home: Home) -> None:
    arguments = {"a": "read this", "b": ["read", 1, {"c": "read"}]}

    rewritten = _rewrite(home, "read", "seen", _call(arguments=arguments))

    assert rewritten["arguments"] == {"a": "seen this", "b": ["seen", 1, {"c": "seen"}]}


def test_a_modify_leaves_server_and_tool_alone(home: Home) -> None:
    rewritten = _rewrite(home, "read|files", "seen", _call(arguments={"a": "read"}))

    assert (rewritten["server"], rewritten["tool"]) == ("files", "read")
    assert rewritten["arguments"] == {"a": "seen"}


def test_a_modify_cannot_break_the_json(home: Home) -> None:
    rewritten = _rewrite(home, "x", 'say "hi"\n\\', _call(arguments={"a": "x"}))

    assert rewritten["arguments"] == {"a": 'say "hi"\n\\'}
