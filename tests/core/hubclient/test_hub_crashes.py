"""`redlane hub pull` that is killed midway: the next one puts all right.

NAME, which needs LOW, is here as 1 with a role; it is pulled as 2, and its key is new.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import RoutedHub
from hub_people import GO, Person, policy
from lying_hub import KEY, LOW, NAME, OTHER, article, need, routes

KILLED = 9
SCRIPT = f"""
import importlib, os, sys
name, function, nth, when, *words = sys.argv[1:]
module, calls = importlib.import_module(f"redlane.sharing.{{name}}"), [0]
real = getattr(module, function)

def call(*arguments, **named):
    calls[0] += 1
    is_it = calls[0] == int(nth)
    if is_it and when == "before":
        os._exit({KILLED})
    done = real(*arguments, **named)
    if is_it:
        os._exit({KILLED})
    return done

setattr(module, function, call)
from redlane.cli.main import main
sys.argv = ["redlane", *words]
sys.exit(main())
"""
Step = tuple[str, str, str, str]
STEPS: dict[str, Step] = {
    "while it is staged": ("installing", "_flush", "1", "before"),
    "after the journal": ("journal", "write", "1", "after"),
    "after the swap": ("installing", "_swap", "1", "after"),
    "after the first role": ("journal", "write", "2", "after"),
    "after the trust": ("journal", "write", "3", "after"),
    "before the lock": ("journal", "write", "4", "before"),
    "after the lock": ("journal", "write", "4", "after"),
}
FINISHED = [*STEPS][2:]
PULL = ("pull", f"{NAME}@2", *GO)


def shelf() -> dict[str, dict[str, Any]]:
    """What the hub has; the second version is told to be by the same key."""
    second = [policy(f"{NAME}-2")]
    return {
        f"{NAME}@2": article(
            f"{NAME}@2", content=second, dependencies=[need(f"{LOW}@2")]
        ),
        f"{LOW}@2": article(f"{LOW}@2", content=[policy(f"{LOW}-2")]),
        f"{NAME}@1": article(f"{NAME}@1", dependencies=[need(f"{LOW}@1")]),
        f"{LOW}@1": article(f"{LOW}@1"),
        "other@1": article("other@1", key_fingerprint=OTHER),
    }


@pytest.fixture(scope="module")
def hub() -> Iterator[RoutedHub]:
    with RoutedHub() as made:
        made.routes = routes(shelf())
        yield made


@pytest.fixture(scope="module")
def homes(hub: RoutedHub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Homes as they were before the second pull, and as a crash at a step left them."""
    made = tmp_path_factory.mktemp("homes")
    for name in ("first", "empty"):
        (made / name).mkdir()
    first = Person(hub.address, made / "first")
    first.write("roles/mine.json", {"name": "mine", "policies": []})
    first.ok("pull", f"{NAME}@1", *GO, "--as-role", "dev")
    first.ok("untrust", KEY)
    for each, step in STEPS.items():
        shutil.copytree(made / "first", made / each)
        kill(Person(hub.address, made / each), step, *PULL)
    shutil.copytree(made / "first", made / "whole")
    Person(hub.address, made / "whole").ok(*PULL)
    return made


@pytest.fixture
def me(hub: RoutedHub, tmp_path: Path) -> Person:
    return Person(hub.address, tmp_path / "me")


def kill(who: Person, step: Step, *words: str) -> None:
    """Have a command end at that step, without a word."""
    done = subprocess.run(  # its own process: what is forked cannot be patched
        [sys.executable, "-c", SCRIPT, *step, "hub", *words],
        cwd=who.home,
        env=who.environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == KILLED, done.stderr


def all_is_well(who: Person) -> None:
    """What is here is what is locked, all of it loads, and nothing else is left."""
    who.refused(0, "all is as it was pulled", "verify")
    assert who.run("config", "check")[0] == 0
    assert who.read("roles/mine.json") == {"name": "mine", "policies": []}
    assert [e.name for e in (who.redlane / "policies").iterdir()] in (["hub"], [])


def versions(who: Person) -> dict[str, str]:
    return {name: each["version"] for name, each in who.lock.items()}


def whole(who: Person, homes: Path) -> bool:
    """Whether a home is as one where nobody was killed, but for the time of trust."""
    other = Person(who.address, homes / "whole")
    here, there = who.files(), other.files()
    for each in (here, there):
        del each["hub-trust.json"]
    keys = [[*each.read("hub-trust.json")["publishers"]] for each in (who, other)]
    return here == there and keys[0] == keys[1]


@pytest.mark.parametrize("step", STEPS)
def test_same_pull_puts_right_what_was_killed(
    homes: Path, me: Person, step: str
) -> None:
    shutil.copytree(homes / step, me.home)
    me.ok(*PULL)
    all_is_well(me)
    assert whole(me, homes)


@pytest.mark.parametrize("step", STEPS)
def test_another_pull_puts_right_what_was_killed(
    homes: Path, me: Person, step: str
) -> None:
    shutil.copytree(homes / step, me.home)
    me.ok("pull", "other", *GO)
    all_is_well(me)
    version = "2" if step in FINISHED else "1"
    assert versions(me) == {NAME: version, LOW: version, "other": "1"}
    name = {"1": f"{NAME}-policy", "2": f"{NAME}-2"}[version]
    assert name in me.read("roles/dev.json")["policies"]


@pytest.mark.parametrize("step", ["after the swap", "before the lock"])
@pytest.mark.parametrize("words", [("remove", NAME, "--yes"), ("trust", OTHER)])
def test_what_pulls_nothing_finishes_it_too(
    homes: Path, me: Person, step: str, words: tuple[str, ...]
) -> None:
    shutil.copytree(homes / step, me.home)
    me.ok(*words)
    all_is_well(me)
    assert versions(me) == ({} if "remove" in words else {NAME: "2", LOW: "2"})
    assert KEY in me.read("hub-trust.json")["publishers"]


@pytest.mark.parametrize("step", ["after the journal", "after the swap"])
def test_rehearsal_after_it_changes_nothing(homes: Path, me: Person, step: str) -> None:
    shutil.copytree(homes / step, me.home)
    before = me.files()
    _, _, err = me.run("hub", *PULL, "--dry-run")
    assert "a change was cut short" in err
    assert me.files() == before


@pytest.mark.parametrize("step", ["after the journal", "after the swap"])
def test_first_pull_that_was_killed_is_put_right(me: Person, step: str) -> None:
    me.home.mkdir()
    me.write("roles/mine.json", {"name": "mine", "policies": []})
    first = ("pull", f"{NAME}@1", *GO, "--as-role", "dev")
    kill(me, STEPS[step], *first)
    me.ok(*first)
    all_is_well(me)
    assert "name-policy" in me.read("roles/dev.json")["policies"]
