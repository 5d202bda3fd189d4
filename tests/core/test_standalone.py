"""Policies in files that are not in force are read with all that is wrong with them."""

from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PLUGINS, PolicyHome, regex, simple, told

from redlane.model.problem import Finding
from redlane.policies.standalone import read_policies


def read(directory: Path, *files: Any) -> tuple[list[Any], list[Finding]]:
    home = PolicyHome(directory)
    home.policies(simple("a"), {"id": "in force, and broken"})
    paths = [home.write(f"{n}.json", each) for n, each in enumerate(files, 1)]
    entries, findings = read_policies(paths, PLUGINS)
    return [each.value for each in entries], findings


def test_policies_come_in_the_order_of_files_and_members(tmp_path: Path) -> None:
    a, b, c = simple("a"), regex("b"), simple("c")
    assert read(tmp_path, [c, a], b) == ([c, a, b], [])


WRONG = {
    "unknown type": ({**simple("a"), "type": "Weather"}, "error", "a", "Weather"),
    "unknown field": (simple("a", extra=1), "warning", "a", "extra"),
    "no object": ([5], "error", "", "entry 1: a policy must be an object"),
    "no JSON": (b"{", "error", "", "line 1 column 2"),
    "id of another file": (simple("b"), "error", "b", "1.json has this id already"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_wrong_names_its_file(
    tmp_path: Path, case: tuple[Any, str, str, str]
) -> None:
    value, severity, subject, says = case
    _, findings = read(tmp_path, simple("b"), value)
    assert [each.severity.value for each in findings] == [severity]
    assert told(tuple(findings))[0][:2] == ("2.json", subject)
    assert says in findings[0].message


def test_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    entries, findings = read_policies([tmp_path / "gone.json"], PLUGINS)
    assert (entries, [each.severity.value for each in findings]) == ([], ["error"])
