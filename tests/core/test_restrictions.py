"""Restrictions: what they add to a verdict."""

import json
from typing import Any

import pytest
from engine_samples import policy, rules
from restriction_samples import TYPES, added, block, verdict

from redlane.engine.judge import judge
from redlane.model.content import TextContent
from redlane.model.policy import Context, Policy
from redlane.model.verdict import Decision
from redlane.policies.policy_document import document_of
from redlane.policies.restrictions import parse_restrictions


def test_block_of_a_user_holds_where_an_allow_of_the_role_matches() -> None:
    found = verdict([policy("a", "Allow", "")], added(block()), "some bad text")
    assert found.decision is Decision.BLOCK
    assert (found.policy, found.restriction, found.role) == ("mine", True, "r")
    assert found.reason == "the session's own restriction 'mine' blocks this"


def test_block_of_the_role_stays_the_role_s() -> None:
    role = [policy("mine", "Block", "bad", reason="root says so")]
    alone = verdict(role, None, "bad")
    assert verdict(role, added(block()), "bad") == alone
    assert not alone.restriction


def test_flag_of_a_user_holds_what_the_role_allows() -> None:
    role = [policy("a", "Allow", "")]
    found = verdict(role, added(block(action="Flag", reason="why not")), "bad")
    assert found.decision is Decision.FLAG
    assert found.reason == "the session's own restriction 'mine' flags this: why not"
    assert found.content is None


def test_flag_of_a_user_keeps_what_a_modify_of_the_role_made() -> None:
    role = [policy("m", "Modify", "bad")]
    found = verdict(role, added(block("some", action="Flag")), "some bad text")
    assert found.decision is Decision.FLAG
    assert (found.policy, found.modified_by) == ("mine", "m")
    assert found.content == b"some * text"


@pytest.mark.parametrize("pattern", ["bad", "*"], ids=["before", "after"])
def test_both_forms_of_a_modified_content_are_judged(pattern: str) -> None:
    role = [policy("m", "Modify", "bad")]
    found = verdict(role, added(block(pattern)), "some bad text")
    assert found.decision is Decision.BLOCK
    assert found.policy == "mine"
    assert (found.content, found.modified_by) == (None, None)


@pytest.mark.parametrize("pattern", ["bad", "*"], ids=["before", "after"])
def test_both_forms_of_a_modified_tool_call_are_judged(pattern: str) -> None:
    role = [policy("m", "Modify", "bad")]
    found = verdict(role, added(block(pattern)), CALL, Context.MCP)
    assert (found.decision, found.policy) == (Decision.BLOCK, "mine")
    assert verdict(role, None, CALL, Context.MCP).decision is Decision.MODIFY


def test_flag_of_the_role_stays_beside_a_flag_of_a_user() -> None:
    role = [policy("f", "Flag", "bad")]
    found = verdict(role, added(block(action="Flag")), "bad")
    assert (found.decision, found.policy) == (Decision.FLAG, "f")
    assert not found.restriction


def test_block_of_a_user_stops_what_the_role_flags() -> None:
    found = verdict([policy("f", "Flag", "bad")], added(block()), "bad")
    assert (found.decision, found.policy) == (Decision.BLOCK, "mine")


CALL = '{"server": "files", "tool": "delete", "arguments": {"x": "a bad day"}}'


@pytest.mark.parametrize(
    ("document", "text", "context"),
    [
        (block(), "very bad", Context.NETWORK),
        (block(), "very bad", Context.INBOUND),
        (block(), "echo 'very bad'", Context.SHELL),
        (block("rm -rf"), "sh -c 'r''m  -rf /x'", Context.SHELL),
        (block(context="Shell"), "echo bad", Context.ALL),
        (block(), CALL, Context.MCP),
        (
            {"id": "t", "type": "McpTool", "action": "Block", "server": "files"},
            CALL,
            Context.MCP,
        ),
        (
            block("/etc", context="Syscall", syscall="open"),
            '{"syscall": "open", "paths": ["/etc/passwd"]}',
            Context.SYSCALL,
        ),
        (block("b.d", type="Regex"), "bid", Context.NETWORK),
    ],
)
def test_restrictions_count_in_every_context(
    document: dict[str, Any], text: str, context: Context
) -> None:
    role = [policy("a", "Allow", "")]
    assert verdict(role, added(document), text, context).decision is Decision.BLOCK


