"""What people look at first: the part of a command that a Flag is about."""

import pytest
from engine_samples import policy, rules

from redlane.contexts.shell.content import ShellContent
from redlane.engine.judge import judge
from redlane.model.content import Content, TextContent
from redlane.model.policy import Context

SNAPSHOT = (
    "source /home/a/.agent/snapshot-bash.sh 2>/dev/null || true && shopt -u extglob && "
    "eval 'git push bad' < /dev/null && pwd -P >| /tmp/agent-cwd"
)

COMMANDS = {
    "the whole": ("git push bad", "bad", None),
    "as an agent wraps it": (SNAPSHOT, "bad", b"git push bad"),
    "one of several": ("ls; git push bad | cat", "bad", b"git push bad"),
    "in another spelling": ("ls; git pu''sh b\\ad", "bad", b"git push bad"),
    "only the whole": ("ls bad; cat", "bad; cat", None),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_flag_tells_the_part_that_it_matched(case: str) -> None:
    text, pattern, part = COMMANDS[case]
    content = ShellContent(text.encode())
    found = judge(rules(policy("f", "Flag", pattern)), "r", (content,))
    assert found.policy == "f"
    assert found.matched == part


@pytest.mark.parametrize(
    "content",
    [TextContent(Context.NETWORK, b"GET /bad"), ShellContent(b"bad; x")],
    ids=["no command", "asked of a checker"],
)
def test_part_is_left_out_where_it_is_not_cheap_to_tell(content: Content) -> None:
    kind = "Check" if content.context is Context.SHELL else "Word"
    pattern = "yes:bad" if kind == "Check" else "bad"
    found = judge(rules(policy("f", "Flag", pattern, kind)), "r", (content,))
    assert (found.policy, found.matched) == ("f", None)
