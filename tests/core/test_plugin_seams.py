"""What a match type may bring besides: settings, a preparation, fields, and details.

The sample of a third party is what is asked, as it stands in `tests/sample_plugin`.
"""

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
from core.policy_home import PolicyHome
from distributions import SAMPLE

from redlane.daemon.rules import Rules
from redlane.engine.judge import judge as judge_contents
from redlane.model.content import TextContent
from redlane.model.field import Field, Kind
from redlane.model.policy import Context
from redlane.model.problem import Severity
from redlane.plugins import Plugins, find_plugins
from redlane.policies.own_fields import own_fields
from redlane.policies.parsing import form_violations
from redlane.policies.plugin_settings import settings_tables
from redlane.policies.restrictions import RestrictionsError, parse_restrictions
from redlane.policies.schema import schema_with_plugins
from redlane.policies.settings import parse_settings
from redlane.testing import Decision, LoadError, findings, judge

POLICY = {"id": "p", "type": "WordCount", "action": "Block", "minimum": 3}


@pytest.fixture(scope="module")
def sample() -> Iterator[ModuleType]:
    """The sample, imported from its sources."""
    path = SAMPLE / "redlane_word_count.py"
    spec = importlib.util.spec_from_file_location("redlane_word_count", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def closed(sample: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was prepared so far that is closed."""
    found: list[Any] = []

    class Watched(sample.WordCountsReady):  # type: ignore[misc, name-defined]
        def close(self) -> None:
            super().close()
            found.append(self)

    monkeypatch.setattr(sample, "WordCountsReady", Watched)
    return found


def told(value: object) -> dict[str, Any]:
    return {"plugins": {"WordCount": value}}


@pytest.mark.parametrize(
    ("settings", "decision"),
    [
        ({}, Decision.BLOCK),
        (told({}), Decision.BLOCK),
        (told(None), Decision.BLOCK),
        (told({"ignored": ["the"]}), Decision.ALLOW),
        (told({"ignored": ["other"]}), Decision.BLOCK),
    ],
    ids=str,
)
def test_match_type_gets_its_settings(
    sample: ModuleType, settings: dict[str, Any], decision: Decision
) -> None:
    verdict = judge(POLICY, "cat the file", plugin=sample, settings=settings)
    assert verdict.decision is decision


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (told({"ignored": "the"}), "error: plugins.WordCount.ignored: `ignored` must"),
        (told({"most": 0}), "error: plugins.WordCount.most: `most`: 0 is below 1"),
        (told([]), "error: plugins.WordCount: must be an object"),
        ({"plugins": 3}, "error: plugins: must be an object"),
        (told({"ignord": []}), "warning: plugins.WordCount.ignord: unknown setting"),
        ({"plugins": {"WordCuont": {}}}, "did you mean `WordCount`?"),
        (told({"most": 2}), "error: tested: the role does not compile: ValueError"),
    ],
    ids=str,
)
def test_wrong_setting_is_found(
    sample: ModuleType, settings: dict[str, Any], line: str
) -> None:
    (found,) = findings(POLICY, plugin=sample, settings=settings)
    assert line in found


def test_match_type_whose_settings_are_wrong_blocks(
    sample: ModuleType, tmp_path: Path
) -> None:
    home = PolicyHome(tmp_path)
    home.policies(POLICY)
    home.role("r", "p")
    home.settings(told({"ignored": 1}))
    loaded = home.load(find_plugins(sample))
    verdict = judge_contents(loaded.ruleset, "r", [TextContent(Context.SHELL, b"x")])
    assert verdict.decision is Decision.BLOCK
    assert "settings of 'WordCount' cannot be used" in verdict.reason


def test_settings_of_match_types_are_part_of_the_rules(
    sample: ModuleType, tmp_path: Path
) -> None:
    home = PolicyHome(tmp_path)
    home.policies(POLICY)
    plugins = find_plugins(sample)
    digests = []
    for value in ({}, {"ignored": []}, {"ignored": ["the"]}):
        home.settings(told(value))
        digests.append(home.load(plugins).ruleset.digest)
    assert digests[0] == digests[1] != digests[2]


def test_what_is_prepared_is_shared_by_a_load_and_closed_behind_it(
    sample: ModuleType, closed: list[Any], tmp_path: Path
) -> None:
    home = PolicyHome(tmp_path)
    home.policies(POLICY, {**POLICY, "id": "q", "action": "Flag", "context": "Mcp"})
    home.role("r", "p", "q")
    home.role("other", "p")
    plugins = find_plugins(sample)
    old, new = home.load(plugins), home.load(plugins)
    rules, others = old.ruleset.rules("r"), old.ruleset.rules("other")
    assert new.ruleset.rules("r") is not None
    assert closed == []
    del old, others
    assert closed == []  # whoever judges by the rules keeps what they need
    del rules
    assert len(closed) == 1
    del new
    assert len(closed) == 2


def test_reload_closes_what_is_in_force_no_more(
    sample: ModuleType, closed: list[Any], tmp_path: Path
) -> None:
    home = PolicyHome(tmp_path)
    home.policies(POLICY)
    home.role("r", "p")
    plugins = find_plugins(sample)
    rules = Rules(lambda: home.load(plugins), home.load(plugins))
    judging = rules.ruleset.rules("r")
    home.settings(told({"ignored": "wrong"}))
    assert rules.reload(lambda _: None).errors
    assert closed == []
    home.settings(told({"ignored": ["the"]}))
    assert not rules.reload(lambda _: None).errors
    assert closed == []  # a verdict is under way
    del judging
    assert len(closed) == 1
    assert rules.ruleset.rules("r") is not None


def test_what_is_printed_while_preparing_does_not_mix_with_answers(
    sample: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prepare = sample.WordCount.prepare

    def chatty(self: Any, settings: Any) -> Any:
        sys.stdout.write("loading\n")
        return prepare(self, settings)

    monkeypatch.setattr(sample.WordCount, "prepare", chatty)
    judge(POLICY, "x", plugin=sample)
    assert capsys.readouterr() == ("", "loading\n")


def test_nothing_is_prepared_that_no_role_needs(
    sample: ModuleType, closed: list[Any], tmp_path: Path
) -> None:
    home = PolicyHome(tmp_path)
    home.policies(
        POLICY, {"id": "s", "type": "Simple", "action": "Flag", "pattern": "x"}
    )
    home.role("r", "p")
    home.role("plain", "s")
    loaded = home.load(find_plugins(sample))
    assert loaded.ruleset.rules("plain") is not None
    del loaded
    assert closed == []


def test_plugin_that_fails_to_close_harms_nobody(
    sample: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def leave(_: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(sample.WordCountsReady, "close", leave)
    assert judge(POLICY, "x", plugin=sample).decision is Decision.ALLOW
    assert "WordCount" in caplog.text


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"minimum": None}, "error: p: `minimum` is missing"),
        ({"minimum": "3"}, "error: p: `minimum` must be a whole number"),
        ({"minimum": 0}, "error: p: minimum must be an integer of 1 or more"),
        ({"minimun": 3}, "did you mean `minimum`?"),
    ],
)
def test_field_of_a_plugin_is_checked_as_any(
    sample: ModuleType, fields: dict[str, Any], line: str
) -> None:
    (found,) = findings({**POLICY, **fields}, plugin=sample)
    assert line in found


ODD: list[Any] = [None, 3, 3.0, 3.5, 0, "3", [], ["a"], [3], {}]


@pytest.mark.parametrize("value", ODD, ids=str)
@pytest.mark.parametrize("name", ["minimum", "other"])
def test_schema_says_of_fields_what_the_loader_says(
    sample: ModuleType, name: str, value: object
) -> None:
    plugins = find_plugins(sample)
    validator = jsonschema.Draft202012Validator(
        schema_with_plugins("policies", plugins)
    )
    document = {**POLICY, name: value}
    own = own_fields(plugins.match_types["WordCount"])
    refused = any(each.is_error for each in form_violations(document, own))
    assert validator.is_valid(document) is not refused
    assert validator.is_valid({**document, "type": "Other"})


@pytest.mark.parametrize("value", ODD, ids=str)
@pytest.mark.parametrize("name", ["ignored", "most", "other"])
def test_schema_says_of_settings_what_the_loader_says(
    sample: ModuleType, name: str, value: object
) -> None:
    plugins = find_plugins(sample)
    validator = jsonschema.Draft202012Validator(
        schema_with_plugins("settings", plugins)
    )
    for document in (told({name: value}), told(value), {"plugins": value}):
        _, found = parse_settings(document, "s", settings_tables(plugins))
        refused = any(each.severity is Severity.ERROR for each in found)
        assert validator.is_valid(document) is not refused, document


def test_score_and_details_of_the_policy_that_decides_are_told(
    sample: ModuleType,
) -> None:
    verdict = judge([POLICY, {**POLICY, "id": "q"}], "a b c d e f", plugin=sample)
    document = json.loads(json.dumps(verdict.document(), allow_nan=False))
    assert (document["policy"], document["score"]) == ("p", 2.0)
    assert document["details"] == {"minimum": 3, "words": 6}
    assert judge(POLICY, "a", plugin=sample).document()["details"] == {}


def test_match_type_that_is_prepared_adds_to_no_session(sample: ModuleType) -> None:
    types = find_plugins(sample).match_types
    with pytest.raises(RestrictionsError, match="runs code"):
        parse_restrictions({"policies": [POLICY]}, types)


BAD_KIND: Any = "a string"
BAD = {
    "no prepare": ("prepare", None, "no method 'prepare'"),
    "settings of another form": ("settings", ("ignored",), "unusable 'settings'"),
    "fields of another form": ("fields", (3,), "unusable 'fields'"),
    "a field of no kind": ("fields", (Field("a", BAD_KIND, "b"),), "'fields'"),
    "a field without a name": ("fields", (Field("", Kind.ANY, "b"),), "'fields'"),
    "a limit that is text": (
        "settings",
        (Field("a", Kind.NUMBER, "b", minimum=BAD_KIND),),
        "'settings'",
    ),
    "a default of no form": (
        "settings",
        (Field("a", Kind.ANY, "b", default={}),),
        "'settings'",
    ),
    "a say about system calls": ("contexts", frozenset(Context), "unusable 'contexts'"),
}


@pytest.mark.parametrize(("name", "value", "told"), BAD.values(), ids=BAD)
def test_match_type_of_another_shape_is_refused(
    sample: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: object,
    told: str,
) -> None:
    monkeypatch.setattr(sample.WordCount, name, value)
    with pytest.raises(TypeError, match=told):
        find_plugins(sample)


def test_settings_are_needed_before_anything_compiles(sample: ModuleType) -> None:
    plugins: Plugins = find_plugins(sample)
    with pytest.raises(LoadError):
        plugins.match_types["WordCount"].compile(())
