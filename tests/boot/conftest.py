"""Booted Debians, for tests that each need one.

What installs, upgrades and removes runs for each suite whose packages `make deb` has
built; what looks at an installation closely runs for the Debian that runs here.
"""

import functools
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from boot.machine import Machine, booted
from boot.packages import BUILT, latest
from boot.probe import why_not
from boot.trees import held_tree, installed_tree

PROGRAMS = ("mmdebstrap", "systemd-nspawn", "nsenter")
SECONDS = 900
EACH_SUITE = ("debian_tools", "install", "removal", "smoke", "upgrade")
reason_against = functools.cache(why_not)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what boots, while there is time to select by the marks."""
    for mark in ("boot", "slow", pytest.mark.timeout(SECONDS)):
        item.add_marker(mark)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "suite" in metafunc.fixturenames:
        built = sorted(each.parent.name for each in BUILT.glob("*/redlane_*.deb"))
        here = platform.freedesktop_os_release()["VERSION_CODENAME"]
        module = metafunc.module.__name__.rpartition("test_")[2]
        everywhere = module in EACH_SUITE or here not in built
        suites = built if built and everywhere else [here]
        metafunc.parametrize("suite", suites, scope="session")


@pytest.fixture(scope="session", autouse=True)
def _able() -> None:
    """Skip, loudly, where no container can be booted; nothing else is an excuse."""
    if reason := reason_against():
        pytest.skip(f"NOT BOOTED, so the packages are not proven: {reason}")
    missing = [each for each in PROGRAMS if not shutil.which(each)]
    assert not missing, f"packaging/boot-packages.sh installs {missing}"


@pytest.fixture(scope="session")
def debs(suite: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """The packages under test: copies, since a build takes the old ones away."""
    place = tmp_path_factory.mktemp("debs")
    return tuple(Path(shutil.copy(each, place)) for each in latest(suite))


@pytest.fixture(scope="session")
def tree(suite: str, debs: tuple[Path, ...]) -> Iterator[Path]:
    """A small system with what the packages need at hand."""
    with held_tree(suite, debs) as path:
        yield path


@pytest.fixture(scope="session")
def installed(suite: str, debs: tuple[Path, ...]) -> Iterator[Path]:
    """The same with our packages installed."""
    with installed_tree(suite, debs) as path:
        yield path


@pytest.fixture(scope="module")
def machine(installed: Path, debs: tuple[Path, ...]) -> Iterator[Machine]:
    """A booted machine with our packages installed, shared by a module's tests."""
    with booted(installed, {"/debs": debs[0].parent}) as made:
        yield made


@pytest.fixture
def bare(tree: Path, debs: tuple[Path, ...]) -> Iterator[Machine]:
    """A booted machine of one test's own, with the packages in /debs, not installed."""
    with booted(tree, {"/debs": debs[0].parent}) as made:
        yield made


@pytest.fixture
def fresh(installed: Path, debs: tuple[Path, ...]) -> Iterator[Machine]:
    """A booted machine of one test's own, with our packages installed."""
    with booted(installed, {"/debs": debs[0].parent}) as made:
        yield made
