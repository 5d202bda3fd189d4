"""An Allow with scope `each`: it counts where it matches every command."""

from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, regex, told

from redlane.contexts.shell.content import ShellContent
from redlane.engine.judge import judge
from redlane.model.content import Content, TextContent
from redlane.model.policy import Context
from redlane.model.verdict import Verdict

EACH = {"action": "Allow", "scope": "each"}


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path)


def verdict(home: PolicyHome, content: Content | str, *policies: Any) -> Verdict:
    """What a role with a Block on everything and `policies` says."""
    home.policies(*policies, regex("everything", "."))
    home.role("r", "everything", *(each["id"] for each in policies))
    loaded = home.load()
    assert not loaded.errors
    if isinstance(content, str):
        content = ShellContent(content.encode(), cwd="/")
    return judge(loaded.ruleset, "r", (content,))


MATCHES = (
    "make",
    "make test && make install",
    "make test | make",
    "if make; then make test; else make clean; fi",
    "for each in a; do make $each; done 2> /dev/null",
    "make 2>&1 > /dev/null",
    "bash -c 'make test'",
    "f() { make test; }; f",
    "make '; rm -rf ~'",
)
"""Where `^(make|bash -c make|f$|each=)` matches every command."""

DOES_NOT = {
    "another command": "make; cat ~/.ssh/id_rsa",
    "one in a pipe": "make | sh",
    "one in a substitution": 'make "$(cat ~/.ssh/id_rsa)"',
    "one in a loop": "while make; do rm x; done",
    "one that is wrapped": "make; bash -c 'make; rm -rf ~'",
    "one in a function": "f() { rm -rf ~; }; f",
    "one for later": "make; trap 'rm -rf ~' EXIT",
    "a wrapper": "sudo make",
    "a program elsewhere": "/tmp/make",
    "a file that is written": "make > ~/.bashrc",
    "a file that is read": "make < ~/.ssh/id_rsa",
    "a text that is read": "make <<< 'all: ; rm -rf ~'",
    "a here-document": "make -f - << E\nall: ; rm -rf ~\nE",
    "a redirection of several": "{ make; } >> ~/.bashrc",
    "a redirection without a command": "make; > ~/.bashrc",
    "an environment": "LD_PRELOAD=/tmp/x.so make",
    "an assignment": "PATH=/tmp; make",
    "an assignment by a loop": "for PATH in /tmp; do make; done",
    "an assignment in a subscript": "make[PATH=1]=x; make",
    "a function's redirection": "f() { make; } > ~/.bashrc; f",
    "quotes in quotes": 'make "${HOME#\'"\'}"; rm -rf ~',
    "an array that is none": "make=(a ;\nrm -rf ~",
    "words that are not known": "make $WHAT",
    "what only a run tells": "make $(date +%s)",
    "what is too deep to be read": "make " + "$(" * 300,
    "no command": "# make",
}


@pytest.mark.parametrize("text", MATCHES)
def test_counts_where_it_matches_every_command(home: PolicyHome, text: str) -> None:
    allow = regex("make", "^(make|bash -c make|f$|each=)", **EACH)
    found = verdict(home, text, allow)
    assert (found.decision, found.policy) == ("ALLOW", "make")


@pytest.mark.parametrize("text", DOES_NOT.values(), ids=DOES_NOT)
def test_does_not_count_where_something_is_not_matched(
    home: PolicyHome, text: str
) -> None:
    allow = regex("make", r"^(make\b|bash -c|f$|trap)", **EACH)
    found = verdict(home, text, allow)
    assert (found.decision, found.policy) == ("BLOCK", "everything")


def test_what_another_allow_matches_is_not_matched_by_it(home: PolicyHome) -> None:
    allows = (regex("make", "^make$", **EACH), regex("list", "^ls$", **EACH))
    assert verdict(home, "make; ls", *allows).decision == "BLOCK"


def test_first_of_several_is_named(home: PolicyHome) -> None:
    allows = (
        regex("rest", "^ls", **EACH),
        regex("first", "^make", **EACH),
        regex("content", "make", action="Allow"),
    )
    assert verdict(home, "make; make", *allows).policy == "first"


@pytest.mark.parametrize(
    ("scope", "decision"), [("content", "ALLOW"), (None, "ALLOW"), ("each", "BLOCK")]
)
def test_content_is_the_default(
    home: PolicyHome, scope: str | None, decision: str
) -> None:
    fields = {} if scope is None else {"scope": scope}
    allow = regex("make", "^make", action="Allow", **fields)
    assert verdict(home, "make; rm -rf ~", allow).decision == decision


