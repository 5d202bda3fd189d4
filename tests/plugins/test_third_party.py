"""A plugin of a third party is installed beside Redlane and used, and that is all."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from distributions import SAMPLE, Environment, make_environment, released

from redlane.hookspecs import API_VERSION


@dataclass(frozen=True)
class Installed:
    """An environment of its own with Redlane, and a home for it."""

    scripts: Path
    home: Path

    def redlane(
        self, *arguments: str, path: Path | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run the console script, with `path` as a further place of plugins."""
        return subprocess.run(
            [str(self.scripts / "redlane"), *arguments],
            env={
                "HOME": str(self.home),
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(path or ""),
                "PYTHONWARNINGS": "error",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def json(self, *arguments: str, path: Path | None = None) -> Any:
        """What a command prints; it must not complain."""
        return json.loads(self.redlane(*arguments, path=path).stdout)

    def with_policy(self, **policy: object) -> "Installed":
        """One policy `p`, and the role `r` that has it."""
        home = self.home / ".redlane"
        for name, value in {
            "policies/p.json": {"id": "p", "action": "Block", **policy},
            "roles/r.json": {"name": "r", "policies": ["p"]},
        }.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(json.dumps(value))
        return self


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A fresh environment with Redlane, one plugin of ours and the sample."""
    made = make_environment(tmp_path_factory.mktemp("environment"))
    names = ("redlane", "redlane-match-simple", "redlane-word-count")
    made.install(released(tmp_path_factory), *names)
    return made


@pytest.fixture
def installed(environment: Environment, tmp_path: Path) -> Installed:
    return Installed(environment.scripts, tmp_path)


def test_sample_is_listed(installed: Installed) -> None:
    listed = installed.json("plugins", "list", "--json")
    (sample,) = (each for each in listed["plugins"] if each["name"] == "word_count")
    assert sample["distribution"] == "redlane-word-count"
    assert sample["version"] == "2.3"
    assert sample["match_types"] == ["WordCount"]
    assert sample["error"] is None
    assert (sample["api"], listed["api"]) == ("1.0", API_VERSION)
    assert Path(sample["location"]).is_relative_to(installed.scripts.parent)
    assert listed["conflicts"] == []
    lines = installed.redlane("plugins", "list").stdout.splitlines()
    assert any(
        line.startswith("word_count: WordCount, reviewer skimmer (") for line in lines
    )
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("content", "verdict", "status"),
    [("rm a b", "BLOCK", 1), ("rm a", "ALLOW", 0), ("bash -c 'rm a b c'", "BLOCK", 1)],
)
def test_policy_of_the_sample_decides(
    installed: Installed, content: str, verdict: str, status: int
) -> None:
    installed.with_policy(type="WordCount", minimum=3)
    done = installed.redlane("validate", content, "-r", "r")
    assert done.returncode == status, done.stderr
    assert json.loads(done.stdout)["verdict"] == verdict
    assert done.stderr == ""


def test_sound_policy_of_the_sample_has_no_finding(installed: Installed) -> None:
    installed.with_policy(type="WordCount", minimum=3, context="Shell")
    done = installed.redlane("config", "check", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["errors"], found["warnings"]) == ([], [])


@pytest.mark.parametrize("fields", [{}, {"minimum": "3"}, {"minimum": 0}])
def test_sample_refuses_its_own_field(
    installed: Installed, fields: dict[str, object]
) -> None:
    installed.with_policy(type="WordCount", **fields)
    assert "minimum" in only_error(installed)
    assert installed.redlane("validate", "x", "-r", "r").returncode == 2


def test_near_miss_of_the_samples_field_is_an_error(installed: Installed) -> None:
    installed.with_policy(type="WordCount", minimum=3, minimun=1)
    assert "minimun" in only_error(installed)


def test_type_that_no_plugin_brings_is_a_load_error(installed: Installed) -> None:
    installed.with_policy(type="Regex", pattern="x")
    assert "redlane-match-regex" in only_error(installed)
    assert installed.redlane("validate", "x", "-r", "r").returncode == 2


def only_error(installed: Installed, path: Path | None = None) -> str:
    """The message of the one error that `config check` finds."""
    done = installed.redlane("config", "check", "--json", path=path)
    assert done.returncode == 1, done.stderr
    (error,) = json.loads(done.stdout)["errors"]
    return str(error["message"])


def add_plugin(place: Path, name: str, source: str) -> Path:
    """A distribution of one module in a directory of its own."""
    info = place / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (place / f"{name}.py").write_text(source)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(f"[redlane]\n{name} = {name}\n")
    return place


BROKEN = {
    "wants another version": "redlane_api = '2.0'",
    "raises": "raise RuntimeError('no licence')",
    "leaves": "raise SystemExit(0)",
    "garbage": "from redlane.api import hookimpl\n"
    "@hookimpl\ndef redlane_match_types(): return [3, None, 'x']\n",
}


@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN)
def test_broken_plugin_is_reported_and_the_others_work(
    installed: Installed, tmp_path: Path, source: str
) -> None:
    path = add_plugin(tmp_path / "more", "broken", source)
    listed = installed.json("plugins", "list", "--json", path=path)
    reports = {each["name"]: each for each in listed["plugins"]}
    assert reports["broken"]["error"]
    assert reports["broken"]["match_types"] == []
    assert reports["word_count"]["error"] is None
    line = next(
        line
        for line in installed.redlane("plugins", "list", path=path).stdout.splitlines()
        if line.startswith("broken: ")
    )
    assert line.startswith("broken: error: ")

    installed.with_policy(type="WordCount", minimum=3)
    assert installed.json("validate", "a b c", "-r", "r", path=path)["policy"] == "p"
    assert installed.redlane("config", "check", path=path).returncode == 0
    installed.with_policy(type="Broken")
    assert "Broken" in only_error(installed, path)
    assert installed.redlane("validate", "x", "-r", "r", path=path).returncode == 2


def test_two_plugins_of_one_type_are_an_error_everywhere(
    installed: Installed, tmp_path: Path
) -> None:
    source = (SAMPLE / "redlane_word_count.py").read_text()
    source = source.replace('"skimmer"', '"another"')
    path = add_plugin(tmp_path / "more", "second_count", source)
    (conflict,) = installed.json("plugins", "list", "--json", path=path)["conflicts"]
    assert "'WordCount'" in conflict
    assert "redlane-word-count" in conflict
    assert "second-count" in conflict
    assert conflict in installed.redlane("plugins", "list", path=path).stdout
    installed.with_policy(type="Simple", pattern="x")
    assert only_error(installed, path) == conflict
    assert installed.redlane("validate", "y", "-r", "r", path=path).returncode != 0
