"""Which texts of a shell command policies see, and what is refused as too complex."""

import pytest
from core.shell_views import views

from redlane.contexts.shell.content import ShellContent
from redlane.model.content import Reader
from redlane.model.policy import Action

INNER = (Action.BLOCK, Action.FLAG)
OUTER = (Action.ALLOW, Action.MODIFY)


@pytest.mark.parametrize("action", OUTER)
@pytest.mark.parametrize("reader", Reader)
def test_allow_and_modify_see_the_command_as_given(
    action: Action, reader: Reader
) -> None:
    content = ShellContent(b"sudo sh -c 'rm x'")
    assert content.views(action, reader) == (content.data,)


@pytest.mark.parametrize("action", INNER)
def test_block_and_flag_see_what_is_inside(action: Action) -> None:
    content = ShellContent(b"ls; sudo rm x")
    assert content.views(action, Reader.PATTERN) == (
        b"ls; sudo rm x",
        b"ls",
        b"sudo rm x",
        b"rm x",
    )


def test_views_are_the_same_each_time_and_each_once() -> None:
    content = ShellContent(b"ls; ls; sh -c ls; rm $a x")
    seen = content.views(Action.BLOCK, Reader.PATTERN)
    assert seen == ShellContent(content.data).views(Action.BLOCK, Reader.PATTERN)
    assert len(set(seen)) == len(seen)


def test_patterns_see_valid_text_and_checkers_the_bytes() -> None:
    content = ShellContent(b"r\xffm x")
    assert content.views(Action.BLOCK, Reader.PATTERN)[0].decode() == "r\ufffdm x"
    assert content.views(Action.BLOCK, Reader.CHECKER)[0] == b"r\xffm x"
    assert content.views(Action.MODIFY, Reader.CHECKER) == (b"r\xffm x",)


def test_rewritten_command_keeps_its_surroundings() -> None:
    content = ShellContent(b'"$1" x', (b"name", b"ls"), "/tmp")
    changed = content.rewritten(lambda data: data.replace(b"x", b"y"))
    assert changed.data == b'"$1" y'
    assert (changed.arguments, changed.cwd) == ((b"name", b"ls"), "/tmp")
    assert b"ls y" in changed.views(Action.BLOCK, Reader.PATTERN)


@pytest.mark.parametrize("data", [b"", b" ", b"\n", b"#", b";", b"\0", b"\xff", b"'"])
def test_what_is_no_command_is_no_problem(data: bytes) -> None:
    content = ShellContent(data)
    assert content.problem is None
    assert len(content.views(Action.BLOCK, Reader.PATTERN)) >= 1


HARMLESS = {
    "two thousand lines": "\n".join(f"echo {place}" for place in range(900)),
    "range of names": "touch file{1..10000}",
    "many files": "rm " + " ".join(f"file{place}" for place in range(5000)),
    "loop over many": "for f in " + " ".join(map(str, range(200))) + "; do rm $f; done",
    "ten substitutions": "echo $(a) $(b) $(c) $(d) $(e) $(f) $(g) $(h) $(i) $(j)",
    "long document": "cat > a <<E\n" + "rm -rf ~ $x `y`\n" * 2000 + "E",
    "nested ifs": "if a; then " * 50 + "ls; " + "fi; " * 50,
    "parentheses in text": "echo '" + "(" * 10_000 + "'",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS.keys())
def test_long_commands_can_be_judged(text: str) -> None:
    views(text)


BOUNDS = {
    "commands": "\n".join(f"c{place} x" for place in range(2001)),
    "nested shells": "eval " * 20 + "ls",
    "nested substitutions": "$(" * 20 + "ls" + ")" * 20,
    "nested groups": "(" * 300 + "ls" + ")" * 300,
    "meanings": "".join(f"for a{place} in 1 2 3 4 5 6 7 8 9; do " for place in range(4))
    + "$a0$a1$a2$a3 x"
    + "; done" * 4,
    "braces": "{a,b}" * 12,
    "doubled text": "a=xxxxxxxx;" + "a=$a$a;" * 30 + "$a",
    "loops in loops": "for i in 1 2; do " * 20 + "ls" + "; done" * 20,
    "length": "echo '" + "a" * 1024 * 1024 + "'",
    "entangled": "((a;" * 20_000,
}


@pytest.mark.parametrize("text", BOUNDS.values(), ids=BOUNDS.keys())
def test_what_passes_a_bound_is_a_problem(text: str) -> None:
    problem = ShellContent(text.encode()).problem
    assert problem is not None
    assert problem.startswith("the command cannot be judged: ")


def test_commands_before_a_bound_are_still_seen() -> None:
    content = ShellContent(b"rm x; " + b"$(" * 20)
    assert content.problem is not None
    content = ShellContent(b"rm x\n" + b"eval " * 20 + b"ls")
    assert b"rm x" in content.views(Action.BLOCK, Reader.PATTERN)
