"""What third parties make is found by the service that runs, as a .deb or a wheel."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from boot.machine import Machine, booted
from boot.packages import ROOT, apt, install
from boot.product import main_pid, start, verdict

PLACE = "/usr/local/lib/redlane/plugins"
TEMPLATE, SAMPLE = ROOT / "examples" / "plugin", ROOT / "tests" / "sample_plugin"
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
GLOB = {"type": "Glob", "globs": ["~/.ssh/**"]}
WORDS = {"type": "WordCount", "minimum": 9}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template's package, and the sample's wheel, as their authors make them."""
    place = tmp_path_factory.mktemp("third-party")
    rest = shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__")
    for source in (TEMPLATE, SAMPLE):
        shutil.copytree(source, place / source.name, ignore=rest)
    build("make", "-C", place / TEMPLATE.name, "deb")
    wheel = (
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        place / "dist",
    )
    build(*PIP, *wheel, place / SAMPLE.name)
    for each in (place / TEMPLATE.name / "dist").glob("*.deb"):
        shutil.copy(each, place / "dist")
    return place / "dist"


def build(*command: str | Path) -> None:
    done = subprocess.run(
        command,
        # Its own tests want our package where it is built.
        env={
            **os.environ,
            "DEB_BUILD_OPTIONS": "nocheck",
            "DEB_BUILD_PROFILES": "nocheck",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-3000:]}"


@pytest.fixture(scope="module")
def machine(tree: Path, debs: tuple[Path, ...], made: Path) -> Iterator[Machine]:
    with booted(tree, {"/debs": debs[0].parent, "/made": made}) as ours:
        install(ours, debs)
        yield ours


def rule(machine: Machine, name: str, fields: Mapping[str, object]) -> None:
    """A policy, and a role of the same name that has it alone."""
    policy = {"id": name, "context": "Shell", "action": "Block", "reason": "theirs"}
    role = {"name": name, "policies": [name]}
    machine.write(
        f"/etc/redlane/policies/{name}.json", json.dumps({**policy, **fields})
    )
    machine.write(f"/etc/redlane/roles/{name}.json", json.dumps(role))


def without(machine: Machine, name: str) -> None:
    machine.run(
        f"rm -f /etc/redlane/policies/{name}.json /etc/redlane/roles/{name}.json"
    )


def test_package_is_found_by_the_service_that_runs(
    machine: Machine, made: Path
) -> None:
    before = start(machine)
    (package,) = made.glob("*.deb")
    apt(machine, "install", f"/made/{package.name}")
    machine.until(
        f"systemctl show -P MainPID redlane.service | grep -vqx -e 0 -e {before}"
    )
    rule(machine, "their-globs", GLOB)
    machine.run("systemctl reload redlane.service")
    assert verdict(machine, "cat ~/.ssh/id_ed25519", role="their-globs") == "BLOCK"
    assert verdict(machine, "cat README", role="their-globs") == "ALLOW"


def test_removed_package_is_missed_by_the_next_load(
    machine: Machine, made: Path
) -> None:
    (package,) = made.glob("*.deb")
    name = package.name.partition("_")[0]
    apt(machine, "install", f"/made/{package.name}")
    rule(machine, "their-globs", GLOB)
    apt(machine, "purge", name)
    settings = {"REDLANE_HOME": "/etc/redlane"}
    checked = machine.run("redlane config check", env=settings, check=False)
    assert checked.returncode == 1
    assert "Glob" in f"{checked.stdout}{checked.stderr}"
    without(machine, "their-globs")
    assert start(machine)


def test_wheel_in_the_documented_place_is_found(machine: Machine, made: Path) -> None:
    start(machine)
    apt(machine, "install", "--no-install-recommends", "python3-pip")
    (wheel,) = made.glob("*.whl")
    target = (
        "pip3",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        PLACE,
    )
    machine.run((*target, f"/made/{wheel.name}"), timeout=120)
    rule(machine, "their-words", WORDS)
    machine.run("systemctl restart redlane.service")
    long = "echo one two three four five six seven eight nine"
    assert verdict(machine, long, role="their-words") == "BLOCK"
    assert verdict(machine, "echo one", role="their-words") == "ALLOW"
    assert PLACE in machine.run("redlane plugins list --json").stdout
    without(machine, "their-words")


def test_service_that_is_stopped_is_not_started_for_a_plugin(
    machine: Machine, made: Path
) -> None:
    machine.run("systemctl stop redlane.service")
    (package,) = made.glob("*.deb")
    apt(machine, "--reinstall", "install", f"/made/{package.name}")
    assert main_pid(machine) == 0
