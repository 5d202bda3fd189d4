"""Nothing is installed that breaks a home, and what was broken is not blamed."""

import json
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PLUGINS, PolicyHome, regex, simple

from redlane.sharing.checking import Outcome, outcome
from redlane.sharing.lock import Lock
from redlane.sharing.planning import Plan

NEW = simple("new")

Made = dict[str, bytes]


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path / "user")


@pytest.fixture
def made() -> Made:
    """What is to come in the place of `policies/hub`: a policy."""
    made: Made = {}
    stage(made, NEW)
    return made


def stage(made: Made, *policies: Any, file: str = "new.json") -> None:
    made[f"policies/hub/{file}"] = json.dumps(policies).encode()


def role(name: str, *policies: str) -> Made:
    value = {"name": name, "policies": policies}
    return {f"roles/{name}.json": json.dumps(value).encode()}


def result(
    home: PolicyHome, made: Made, roles: Made | None = None, *gone: str
) -> Outcome:
    former = {f"policies/hub/{each.name}": "" for each in hub_files(home)}
    plan = Plan(Lock(), "", former, {**made, **(roles or {})}, gone, changes=())
    return outcome(home.paths, plan, PLUGINS)


def hub_files(home: PolicyHome) -> list[Path]:
    return list(home.paths.hub_policies.glob("*"))


def told(found: Outcome) -> list[tuple[str, str]]:
    """The new errors, by files and subjects."""
    return [(each.file, each.subject) for each in found.errors]


def test_an_empty_home_takes_policies_and_their_role(
    home: PolicyHome, made: Made
) -> None:
    assert result(home, made, role("dev", "new")) == Outcome(
        (), (), (), (), is_legacy_lost=False
    )


def test_a_home_takes_what_does_not_break_it(home: PolicyHome, made: Made) -> None:
    home.policies(simple("own"))
    home.role("mine", "own")
    assert result(home, made, role("dev", "new")) == Outcome(
        (), (), (), (), is_legacy_lost=False
    )


def test_nothing_of_the_home_is_changed(home: PolicyHome, made: Made) -> None:
    home.policies(simple("own"))
    home.role("mine", "own")
    home.write("policies/hub/old.json", [simple("old")])
    as_it_was = sorted(home.root.rglob("*"))
    result(home, made, role("dev", "new"), "roles/mine.json")
    assert sorted(home.root.rglob("*")) == as_it_was


def test_a_policy_of_ones_own_with_the_same_id_breaks(
    home: PolicyHome, made: Made
) -> None:
    home.policies(simple("new"), file="own.json")
    found = result(home, made)
    assert told(found) == [(str(home.paths.policies / "own.json"), "new")]
    (error,) = found.errors
    assert str(home.paths.hub_policies / "new.json") in error.message


def test_two_policies_of_the_hub_with_the_same_id_break(
    home: PolicyHome, made: Made
) -> None:
    stage(made, NEW, file="other.json")
    assert told(result(home, made)) == [
        (str(home.paths.hub_policies / "other.json"), "new")
    ]


def test_a_role_of_ones_own_that_names_what_goes_breaks(
    home: PolicyHome, made: Made
) -> None:
    home.write("policies/hub/old.json", [simple("old")])
    own = home.role("mine", "old")
    assert told(result(home, made)) == [(str(own), "mine")]


def test_a_role_that_names_what_is_not_there_breaks(
    home: PolicyHome, made: Made
) -> None:
    found = result(home, made, role("dev", "new", "nowhere"))
    assert told(found) == [(str(home.paths.roles / "dev.json"), "dev")]


def test_a_role_of_the_same_name_as_ones_own_breaks(
    home: PolicyHome, made: Made
) -> None:
    home.policies(simple("own"))
    home.role("dev", "own", file="mine.json")
    assert told(result(home, made, role("dev", "new"))) == [
        (str(home.paths.roles / "mine.json"), "dev")
    ]


BROKEN = {
    "no type": {"id": "new", "action": "Block"},
    "unknown type": {**NEW, "type": "Nothing"},
    "pattern": regex("new", "("),
    "wrong action": {**NEW, "action": "Explode"},
}


@pytest.mark.parametrize("policy", BROKEN.values(), ids=BROKEN)
def test_a_policy_that_does_not_load_breaks(
    home: PolicyHome, made: Made, policy: dict[str, Any]
) -> None:
    stage(made, policy)
    found = result(home, made, role("dev", "new"))
    hub = str(home.paths.hub_policies / "new.json")
    assert (hub, "new") in told(found)


