"""Scripts that people really run pass the starter role `developer`.

It stops those that administer the machine; administering.json names them, below the
policy that does. Nothing is fetched here: `make corpus` does, for the second half.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest
from scripts.judging import Judged, judged
from scripts.packages import pinned
from scripts.places import (
    CORPUS,
    SELF_EXTRACTING,
    distinct,
    scripts_below,
    spread,
    starts_a_shell,
)

from redlane.model.verdict import Decision

pytestmark = pytest.mark.slow

INSTALLED = (
    "/etc",
    "/etc/init.d",
    "/etc/piuparts",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib/git-core",
    "/usr/lib/google-cloud-sdk",
    "/usr/lib/node_modules",
    "/usr/lib/perf-core",
    "/usr/lib/python3.11",
    "/usr/lib/systemd",
    "/usr/sbin",
    "/usr/share",
    "/usr/share/autopkgtest",
    "/usr/share/doc",
    "/usr/share/git-core",
    "/usr/share/mmdebstrap",
    "/usr/share/postgresql-common",
)
"""Where a machine has scripts; one is of the longest of these that holds it."""

PACKAGES = (*(each.directory for each in pinned()), SELF_EXTRACTING)
MOST_ALIKE = 40
"""How many scripts of one directory of a package are judged."""

Listed = dict[str, list[str]]


@pytest.mark.parametrize("place", INSTALLED)
def test_installed_scripts_pass_or_administer(place: str, tmp_path: Path) -> None:
    listed = _administering("installed")
    wrong = []
    for script in _installed()[place]:
        # Nobody works where programs are installed.
        found = judged(script, cwd=tmp_path)
        policies = _policies(listed, str(script))
        if found.decision is not Decision.ALLOW and found.policy not in policies:
            wrong.append(found)
    _fail_for(wrong)


@pytest.mark.parametrize("package", PACKAGES)
def test_scripts_of_a_package_pass_or_administer(package: str) -> None:
    if not (CORPUS / package).is_dir():
        pytest.skip(f"no scripts of {package} to judge: `make corpus` fetches them")
    listed = _administering("corpus")
    wrong = []
    for script in _corpus()[package]:
        found = judged(script)
        policies = _policies(listed, _name(script))
        stopped = {found.policy} if found.decision is not Decision.ALLOW else set()
        if stopped != policies and not stopped & policies:
            wrong.append(found)
    _fail_for(wrong)


def test_what_administers_is_in_the_corpus() -> None:
    if not all((CORPUS / package).is_dir() for package in PACKAGES):
        pytest.skip(f"not all is in {CORPUS}: `make corpus` fetches it")
    names = [_name(script) for script in _of_packages()]
    patterns = {each for some in _administering("corpus").values() for each in some}
    assert not [
        each for each in patterns if not any(fnmatchcase(name, each) for name in names)
    ]


def _fail_for(wrong: list[Judged]) -> None:
    if wrong:
        pytest.fail("\n".join(map(str, wrong)), pytrace=False)


def _name(script: Path) -> str:
    return str(script.relative_to(CORPUS))


def _policies(listed: Listed, name: str) -> set[str]:
    """The policies that are right to stop a script."""
    return {
        policy
        for policy, patterns in listed.items()
        if any(fnmatchcase(name, each) for each in patterns)
    }


@cache
def _administering(part: str) -> Listed:
    listed: dict[str, Listed]
    listed = json.loads(Path(__file__).with_name("administering.json").read_bytes())
    return listed[part]


@cache
def _installed() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    for script in distinct(_on_this_machine()):
        holds = [each for each in INSTALLED if script.is_relative_to(each)]
        found[max(holds, key=len)].append(script)
    return found


def _on_this_machine() -> Iterator[Path]:
    for top in ("/etc", "/usr/bin", "/usr/lib", "/usr/sbin", "/usr/share"):
        yield from scripts_below(Path(top), starts_a_shell)


@cache
def _corpus() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    for script in distinct(_of_packages()):
        found[script.relative_to(CORPUS).parts[0]].append(script)
    return {package: spread(scripts, MOST_ALIKE) for package, scripts in found.items()}


def _of_packages() -> Iterable[Path]:
    for package in PACKAGES:
        yield from scripts_below(CORPUS / package)