def test_outside_of_context_shell_it_is_the_content_that_counts(
    home: PolicyHome,
) -> None:
    request = TextContent(Context.NETWORK, b"make; rm -rf ~")
    assert verdict(home, request, regex("make", "^make", **EACH)).policy == "make"


@pytest.mark.parametrize(
    ("program", "decision"),
    [("grep -q '^make'", "ALLOW"), ("grep -q '^make$'", "BLOCK"), ("/no/x", "BLOCK")],
)
def test_programs_are_asked_about_each_command(
    home: PolicyHome, program: str, decision: str
) -> None:
    check = {**regex("check", program, **EACH), "type": "Executable"}
    assert verdict(home, "make; make test", check).decision == decision


def test_a_program_that_cannot_be_asked_blocks(home: PolicyHome) -> None:
    check = {**regex("check", "/no/such/program", **EACH), "type": "Executable"}
    found = verdict(home, "make", regex("make", "^make", **EACH), check)
    assert (found.decision, found.policy) == ("BLOCK", "check")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"action": "Block"}, "`scope` has no effect unless the action is Allow"),
        ({"context": "Network"}, "`scope` has no effect outside context Shell"),
    ],
)
def test_where_it_does_nothing_is_a_warning(
    home: PolicyHome, fields: dict[str, str], says: str
) -> None:
    home.policies({**regex("p", "^make", **EACH), **fields})
    ((_, _, message),) = told(home.load().findings)
    assert message.startswith(says)


AGENTS = {
    "Claude Code": (
        "source /h/.claude/shell-snapshots/s.sh 2>/dev/null || true && "
        "shopt -u extglob 2>/dev/null || true && "
        "eval '{quoted}' < /dev/null && pwd -P >| /tmp/claude-1-cwd"
    ),
    "Gemini CLI": (
        "shopt -u promptvars nullglob; _bgpids_file=/tmp/g/bgpids.tmp\n(\n"
        "  trap 'jobs -p > \"$_bgpids_file\"' EXIT\n{command}\n)\n"
        "__code=$?\nexit $__code"
    ),
    "opencode": ". /h/.bashrc\n{command}",
}


def as_run_by(agent: str, command: str) -> str:
    quoted = command.replace("'", "'\"'\"'")
    return AGENTS[agent].format(command=command, quoted=quoted)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("make 'it'; make", "ALLOW"),
        ("make; rm -rf ~", "BLOCK"),
        ("make\n)\nrm -rf ~\n(\n:", "BLOCK"),
        ("ls", "FLAG"),
    ],
)
def test_it_is_the_command_that_an_agent_was_given_that_counts(
    home: PolicyHome, agent: str, command: str, decision: str
) -> None:
    home.policies(
        regex("make", "^make", **EACH),
        regex("home", "rm -rf ~"),
        regex("ask", r"^(make|ls)\b", action="Flag"),
    )
    home.role("r", "home", "make", "ask")
    content = ShellContent(as_run_by(agent, command).encode(), cwd="/")
    assert judge(home.load().ruleset, "r", (content,)).decision == decision


@pytest.mark.parametrize(
    "frame",
    [
        "source /s.sh 2>/dev/null || true && eval '{}' < /dev/null && pwd -P >| keys",
        "source s.sh 2>/dev/null || true && eval '{}' < /dev/null && pwd -P >| /t",
        AGENTS["Gemini CLI"].replace("/tmp/g/bgpids.tmp", "keys"),
    ],
)
def test_files_of_a_frame_do_not_depend_on_where_the_command_goes(
    home: PolicyHome, frame: str
) -> None:
    frame = frame.replace("{command}", "{}")
    found = verdict(home, frame.format("cd ~/.ssh"), regex("cd", "^cd", **EACH))
    assert found.decision == "BLOCK"


def test_what_its_commands_start_is_asked_about(home: PolicyHome) -> None:
    each = verdict(home, "make", regex("make", "^make", **EACH))
    assert each.by_commands
    home.policies(regex("make", "^make", action="Allow"))
    whole = judge(home.load().ruleset, "r", (ShellContent(b"make"),))
    assert not whole.by_commands


def test_a_frame_cannot_be_left(home: PolicyHome) -> None:
    command = AGENTS["Claude Code"].format(quoted="make' && rm -rf ~ '")
    found = verdict(home, command, regex("make", "^make", **EACH))
    assert found.decision == "BLOCK"


def test_what_is_around_an_agents_command_is_judged_by_itself(
    home: PolicyHome,
) -> None:
    command = as_run_by("Claude Code", "make").replace("/h/.claude", "/evil")
    found = verdict(home, command, regex("make", "^make", **EACH))
    assert (found.decision, found.policy) == ("BLOCK", "everything")
