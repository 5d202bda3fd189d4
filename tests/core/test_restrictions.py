"""Restrictions: which policies a user may add, and what they add to a verdict."""

import json
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from engine_samples import policy, rules, sample_types

from redlane.contexts.parse import parse_contents
from redlane.engine.judge import judge
from redlane.engine.restricting import restrict
from redlane.model.content import TextContent
from redlane.model.matching import MatchType
from redlane.model.policy import Context, Policy
from redlane.model.verdict import Decision, Verdict
from redlane.plugins import find_plugins
from redlane.policies.policy_document import document_of
from redlane.policies.restrictions import (
    MOST_BYTES,
    MOST_POLICIES,
    MOST_SECONDS,
    Restrictions,
    RestrictionsError,
    TooManyBytesError,
    parse_restrictions,
)

TYPES: dict[str, MatchType] = {**find_plugins().match_types, **sample_types()}


def block(pattern: str = "bad", **fields: Any) -> dict[str, Any]:
    plain = {"id": "mine", "type": "Simple", "action": "Block", "pattern": pattern}
    return {**plain, **fields}


def added(*documents: object) -> Restrictions:
    return parse_restrictions({"policies": list(documents)}, TYPES)


def verdict(
    role: list[Policy],
    restrictions: Restrictions | None,
    text: str,
    context: Context = Context.NETWORK,
) -> Verdict:
    contents = parse_contents(context, text.encode())
    extra = () if restrictions is None else restrictions.slices
    return judge(rules(*role, types=TYPES), "r", contents, extra)


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


REFUSED: dict[str, tuple[Any, str]] = {
    "allow": (block(action="Allow"), "none that is 'Allow'"),
    "modify": (block(action="Modify"), "none that is 'Modify'"),
    "small allow": (block(action="allow"), "none that is 'allow'"),
    "no action": ({"id": "x", "type": "Simple", "pattern": "a"}, "`action` is missing"),
    "action of another type": (block(action=["Allow"]), "`action` must be"),
    "checker": (block("true", type="Executable"), "Executable runs code"),
    "checker without action": (
        {"id": "x", "type": "Executable", "pattern": "true"},
        "Executable runs code",
    ),
    "classifier": (block(type="Lane"), "Lane runs code"),
    "unknown type": (block(type="Smple"), "did you mean 'Simple'"),
    "type of another case": (block(type="simple"), "`type`"),
    "type no string": (block(type=["Simple"]), "`type` must be"),
    "transform": (
        block(transform={"type": "Executable", "command": "/etc/shadow"}),
        "leave `transform` out",
    ),
    "unknown context": (block(context="shell"), "did you mean 'Shell'"),
    "misspelled field": (block(patern="x"), "did you mean `pattern`"),
    "unknown field": (block(when="always"), "unknown field 'when'"),
    "broken pattern": (block("(", type="Regex"), "does not compile"),
    "no id": ({"type": "Simple", "action": "Block", "pattern": "a"}, "entry 1"),
    "empty id": (block(id=""), "`id` must be"),
    "id with a line break": (block(id="a\nb"), "`id` must be"),
    "id with an escape": (block(id="a\x1b[2Jb"), "`id` must be"),
    "id too long": (block(id="a" * 1_001), "longer than"),
    "no object": (1, "must be an object"),
    "null": (None, "must be an object"),
    "list": ([[block()]], "must be an object"),
    "no names": ({"id": "x", "type": "McpTool", "action": "Block"}, "`server` or"),
    "syscall missing": (block("x", type="Regex", context="Syscall"), "`syscall`"),
}


@pytest.mark.parametrize(("document", "said"), REFUSED.values(), ids=[*REFUSED])
def test_policy_that_is_no_restriction_is_refused(document: Any, said: str) -> None:
    with pytest.raises(RestrictionsError) as refused:
        added(block(id="good"), document)
    assert refused.value.findings
    assert said.replace("entry 1", "entry 2") in str(refused.value)
    assert str(refused.value).isprintable()


def test_errors_quote_only_so_much() -> None:
    with pytest.raises(RestrictionsError) as refused:
        added(*({"id": "\0" * 90_000 + str(each), "action": 1} for each in range(2)))
    assert len(str(refused.value)) < 1_000
    for each in refused.value.findings:
        assert len(each.subject) + len(each.message) < 1_000


def test_id_may_be_used_once() -> None:
    with pytest.raises(RestrictionsError, match="used twice"):
        added(block(), block("other"))


@pytest.mark.parametrize(
    "value",
    [
        1,
        [],
        "x",
        {},
        {"policies": {}},
        {"policies": None},
        {"policies": [], "roles": []},
    ],
)
def test_other_shapes_are_refused(value: object) -> None:
    with pytest.raises(RestrictionsError, match="restrictions"):
        parse_restrictions(value, TYPES)


