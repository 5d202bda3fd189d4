"""The Syscall policy rules, with the match types that come with Redlane."""

import itertools
from pathlib import Path

import pytest
from engine_samples import numbered, sample_types

from redlane.contexts.syscall.content import SystemCallContent
from redlane.engine.judge import judge
from redlane.errors import ContentError
from redlane.model.content import SystemCall
from redlane.model.policy import Action, Context, Policy, Role
from redlane.model.verdict import Decision, Verdict
from redlane.policies.ruleset import RuleSet
from redlane_match_executable import ExecutableType
from redlane_match_regex import RegexType
from redlane_match_simple import SimpleType

TYPES = {
    **sample_types(),
    "Simple": SimpleType(),
    "Regex": RegexType(),
    "Executable": ExecutableType(),
}


def policy(
    action: str,
    match_type: str,
    pattern: str | None,
    *syscalls: str,
    context: Context = Context.SYSCALL,
    kill: bool = False,
) -> Policy:
    return Policy(
        id=f"{action} {match_type} {pattern}",
        type=match_type,
        action=Action(action),
        pattern=pattern,
        syscalls=syscalls,
        context=context,
        kill=kill,
    )


def verdict(name: str, paths: tuple[str | None, ...], *policies: Policy) -> Verdict:
    ordered = [numbered(each, place) for place, each in enumerate(policies)]
    role = Role("r", tuple(each.id for each in policies))
    content = SystemCallContent(SystemCall(name, paths))
    return judge(RuleSet(ordered, [role], TYPES, "d"), "r", (content,))


ETC = ("/etc/passwd",)
BOTH = ("link", "/etc/passwd")
NAMED = {
    "pattern names the call": (("Block", "Simple", "unlink"), "unlink", (), True),
    "pattern of another call": (("Block", "Simple", "unlink"), "rmdir", (), False),
    "name is no substring": (("Block", "Simple", "unlink"), "unlinkat", (), False),
    "every call": (("Block", "Simple", None, "unlink"), "unlink", (), True),
    "every call, with paths": (("Block", "Simple", "", "unlink"), "unlink", ETC, True),
    "one of several": (("Block", "Simple", None, "a", "unlink"), "unlink", (), True),
    "other calls": (("Block", "Simple", None, "a", "b"), "unlink", ETC, False),
    "substring filter": (("Block", "Simple", "/etc", "open"), "open", ETC, True),
    "substring filter, no": (("Block", "Simple", "/usr", "open"), "open", ETC, False),
    "filter without paths": (("Block", "Simple", "/etc", "open"), "open", (), False),
    "regex filter": (("Block", "Regex", "^/etc/", "open"), "open", ETC, True),
    "regex filter, no": (("Block", "Regex", "^/usr", "open"), "open", ETC, False),
    "regex without paths": (("Block", "Regex", "", "open"), "open", (), False),
    "any candidate": (("Block", "Regex", "^/etc/", "open"), "open", BOTH, True),
    "the literal one": (("Block", "Regex", "^link$", "open"), "open", BOTH, True),
    "unreadable": (("Block", "Regex", "^/usr", "open"), "open", (None,), True),
    "unreadable, named": (("Block", "Simple", "open"), "open", (None,), True),
    "unreadable among others": (
        ("Block", "Simple", "/usr", "open"),
        "open",
        ("/a", None),
        True,
    ),
    "unreadable, other call": (("Block", "Regex", "x", "open"), "stat", (None,), False),
    "checker": (("Block", "Executable", "grep -q passwd", "open"), "open", ETC, True),
    "checker, no": (("Block", "Executable", "grep -q xyz", "open"), "open", ETC, False),
    "checker of a call without paths": (
        ("Block", "Executable", "grep -q getpid", "getpid"),
        "getpid",
        (),
        True,
    ),
    "unreadable, checker": (
        ("Block", "Executable", "false", "open"),
        "open",
        (None,),
        True,
    ),
    "flag, any candidate": (("Flag", "Regex", "^/etc/", "open"), "open", BOTH, True),
    "flag, unreadable": (("Flag", "Regex", "^/usr", "open"), "open", (None,), True),
}


@pytest.mark.parametrize(
    ("fields", "name", "paths", "matches"), NAMED.values(), ids=NAMED
)
def test_block_and_flag(
    fields: tuple[str, ...],
    name: str,
    paths: tuple[str | None, ...],
    matches: bool,  # noqa: FBT001  # a table's column
) -> None:
    found = verdict(name, paths, policy(*fields))
    expected = {"Block": "BLOCK", "Flag": "FLAG"}[fields[0]] if matches else "ALLOW"
    assert found.decision.value == expected


ALLOWS = {
    "every invocation": (("Simple", "open"), BOTH, True),
    "every invocation, unreadable": (("Simple", "open"), (None,), True),
    "one candidate of two": (("Regex", "^/etc/", "open"), BOTH, False),
    "both candidates": (("Regex", "link|/etc", "open"), BOTH, True),
    "no candidate": (("Regex", "", "open"), (), False),
    "unreadable": (("Regex", "", "open"), (None,), False),
    "unreadable among matches": (("Regex", "/etc", "open"), (*ETC, None), False),
    "checker": (("Executable", "true", "open"), ETC, True),
    "checker, unreadable": (("Executable", "true", "open"), (None,), False),
}


