"""A plugin that misbehaves while policies load makes errors, never an exception."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, told

from redlane.model.content import Reader
from redlane.model.matching import Matcher
from redlane.model.policy import Context, Policy
from redlane.model.problem import Problem, Severity
from redlane.plugins import Plugins
from redlane.policies.check import compile_errors


class Words:
    """A third party's match type with a field of its own."""

    name = "Words"
    contexts = frozenset({Context.SHELL, Context.ALL})
    reader = Reader.PATTERN
    fields = frozenset({"most_words"})
    ignores_action = False

    def __init__(self, failure: BaseException | None = None) -> None:
        self.failure = failure
        self.seen: list[Policy] = []

    def problems(self, policy: Policy) -> Iterable[Problem]:
        if self.failure:
            raise self.failure
        self.seen.append(policy)
        return [Problem(Severity.WARNING, "odd")] if policy.options else []

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        raise RuntimeError(len(policies))


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path)


def words(**fields: Any) -> dict[str, Any]:
    return {"id": "p", "type": "Words", "action": "Allow", **fields}


def test_a_field_of_the_match_type_is_an_option_of_the_policy(home: PolicyHome) -> None:
    home.policies(words(most_words=3))
    match_type = Words()

    loaded = home.load(Plugins({"Words": match_type}, ()))

    assert told(loaded.findings) == [("p.json", "p", "odd")]
    assert match_type.seen[0].options == {"most_words": 3}


def test_a_near_miss_of_an_option_is_an_error(home: PolicyHome) -> None:
    home.policies(words(most_word=3))

    (error,) = home.load(Plugins({"Words": Words()}, ())).errors

    assert "did you mean `most_words`?" in error.message


def test_an_unsupported_context_is_an_error(home: PolicyHome) -> None:
    home.policies(words(context="Mcp"))

    (error,) = home.load(Plugins({"Words": Words()}, ())).errors

    assert "support only the contexts Shell, All" in error.message


@pytest.mark.parametrize(
    "failure", [ValueError("boom\nmore"), RecursionError(), SystemExit(0)], ids=repr
)
def test_an_exception_of_a_match_type_is_an_error_of_the_policy(
    home: PolicyHome, failure: BaseException
) -> None:
    home.policies(words())

    loaded = home.load(Plugins({"Words": Words(failure)}, ()))

    ((file, subject, message),) = told(loaded.errors)
    assert (file, subject) == ("p.json", "p")
    assert type(failure).__name__ in message
    assert "\n" not in message
    assert not loaded.ruleset.policies


def test_an_answer_of_another_form_is_an_error_of_the_policy(home: PolicyHome) -> None:
    class Sloppy(Words):
        def problems(self, policy: Policy) -> Any:  # noqa: ARG002
            return ["a string"]

    home.policies(words())

    (error,) = home.load(Plugins({"Words": Sloppy()}, ())).errors

    assert "'a string' is no Problem" in error.message


def test_a_role_that_does_not_compile_is_an_error_of_the_check(
    home: PolicyHome,
) -> None:
    home.policies(words())
    home.role("r", "p")

    loaded = home.load(Plugins({"Words": Words()}, ()))

    assert loaded.findings == ()
    assert told(compile_errors(loaded)) == [
        ("r.json", "r", "the role does not compile: RuntimeError: 1")
    ]
