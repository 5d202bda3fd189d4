"""What Debian's own tools say of the packages."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from boot.machine import Machine, booted
from boot.packages import ROOT, apt

MINUTES = 600.0
LINTIAN = (
    *("lintian", "--allow-root", "--fail-on=error,warning"),
    # Debian 12's does not know the quick packing that tests are content with.
    "--suppress-tags=malformed-deb-archive",
)


@pytest.fixture(scope="module")
def testbed(
    tree: Path, debs: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    """A machine with autopkgtest and the source package's debian directory."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT / "packaging" / "debian", source / "debian")
    (source / "debian" / "files").touch()  # built already: no compiler is wanted
    with booted(tree, {"/debs": debs[0].parent, "/source": source}) as machine:
        apt(machine, "install", "--no-install-recommends", "autopkgtest")
        yield machine


@pytest.mark.parametrize(
    "name", ["commands", "daemon", "hub", "mcp", "model", "proxy", "syscalls"]
)
def test_autopkgtest_passes(
    testbed: Machine, debs: tuple[Path, ...], name: str
) -> None:
    words = (
        *("autopkgtest", f"--test-name={name}", "--no-built-binaries"),
        *(f"/debs/{each.name}" for each in debs),
        *("/source", "--ignore-restrictions=isolation-machine", "--", "null"),
    )
    done = testbed.run(words, check=False, timeout=MINUTES)
    said = f"{done.stdout}{done.stderr}"
    assert done.returncode == 0, said[-3000:]
    assert f"{name} " in said.rpartition("summary")[2]


def test_piuparts_passes(suite: str, tree: Path, debs: tuple[Path, ...]) -> None:
    """With a base that holds systemd: its own leftovers are none of ours."""
    words = (
        *("piuparts", f"--distribution={suite}", f"--existing-chroot={tree}"),
        *("--no-eatmydata", "--no-upgrade-test", "--warn-on-leftovers-after-purge"),
        *map(str, debs),
    )
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=MINUTES,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_lintian_finds_nothing(debs: tuple[Path, ...]) -> None:
    """Each override in packaging/debian says its reason."""
    done = subprocess.run(
        (*LINTIAN, *debs),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=MINUTES,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
