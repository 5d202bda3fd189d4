"""What a start and a reload must refuse, and what they must not disturb."""

import textwrap
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec.redlane_home import Home

STUBBORN = """
    from redlane.api import Context, Reader, hookimpl

    class Stubborn:
        name = "Stubborn"
        contexts = frozenset(Context)
        reader = Reader.PATTERN
        fields = frozenset()
        ignores_action = False

        def problems(self, policy):
            return ()

        def compile(self, policies):
            raise RuntimeError("not today")

    @hookimpl
    def redlane_match_types():
        return (Stubborn(),)
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    made.policies({"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm"})
    made.role("guard", "no-rm")
    yield made
    made.stop()


def install_stubborn(home: Home, directory: Path) -> None:
    """A plugin that finds nothing wrong with a policy and then cannot compile it."""
    info = directory / "stubborn-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stubborn\nVersion: 1")
    (info / "entry_points.txt").write_text("[redlane]\nstubborn = stubborn\n")
    (directory / "stubborn.py").write_text(textwrap.dedent(STUBBORN))
    home.env["PYTHONPATH"] = str(directory)


def test_role_that_a_plugin_cannot_compile_refuses_start_and_reload(
    home: Home, tmp_path: Path
) -> None:
    install_stubborn(home, tmp_path / "lib")
    home.start("--role", "guard")
    stubborn = {"id": "s", "type": "Stubborn", "action": "Block", "pattern": "x"}
    home.policies(stubborn, file="s.json")
    home.role("stubborn", "s")
    answer = home.control.post("/api/policies/reload", {})
    assert answer.status == 422
    (error,) = answer.json["errors"]
    assert error["subject"] == "stubborn"
    assert "not today" in error["message"]
    assert home.control.analyze("ls")["verdict"] == "ALLOW"
    home.run("stop")
    assert "stubborn: the role does not compile" in home.run("start").refusal


def test_more_commands_at_once_than_places_wait_for_a_slow_checker(home: Home) -> None:
    command = "sh -c 'sleep 0.2; exit 1'"
    slow = {"id": "s", "type": "Executable", "action": "Block", "pattern": command}
    home.policies(slow, file="s.json")
    home.role("slow", "s")
    home.start("--role", "slow")
    found: Counter[str] = Counter()

    def ask() -> None:
        found[home.control.analyze("make")["verdict"]] += 1

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {"ALLOW": 40}