@pytest.mark.parametrize(("fields", "paths", "matches"), ALLOWS.values(), ids=ALLOWS)
def test_allow_needs_every_candidate(
    fields: tuple[str, ...],
    paths: tuple[str | None, ...],
    matches: bool,  # noqa: FBT001  # a table's column
) -> None:
    found = verdict(
        "open", paths, policy("Block", "Simple", "open"), policy("Allow", *fields)
    )
    assert found.decision is (Decision.ALLOW if matches else Decision.BLOCK)


@pytest.mark.parametrize("paths", [ETC, (None,)])
def test_failed_allow_checker_blocks(paths: tuple[str | None, ...]) -> None:
    found = verdict(
        "open",
        paths,
        policy("Allow", "Executable", "/no/such/program", "open"),
        policy("Allow", "Simple", "open"),
    )
    assert found.decision is Decision.BLOCK


@pytest.mark.parametrize("outcome", ["failed", "block", "flag"])
def test_pattern_type_that_does_not_answer_yes_allows_nothing(outcome: str) -> None:
    found = verdict("open", ETC, policy("Allow", "Word", f"{outcome}:etc", "open"))
    assert found.decision is Decision.BLOCK


def test_policy_of_context_all_takes_part_when_it_names_calls() -> None:
    everywhere = policy("Block", "Regex", "/etc", "open", context=Context.ALL)
    assert verdict("open", ETC, everywhere).decision is Decision.BLOCK


def test_policy_of_context_all_without_calls_takes_no_part() -> None:
    everywhere = policy("Block", "Simple", "open", context=Context.ALL)
    assert verdict("open", ETC, everywhere).decision is Decision.ALLOW


def test_policy_of_another_context_takes_no_part() -> None:
    shell = policy("Block", "Simple", "open", "open", context=Context.SHELL)
    assert verdict("open", ETC, shell).decision is Decision.ALLOW


def test_first_match_is_the_first_in_load_order_over_all_kinds() -> None:
    block = [
        policy("Block", "Regex", "/usr", "open"),
        policy("Block", "Simple", None, "open"),
        policy("Block", "Regex", "/etc", "open"),
    ]
    for order in itertools.permutations(block):
        matching = [each.id for each in order if each.pattern != "/usr"]
        assert verdict("open", ETC, *order).policy == matching[0]


def test_path_that_is_no_text_is_matched_as_such() -> None:
    path = b"/etc/\xff".decode(errors="surrogateescape")
    found = verdict("open", (path,), policy("Block", "Regex", "^/etc/.$", "open"))
    assert found.decision is Decision.BLOCK


def test_line_break_in_a_path_hides_nothing() -> None:
    path = "/tmp/x\n/etc/passwd"
    found = verdict("open", (path,), policy("Block", "Regex", "passwd$", "open"))
    assert found.decision is Decision.BLOCK


def test_checker_reads_the_call_as_json(tmp_path: Path) -> None:
    told = tmp_path / "told"
    details = {"args": [1], "pid": 2, "ppid": 1, "command": "x", "session": "s"}
    spoiled = {**details, "syscall": "harmless", "paths": []}
    script = policy("Block", "Executable", f"tee {told}", "open")
    content = SystemCallContent(SystemCall("open", ETC, spoiled))
    ruleset = RuleSet([script], [Role("r", (script.id,))], TYPES, "d")
    judge(ruleset, "r", (content,))
    assert told.read_bytes() == (
        b'{"syscall": "open", "paths": ["/etc/passwd"], "args": [1], "pid": 2, '
        b'"ppid": 1, "command": "x", "session": "s"}'
    )


def test_kill_is_passed_on_for_a_match_and_not_for_a_failure() -> None:
    assert verdict("open", ETC, policy("Block", "Simple", "open", kill=True)).kill
    broken = policy("Block", "Executable", "/no/such/program", "open", kill=True)
    assert not verdict("open", ETC, broken).kill


def test_system_call_cannot_be_rewritten() -> None:
    with pytest.raises(ContentError):
        SystemCallContent(SystemCall("open")).rewritten(bytes)


def test_calls_with_the_same_policies_share_what_is_compiled() -> None:
    compiled: list[int] = []

    class Counting(RegexType):
        def compile(self, policies):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            compiled.append(len(policies))
            return super().compile(policies)

    rules = RuleSet(
        [policy("Block", "Regex", "x", "open", "openat", "creat")],
        [Role("r", ("Block Regex x",))],
        {"Regex": Counting()},
        "d",
    )
    rules.rules("r")
    assert compiled == [1]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'"open"',
        b"{}",
        b'{"syscall": 1}',
        b'{"syscall": ""}',
        b'{"syscall": "open", "paths": "x"}',
        b'{"syscall": "open", "paths": [1]}',
        b'{"syscall": "open", "syscall": "stat"}',
        b'{"syscall": "open", "paths": ["\\ud800"]}',
    ],
)
def test_what_is_no_system_call_is_an_error(data: bytes) -> None:
    with pytest.raises(ContentError):
        SystemCallContent.from_json(data)


def test_system_call_is_read() -> None:
    content = SystemCallContent.from_json(b'{"syscall": "open", "paths": ["/a", null]}')
    assert content.system_call == SystemCall("open", ("/a", None))
    assert SystemCallContent.from_json(b'{"syscall": "getpid"}').system_call.paths == ()
