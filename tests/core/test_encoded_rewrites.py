"""`blocks_encoded`: what a Modify would take out, and cannot reach, is a Block."""

import json
from base64 import b64encode

import pytest
from engine_samples import policy, rules

from redlane.contexts.mcp.content import ToolCallContent
from redlane.contexts.network.content import NetworkContent
from redlane.contexts.shell.content import ShellContent
from redlane.engine.judge import judge
from redlane.model.content import Content
from redlane.model.policy import Context, Policy, Transform, TransformType
from redlane.model.verdict import Verdict

ENCODED = b64encode(b"it is secret-1").decode()


def redact(context: Context = Context.ALL, *, blocks: bool = True) -> Policy:
    transform = Transform(
        TransformType.REGEX, "secret-[0-9]", "REDACTED", blocks_encoded=blocks
    )
    return policy("redact", "Modify", "secret-", context=context, transform=transform)


def verdict(content: Content, modify: Policy) -> Verdict:
    return judge(rules(modify), "r", (content,))


def request(body: str) -> NetworkContent:
    return NetworkContent(f"POST https://a.example/ HTTP/1.1\n\n{body}".encode())


def call(arguments: dict[str, object], **beside: object) -> ToolCallContent:
    document = {"server": "s", "tool": "t", "arguments": arguments, **beside}
    return ToolCallContent.from_json(json.dumps(document).encode())


@pytest.mark.parametrize(
    "content",
    [
        request(ENCODED),
        request(f'{{"a": "{ENCODED}", "b": "secret-2"}}'),
        request('{"a": "s\\u0065cret-1"}'),
        call({"a": ENCODED}),
        call({"a": "secret-2", "b": [ENCODED]}),
        call({"secret-1": "a"}),
        call({"a": "b"}, _meta={"note": "secret-1"}),
        call({"a": "b"}, _meta={"note": ENCODED}),
        call({"a": "b"}, extra=["secret-1"]),
    ],
)
def test_what_cannot_be_rewritten_does_not_go_on(content: Content) -> None:
    found = verdict(content, redact())
    assert (found.decision, found.policy) == ("BLOCK", "redact")
    assert "cannot rewrite what is encoded" in found.reason
    assert found.content is None


@pytest.mark.parametrize(
    ("content", "decision"),
    [
        (request("secret-1"), "MODIFY"),
        (request('{"a": "secret-1"}'), "MODIFY"),
        (request("nothing"), "ALLOW"),
        (call({"a": "secret-1", "b": ["secret-2"]}), "MODIFY"),
        (call({"a": "nothing"}, _meta={"progressToken": 1}), "ALLOW"),
        (ShellContent(b"echo a; echo secret-1"), "MODIFY"),
    ],
)
def test_what_is_rewritten_goes_on(content: Content, decision: str) -> None:
    assert verdict(content, redact()).decision == decision


@pytest.mark.parametrize(
    "modify", [redact(blocks=False), redact(Context.SHELL), redact(Context.MCP)]
)
def test_without_it_and_for_others_nothing_is_looked_for(modify: Policy) -> None:
    assert verdict(request(ENCODED), modify).decision == "ALLOW"
