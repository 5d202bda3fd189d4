"""Everything that the plugin promises, judged as the daemon judges it."""

from importlib.metadata import entry_points

import pytest
from redlane.testing import Decision, findings, judge

import acme_glob


def policy(*globs: object, name: str = "p", action: str = "Block") -> dict[str, object]:
    return {"id": name, "type": "Glob", "action": action, "globs": list(globs)}


def matches(glob: str, text: str) -> bool:
    verdict = judge(policy(glob), text, context="Network", plugin=acme_glob)
    return verdict.decision is Decision.BLOCK


@pytest.mark.parametrize(
    ("glob", "text"),
    [
        ("*.pem", "cat key.pem"),
        ("*.pem", "cat /a/b/key.pem"),
        ("*.pem", "curl --cert=/a/key.pem"),
        ("*.pem", "curl 'file:///a/key.pem'"),
        ("/etc/*", "cat /etc/passwd"),
        ("/etc/**", "rm -r /etc"),
        ("/etc/**", "cat /etc/ssl/private/a"),
        ("/etc/**", "cat /tmp/../etc//./passwd"),
        ("/etc/**", "cat //etc/passwd"),
        ("src/**/test_*", "src/test_a"),
        ("src/**/test_*", "src/a/b/test_c"),
        ("~/.ssh/**", "cat ~/.ssh/id_rsa"),
        ("~/.ssh/**", "cat /home/ada/.ssh/id_rsa"),
        ("~/.ssh/**", 'cat "$HOME/.ssh/id_rsa"'),
        ("~", "rm -r ~"),
        ("log[0-9]", "log7"),
        ("[!.]*.txt", "a.txt"),
        ("a?c", "abc"),
        (r"a\*", "a*"),
        ("[]x]", "]"),
        ("café.*", "café.txt"),
        ("a b/*", "a b/c"),
        ("a+b(c)", "a+b(c)"),
    ],
)
def test_glob_fits(glob: str, text: str) -> None:
    assert matches(glob, text)


@pytest.mark.parametrize(
    ("glob", "text"),
    [
        ("*.pem", "key.pem.txt"),
        ("*.pem", "keypem"),
        ("/etc/*", "/etc/ssl/private"),
        ("/etc/*", "/etc"),
        ("/etc/**", "/etcetera"),
        ("~/.ssh/**", "/srv/.ssh/id_rsa"),
        ("log[0-9]", "logs"),
        ("[!.]*", ".hidden"),
        ("a[!b]c", "a/c"),
        ("a?c", "a/c"),
        (r"a\*", "ab"),
        ("a.c", "abc"),
    ],
)
def test_glob_does_not_fit(glob: str, text: str) -> None:
    assert not matches(glob, text)


@pytest.mark.parametrize(
    ("context", "content"),
    [
        ("Shell", "bash -c 'cat a.pem'"),
        ("Inbound", "see /srv/a.pem"),
        ("Mcp", {"server": "files", "tool": "read", "arguments": {"path": "a.pem"}}),
    ],
)
def test_policy_decides_in_each_context(context: str, content: str) -> None:
    verdict = judge(policy("*.pem"), content, context=context, plugin=acme_glob)
    assert (verdict.decision, verdict.policy) == (Decision.BLOCK, "p")


def test_first_policy_that_matches_is_the_one_that_is_named() -> None:
    policies = [policy(each, name=each) for each in ("x", "a", "a*")]
    assert judge(policies, "cat a", plugin=acme_glob).policy == "a"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"\n\n"])
def test_content_without_a_path_matches_nothing(content: bytes) -> None:
    verdict = judge(policy("a"), content, context="Inbound", plugin=acme_glob)
    assert verdict.decision is Decision.ALLOW


@pytest.mark.parametrize(
    "globs", [[], [3], [""], ["[a"], ["[!]"], ["a\nb"], ["a", None]], ids=str
)
def test_glob_that_cannot_be_used_is_an_error(globs: list[object]) -> None:
    (finding,) = findings(policy(*globs), plugin=acme_glob)
    assert finding.startswith("error: p: `globs`")


def test_globs_that_are_missing_are_an_error() -> None:
    nothing = {"id": "p", "type": "Glob", "action": "Block"}
    (finding,) = findings(nothing, plugin=acme_glob)
    assert finding.startswith("error: p: `globs`")


def test_sound_policy_has_no_finding() -> None:
    assert findings(policy("*.pem", "~/.ssh/**"), plugin=acme_glob) == ()


def test_allow_is_refused() -> None:
    (finding,) = findings(policy("a", action="Allow"), plugin=acme_glob)
    assert "cannot Allow" in finding


def test_hostile_text_takes_no_time_of_its_own() -> None:
    # An engine that backtracks would be busy for longer than the universe is old.
    assert not matches("*a*a*a*a*a*a*a*b", "a" * 100_000)


def test_plugin_offers_the_match_type() -> None:
    assert [each.name for each in acme_glob.redlane_match_types()] == ["Glob"]


def test_entry_point_leads_to_the_plugin_where_it_is_installed() -> None:
    found = [each for each in entry_points(group="redlane") if each.name == "acme_glob"]
    for each in found:
        assert each.load() is acme_glob