def test_messages_name_the_files_of_the_real_home(home: PolicyHome, made: Made) -> None:
    home.policies(simple("own", unknown_field=1), simple("new"))
    stage(made, {**NEW, "unknown_field": 1}, {"id": "x"})
    made["policies/hub/broken.json"] = b"{"
    found = result(home, made, role("dev", "gone"))
    assert found.errors
    for each in (*found.errors, *found.warnings):
        assert each.file.startswith(str(home.paths.home))


def test_a_warning_about_what_comes_is_no_error(home: PolicyHome, made: Made) -> None:
    stage(made, {**NEW, "unknown_field": 1})
    found = result(home, made)
    assert found.errors == ()
    assert [(each.file, each.subject) for each in found.warnings] == [
        (str(home.paths.hub_policies / "new.json"), "new")
    ]


OLD_ERRORS: dict[str, tuple[str, Any]] = {
    "no JSON": ("policies/own.json", b"{"),
    "broken policy": ("policies/own.json", [{"id": "x"}]),
    "twice": ("policies/own.json", [simple("x"), simple("x")]),
    "dangling role": ("roles/own.json", {"name": "own", "policies": ["zzz"]}),
    "settings": ("settings.json", b"["),
    "broken file of the hub": ("policies/hub/new.json", b"{"),
}


@pytest.mark.parametrize(("file", "value"), OLD_ERRORS.values(), ids=OLD_ERRORS)
def test_an_error_that_was_there_before_is_not_blamed(
    home: PolicyHome, made: Made, file: str, value: object
) -> None:
    home.write(file, value)
    assert home.load().errors
    assert result(home, made) == Outcome((), (), (), (), is_legacy_lost=False)


def test_a_dangling_role_is_not_blamed_where_a_better_name_comes(
    home: PolicyHome, made: Made
) -> None:
    home.role("mine", "no-force-pusj")
    stage(made, simple("no-force-push"))
    assert home.load().errors
    assert told(result(home, made)) == []


def test_what_mends_a_home_is_taken(home: PolicyHome, made: Made) -> None:
    home.role("mine", "new")
    assert home.load().errors
    assert told(result(home, made)) == []


def test_a_warning_that_was_there_before_is_not_told(
    home: PolicyHome, made: Made
) -> None:
    home.write("policies/.hidden.json", [])
    assert home.load().warnings
    assert result(home, made).warnings == ()


def test_a_role_that_goes_names_nothing_any_more(home: PolicyHome, made: Made) -> None:
    home.write("policies/hub/old.json", [simple("old")])
    home.role("dev", "old")
    assert told(result(home, made, {}, "roles/dev.json")) == []


def test_a_role_that_is_written_again_counts_as_it_will_be(
    home: PolicyHome, made: Made
) -> None:
    home.write("policies/hub/old.json", [simple("old")])
    home.role("dev", "old")
    assert told(result(home, made, role("dev", "new"))) == []


LEGACY = [[simple("old")], {"policies": [simple("old")], "roles": []}]


@pytest.mark.parametrize("value", LEGACY)
def test_a_legacy_file_that_would_not_be_read_any_more_is_told(
    home: PolicyHome, made: Made, value: object
) -> None:
    home.legacy(value)
    assert result(home, made).is_legacy_lost


def test_a_legacy_file_is_not_lost_to_a_set_without_policies(
    home: PolicyHome, made: Made
) -> None:
    home.legacy([simple("old")])
    made.clear()
    assert not result(home, made).is_legacy_lost


def test_a_legacy_file_that_was_not_read_before_is_not_lost(
    home: PolicyHome, made: Made
) -> None:
    home.legacy([simple("old")])
    home.policies(simple("own"))
    assert not result(home, made).is_legacy_lost


def test_settings_of_the_home_count(home: PolicyHome, made: Made) -> None:
    home.settings({"sevsh": {"default_role": "dev"}})
    assert home.load().errors
    assert told(result(home, made, role("dev", "new"))) == []


@pytest.mark.parametrize("is_relative", [True, False])
def test_links_in_a_home_lead_where_they_did(
    home: PolicyHome,
    made: Made,
    is_relative: bool,  # noqa: FBT001  # a case
) -> None:
    target = home.write("shared.json", [simple("new")])
    home.paths.policies.mkdir()
    link = home.paths.policies / "link.json"
    link.symlink_to("../shared.json" if is_relative else target)
    assert told(result(home, made)) == [(str(link), "new")]