def test_restrictions_count_in_their_context_only() -> None:
    only = added(block(context="Inbound"))
    assert verdict([], only, "bad").decision is Decision.ALLOW
    assert verdict([], only, "bad", Context.INBOUND).decision is Decision.BLOCK


def test_what_restrictions_cannot_see_is_blocked_where_they_count() -> None:
    role = [policy("a", "Allow", "")]
    hidden = "$(" * 500 + "ls" + ")" * 500
    assert verdict(role, None, hidden, Context.SHELL).decision is Decision.ALLOW
    here, elsewhere = added(block()), added(block(context="Mcp"))
    assert verdict(role, here, hidden, Context.SHELL).decision is Decision.BLOCK
    assert verdict(role, elsewhere, hidden, Context.SHELL).decision is Decision.ALLOW


@pytest.mark.parametrize("action", ["Block", "Flag"])
def test_restriction_that_cannot_be_asked_blocks(action: str) -> None:
    tool = {"id": "t", "type": "McpTool", "action": action, "server": "files"}
    call = '{"server": "fi\u200bles", "tool": "x"}'
    for role in ([policy("a", "Allow", "")], [policy("f", "Flag", "")]):
        found = verdict(role, added(tool), call, Context.MCP)
        assert found.decision is Decision.BLOCK
        assert "restriction 't' could not be asked" in found.reason


def test_kill_of_either_counts_for_a_system_call() -> None:
    call = '{"syscall": "open", "paths": ["/etc/passwd"]}'
    fields: dict[str, Any] = {"context": "Syscall", "syscall": "open"}
    role = [
        Policy(
            **{**_fields(policy("b", "Block", "/etc", "Simple")), "syscalls": ("open",)}
        )
    ]
    killing = verdict(
        role, added(block("/etc", kill=True, **fields)), call, Context.SYSCALL
    )
    assert (killing.policy, killing.kill) == ("b", True)
    mild = verdict(role, added(block("/etc", **fields)), call, Context.SYSCALL)
    assert (mild.policy, mild.kill) == ("b", False)


def _fields(one: Policy) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}


def test_words_of_a_user_stay_one_short_line() -> None:
    loud = block(reason="a\nb\x1b[2J" + "x" * 5_000, suggestion="c\nd" + "y" * 5_000)
    found = verdict([], added(loud), "bad")
    assert found.reason.isprintable()
    assert len(found.reason) < 500
    assert found.suggestion is not None
    assert found.suggestion.isprintable()
    assert len(found.suggestion) < 500


def test_builtin_policies_hold_whatever_is_added() -> None:
    found = verdict([], added(block("zz")), "REDLANE_SESSION=x ls", Context.SHELL)
    assert (found.policy, found.restriction) == ("builtin:session-variables", False)


def test_order_of_restrictions_changes_nothing_at_all() -> None:
    one, other = block(id="a", reason="first"), block(id="b", reason="second")
    there, back = added(one, other), added(other, one)
    assert (there.digest, there.text) == (back.digest, back.text)
    assert verdict([], there, "bad") == verdict([], back, "bad")


def test_text_of_restrictions_gives_them_again() -> None:
    made = added(
        block(kill=False, reason="r"),
        block(id="s", context="Syscall", syscall="open", kill=True),
        {"id": "t", "type": "McpTool", "action": "Flag", "tool": "x"},
    )
    again = parse_restrictions(json.loads(made.text), TYPES)
    assert (again.digest, again.text) == (made.digest, made.text)
    assert again.policies == made.policies
    assert made.types == {"Simple", "McpTool"}


def test_document_of_a_policy_gives_it_again() -> None:
    modify = policy("m", "Modify", "bad", "Simple", reason="why")
    document = dict(document_of(modify))
    assert document["transform"] == {
        "type": "Regex",
        "pattern": "bad",
        "replacement": "*",
    }


def test_plain_content_is_what_the_gate_sees() -> None:
    content = TextContent(Context.NETWORK, b"bad")
    found = judge(rules(types=TYPES), None, (content,), added(block()).slices)
    assert (found.decision, found.restriction) == (Decision.BLOCK, False)
