import dataclasses

import pytest

from redlane.api import (
    Action,
    Answer,
    Content,
    Context,
    Outcome,
    Policy,
    Reader,
    Severity,
    ToolCall,
)
from redlane.model.content import TextContent
from redlane_match_mcp import McpToolType

ALL = 1 << 60


class Call(Content):
    """A tool call, as context Mcp makes it."""

    context = Context.MCP
    data = b"{}"

    def __init__(self, server: str, tool: str) -> None:
        self._call = ToolCall(server, tool)

    @property
    def call(self) -> ToolCall:
        return self._call

    def views(self, action: Action, reader: Reader) -> tuple[bytes, ...]:  # noqa: ARG002
        return (self.data,)

    def rewritten(self, change: object) -> Content:  # noqa: ARG002
        return self


def policy(server: str | None, tool: str | None, **fields: object) -> Policy:
    made = Policy("id", "McpTool", Action.BLOCK, server=server, tool=tool)
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


POLICIES = [
    policy("files", None, order=3),
    policy(None, "delete", order=5),
    policy("files", "delete", order=4),
    policy("mail", "send", order=1),
    policy("", "send", order=2),
    policy("mail", "", order=6),
]


def answers(
    server: str, tool: str, policies: list[Policy] = POLICIES, before: int = ALL
) -> list[Answer]:
    matcher = McpToolType().compile(policies)
    return list(matcher.answers(Call(server, tool), (b"{}",), before))


@pytest.mark.parametrize(
    ("server", "tool", "expected"),
    [
        ("files", "read", [3]),
        ("files", "delete", [3, 4, 5]),
        ("other", "delete", [5]),
        ("mail", "send", [1, 2, 6]),
        ("other", "send", [2]),
        ("other", "other", []),
        ("Files", "read", []),
        ("files ", "read", []),
        ("files2", "deletes", []),
        ("fi", "del", []),
        ("", "", []),
        ("*", "*", []),
        ("\uff46iles", "read", []),
    ],
)
def test_names_are_compared_whole_and_exactly(
    server: str, tool: str, expected: list[int]
) -> None:
    assert answers(server, tool) == [Answer(each, Outcome.YES) for each in expected]


def test_only_lower_orders_are_told() -> None:
    assert [each.order for each in answers("files", "delete", before=5)] == [3, 4]


UNSEEN = {
    "line break": "\n",
    "NUL": "\0",
    "escape": "\x1b",
    "C1 control": "\x85",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "right-to-left override": "\u202e",
    "right-to-left isolate": "\u2067",
    "line separator": "\u2028",
    "tag letter": "\U000e0041",
    "variation selector": "\ufe0f",
    "grapheme joiner": "\u034f",
    "Hangul filler": "\u3164",
    "Braille blank": "\u2800",
    "half a surrogate pair": "\udc80",
}


@pytest.mark.parametrize("character", UNSEEN.values(), ids=UNSEEN)
@pytest.mark.parametrize("before", [ALL, 0])
def test_call_with_an_invisible_character_fails_whatever_the_policies(
    character: str, before: int
) -> None:
    for server, tool in (("files" + character, "x"), ("x", character + "read")):
        for policies in (POLICIES, POLICIES[::-1], POLICIES[:1]):
            (failed,) = answers(server, tool, policies, before)
            assert failed.outcome is Outcome.FAILED
            assert f"U+{ord(character):04X}" in failed.reason
            assert failed.reason.isprintable()


@pytest.mark.parametrize("name", ["naïve tool", "サーバー", "a.b/c-d_e:f", "😀"])
def test_visible_names_of_any_script_are_compared(name: str) -> None:
    assert answers(name, "x", [policy(name, None)]) == [Answer(0, Outcome.YES)]


def test_nothing_matches_where_there_is_no_call() -> None:
    matcher = McpToolType().compile(POLICIES)
    content = TextContent(Context.SHELL, b"files")
    assert list(matcher.answers(content, (b"files",), ALL)) == []


def test_matcher_without_policies_refuses_nothing() -> None:
    assert answers("a\u200b", "b", []) == []


@pytest.mark.parametrize(
    ("given_policy", "expected"),
    [
        (policy("files", None), []),
        (policy(None, "read"), []),
        (policy("files", "read", context=Context.MCP), []),
        (policy(None, None), [Severity.ERROR]),
        (policy("", ""), [Severity.ERROR]),
        (policy("", None), [Severity.ERROR]),
        (policy("fi\u200bles", "read"), [Severity.ERROR]),
        (policy("files", "re\u202ead"), [Severity.ERROR]),
        (policy("files", None, context=Context.SHELL), [Severity.WARNING]),
        (policy("files", None, context=Context.SYSCALL), [Severity.WARNING]),
        (
            policy(None, None, context=Context.INBOUND),
            [Severity.ERROR, Severity.WARNING],
        ),
    ],
    ids=ascii,
)
def test_problems(given_policy: Policy, expected: list[Severity]) -> None:
    problems = list(McpToolType().problems(given_policy))
    assert [each.severity for each in problems] == expected
    assert all(each.message.isprintable() for each in problems)