def test_number_and_size_are_bounded() -> None:
    many = [block(id=f"p{place}") for place in range(MOST_POLICIES)]
    assert len(added(*many).policies) == MOST_POLICIES
    with pytest.raises(RestrictionsError, match="1001 restrictions"):
        added(*many, block(id="more"))
    with pytest.raises(TooManyBytesError, match="bytes"):
        added(block("x" * MOST_BYTES))


def test_every_error_is_told_and_the_first_in_the_line() -> None:
    with pytest.raises(RestrictionsError) as refused:
        added(block(action="Allow"), block(id="b", type="Executable"))
    assert [each.subject for each in refused.value.findings] == ["mine", "b"]
    assert "(and 1 more)" in str(refused.value)


def test_match_type_that_raises_is_an_error_and_no_crash() -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            return getattr(TYPES["Simple"], name)

        def compile(self, _: object) -> None:
            raise ZeroDivisionError

    with pytest.raises(RestrictionsError, match="ZeroDivisionError"):
        parse_restrictions(
            {"policies": [block()]},
            {"Simple": Broken()},  # type: ignore[dict-item]  # as a plugin may be
        )


def test_plain_content_is_what_the_gate_sees() -> None:
    content = TextContent(Context.NETWORK, b"bad")
    found = judge(rules(types=TYPES), None, (content,), added(block()).slices)
    assert (found.decision, found.restriction) == (Decision.BLOCK, False)


def ticking(step: float) -> Callable[[], float]:
    """A clock that goes on by `step` seconds each time it is read."""
    return partial(next, count(0.0, step))


def many(number: int, action: str = "Block") -> list[dict[str, Any]]:
    return [
        block(f"word{place}.", id=f"p{place:04}", action=action)
        for place in range(number)
    ]


@pytest.mark.parametrize("place", [0, 31, 32, 500, 999])
@pytest.mark.parametrize("action", ["Block", "Flag"])
def test_every_one_of_many_restrictions_counts(place: int, action: str) -> None:
    found = verdict([], added(*many(1_000, action)), f"a word{place}. b")
    assert (found.decision.value, found.policy) == (action.upper(), f"p{place:04}")


def test_first_of_many_is_the_one_that_is_told() -> None:
    documents = many(100)
    for each in (documents[70], documents[40], documents[90]):
        each["pattern"] = "bad"
    assert verdict([], added(*documents), "bad").policy == "p0040"


def test_flag_in_front_does_not_hide_a_block_or_a_failure() -> None:
    flags = many(100, "Flag")
    flags[0]["pattern"] = ""
    tool = {"id": "z", "type": "McpTool", "action": "Flag", "server": "files"}
    call = '{"server": "fi\u200bles", "tool": "x"}'
    assert verdict([], added(*flags, tool), call, Context.MCP).policy == "z"
    flags[99] = block(id="zz")
    assert verdict([], added(*flags), "bad").policy == "zz"


def test_restrictions_that_take_too_long_block() -> None:
    content = TextContent(Context.NETWORK, b"good")
    allowed = Verdict(Decision.ALLOW, "", context="Network")
    slices = added(*many(100)).slices
    assert restrict(allowed, slices, [content], timer=ticking(0.1)) == allowed
    late = restrict(allowed, slices, [content], timer=ticking(2.0))
    assert (late.decision, late.policy) == (Decision.BLOCK, None)
    assert "not done with this in time" in late.reason


def test_restrictions_that_take_too_long_to_make_ready_are_refused() -> None:
    value = {"policies": many(100)}
    assert parse_restrictions(value, TYPES, timer=ticking(0.01)).policies
    with pytest.raises(RestrictionsError, match="longer than 5 s"):
        parse_restrictions(value, TYPES, timer=ticking(0.1))


HOSTILE = {
    "states": ["[ab]*a" + "[ab]" * 30 + "[cd]" * (n % 40 + 1) for n in range(1_000)],
    "programs": ["[a-z]{1000}" * 60 + f"|Q{n}" for n in range(1_000)],
    "repeats": [f"(?:[a-z]{{30}}){{30}}|Q{n}" for n in range(1_000)],
    "alternatives": ["(?:a|b)?[xy]*.+c" * 60 + str(n) for n in range(1_000)],
}


@pytest.mark.parametrize("patterns", HOSTILE.values(), ids=[*HOSTILE])
def test_hostile_patterns_are_refused_or_end_in_a_verdict(patterns: list[str]) -> None:
    """As large as may be; a second for the slowest slice, on a machine that is busy."""
    documents = [
        block(pattern, id=str(n), type="Regex") for n, pattern in enumerate(patterns)
    ]
    begun = time.monotonic()
    try:
        slices = added(*documents).slices
    except RestrictionsError:
        assert time.monotonic() - begun < 4 * MOST_SECONDS
        return
    content = TextContent(Context.NETWORK, b"abba" * 500)
    allowed = Verdict(Decision.ALLOW, "", context="Network")
    begun = time.monotonic()
    found = restrict(allowed, slices, [content])
    assert found.decision in (Decision.ALLOW, Decision.BLOCK)
    assert time.monotonic() - begun < 4 * MOST_SECONDS
