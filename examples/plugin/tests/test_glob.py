"""Everything that the plugin promises, asked through `redlane.api` alone."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points

import pytest
from redlane.api import Action, Content, Context, Policy, Reader, Severity

from acme_glob import Glob, redlane_match_types


@dataclass(frozen=True)
class Text(Content):
    """Content of one text: every policy sees it as it is."""

    data: bytes
    context: Context = Context.NETWORK

    def views(self, action: Action, reader: Reader) -> tuple[bytes, ...]:
        return (self.data,)

    def rewritten(self, change: Callable[[bytes], bytes]) -> "Text":
        return Text(change(self.data), self.context)


def policy(*globs: object, order: int = 0, action: Action = Action.BLOCK) -> Policy:
    options = {"globs": list(globs)}
    return Policy("p", "Glob", action, order=order, options=options)


def matches(glob: str, text: str) -> bool:
    content = Text(text.encode())
    views = content.views(Action.BLOCK, Reader.PATTERN)
    matcher = Glob().compile([policy(glob)])
    return bool(list(matcher.answers(content, views, 1)))


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


def test_answers_come_in_load_order_and_end_before_the_limit() -> None:
    policies = [policy("a", order=order) for order in (4, 0, 2)]
    content = Text(b"a")
    answers = Glob().compile(policies).answers(content, (b"a",), 4)
    assert [each.order for each in answers] == [0, 2]


@pytest.mark.parametrize("views", [(), (b"",), (b"\xff\xfe",), (b"\n\n",)])
def test_content_without_a_path_matches_nothing(views: tuple[bytes, ...]) -> None:
    assert not list(Glob().compile([policy("a")]).answers(Text(b""), views, 1))


@pytest.mark.parametrize(
    "globs", [[], [3], [""], ["[a"], ["[!]"], ["a\nb"], ["a", None]], ids=str
)
def test_glob_that_cannot_be_used_is_an_error(globs: list[object]) -> None:
    (problem,) = Glob().problems(policy(*globs))
    assert problem.severity is Severity.ERROR


def test_globs_that_are_missing_are_an_error() -> None:
    (problem,) = Glob().problems(Policy("p", "Glob", Action.BLOCK))
    assert problem.severity is Severity.ERROR


def test_sound_policy_has_no_problem() -> None:
    assert not list(Glob().problems(policy("*.pem", "~/.ssh/**")))


def test_allow_is_refused() -> None:
    (problem,) = Glob().problems(policy("a", action=Action.ALLOW))
    assert "cannot Allow" in problem.message


def test_hostile_text_takes_no_time_of_its_own() -> None:
    # An engine that backtracks would be busy for longer than the universe is old.
    assert not matches("*a*a*a*a*a*a*a*b", "a" * 100_000)


def test_plugin_offers_the_match_type() -> None:
    assert [each.name for each in redlane_match_types()] == ["Glob"]


def test_entry_point_leads_to_the_plugin_where_it_is_installed() -> None:
    found = [each for each in entry_points(group="redlane") if each.name == "acme_glob"]
    for each in found:
        assert each.load().redlane_match_types is redlane_match_types
