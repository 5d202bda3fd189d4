"""One bound for each dependency, wherever it is named."""

import tomllib
from collections import defaultdict
from collections.abc import Iterator

from architecture.sources import ROOT, refuse, relative, tracked
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

WANTED = "requirements.in"
FROM_DEBIAN = {"systemd-python"}
"""Not in the lock: Debian ships it, and an environment sees it."""


def requirements() -> Iterator[tuple[str, Requirement]]:
    """What each distribution names, and what the lock is made of; with where it is."""
    for path in tracked("*/pyproject.toml", ":(exclude)tests", ":(exclude)examples"):
        file = tomllib.loads(path.read_text(encoding="utf-8"))
        project = file["project"]
        extras = project.get("optional-dependencies", {}).values()
        builds = file["build-system"]["requires"]
        for line in sum(extras, project["dependencies"] + builds):
            yield relative(path), Requirement(line)
    for line in (ROOT / WANTED).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            yield WANTED, Requirement(line)


def bounds() -> dict[str, dict[str, str]]:
    """By dependency: each place that names it, and the versions it takes there."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for place, each in requirements():
        found[canonicalize_name(each.name)][place] = str(each.specifier)
    return found


def test_a_dependency_has_one_bound_everywhere() -> None:
    refuse(
        f"{name}: {places}"
        for name, places in bounds().items()
        if not name.startswith("redlane") and len(set(places.values())) > 1
    )


def test_our_own_distributions_ask_for_one_version_of_the_core() -> None:
    assert len(set(bounds()["redlane"].values())) == 1


def test_what_a_distribution_names_is_locked() -> None:
    refuse(
        f"{name}: {places}"
        for name, places in bounds().items()
        if not name.startswith("redlane") and name not in FROM_DEBIAN
        if WANTED not in places
    )


def test_what_the_proxy_reaches_into_is_bounded_above() -> None:
    assert "<" in bounds()["mitmproxy"]["product_core/pyproject.toml"]
