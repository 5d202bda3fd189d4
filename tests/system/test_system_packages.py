"""The set-up installs what the system lacks, or says the one line that does."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from distributions import ROOT

SCRIPT = ROOT / "packaging" / "system-packages.sh"
FOR_TESTS = ROOT / "packaging" / "test-packages.sh"
PACKAGES = re.findall(r'^packages="(.*)"$', SCRIPT.read_text(), re.MULTILINE)[0].split()
STUB = "#!/bin/sh\n{}\n"


@dataclass(frozen=True)
class System:
    """A machine as the script sees it: nothing but the programs put on its PATH."""

    place: Path

    @property
    def log(self) -> Path:
        return self.place / "log"

    def program(self, name: str, script: str) -> None:
        path = self.place / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(STUB.format(script))
        path.chmod(0o755)

    def run(self, script: Path = SCRIPT) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [script],
            env={"PATH": str(self.place / "bin")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def asked(self) -> list[str]:
        """What was asked of apt-get, without its options."""
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        return [re.sub(r"-o \S+ ", "", line) for line in lines]


def system(
    place: Path, *, lacks: tuple[str, ...] = (), user: int = 0, apt: str | None = ""
) -> System:
    """A Debian system for `user`; `apt` is what apt-get does once it has been asked."""
    made = System(place)
    wanted = "|".join(lacks) or "none"
    made.program(
        "dpkg-query",
        f'for each; do :; done; case "$each" in {wanted}) exit 1;; esac\n'
        "printf installed",
    )
    made.program("id", f"echo {user}")
    if apt is not None:
        made.program("apt-get", f'echo "$*" >> {made.log}\n{apt}')
    return made


def test_nothing_is_asked_of_a_machine_that_has_everything(tmp_path: Path) -> None:
    made = system(tmp_path)
    done = made.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert made.asked() == []


def test_ordinary_user_is_told_one_line(tmp_path: Path) -> None:
    made = system(tmp_path, lacks=("gcc", "python3-venv"), user=1000)
    done = made.run()
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("redlane: ")
    command = "sudo apt-get install -y --no-install-recommends python3-venv gcc"
    assert line.endswith(command)
    assert made.asked() == []


def test_root_installs_what_is_missing_and_no_more(tmp_path: Path) -> None:
    made = system(tmp_path, lacks=("gcc",))
    assert made.run().returncode == 0
    assert made.asked() == ["install -y --no-install-recommends gcc"]


def test_removed_package_whose_settings_stayed_is_missing(tmp_path: Path) -> None:
    made = system(tmp_path)
    made.program("dpkg-query", "printf config-files")
    assert made.run().returncode == 0
    assert made.asked()[0].split()[3:] == PACKAGES


def test_old_package_lists_are_fetched_again(tmp_path: Path) -> None:
    old = f'[ "$1" = update ] && : > {tmp_path}/new; [ -e {tmp_path}/new ]'
    made = system(tmp_path, lacks=("gcc",), apt=old)
    assert made.run().returncode == 0
    install = "install -y --no-install-recommends gcc"
    assert made.asked() == [install, "update", install]


@pytest.mark.parametrize("works", ["update", "nothing"])
def test_failure_to_install_is_a_failure(tmp_path: Path, works: str) -> None:
    script = f'[ "$1" = {works} ] || {{ echo "E: no network" >&2; exit 100; }}'
    made = system(tmp_path, lacks=("gcc",), apt=script)
    done = made.run()
    assert done.returncode != 0
    assert "E: no network" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("redlane: apt-get could not install")


def test_other_systems_are_told_and_go_on(tmp_path: Path) -> None:
    made = system(tmp_path, lacks=tuple(PACKAGES), apt=None)
    (made.place / "bin" / "dpkg-query").unlink()
    done = made.run()
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "no Debian system" in line
    assert all(each in line for each in PACKAGES)


def test_what_only_tests_need_is_installed_apart(tmp_path: Path) -> None:
    made = system(tmp_path, lacks=("chromium", "gcc"))
    assert made.run(FOR_TESTS).returncode == 0
    assert made.asked() == ["install -y --no-install-recommends chromium"]
    assert not {"chromium", "wrk"} & set(PACKAGES)


@pytest.mark.parametrize("script", [SCRIPT, FOR_TESTS], ids=["system", "tests"])
def test_script_can_be_run(script: Path) -> None:
    assert os.access(script, os.X_OK)
