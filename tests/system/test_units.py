"""The units as files: what systemd itself says of them, and what it cannot know."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = Path(__file__).parents[2] / "packaging" / "systemd"
SERVICES = sorted(UNITS.rglob("*.service"))
SERVERS = [each for each in SERVICES if each.with_suffix(".socket").exists()]
SOCKETS = sorted(UNITS.rglob("*.socket"))
PROGRAMS = {"/usr/bin/redlane", "/usr/bin/redlane-hub"}
MOST_EXPOSED = {"redlane.service": 15, "redlane-hub.service": 12}
"""Tenths, as --threshold= takes them; what costs most is told in docs/systemd.md."""


def name_of(path: Path) -> str:
    return str(path.relative_to(UNITS))


def settings(unit: Path) -> list[tuple[str, str, str]]:
    """Section, name and value of every line."""
    found, section = [], ""
    for line in unit.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.append((section, name, value))
    return found


def values(unit: Path, wanted: str) -> list[str]:
    return [value for _, name, value in settings(unit) if name == wanted]


@pytest.fixture
def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        pytest.skip("UNITS NOT VERIFIED: there is no systemd-analyze here")
    return found


@pytest.mark.parametrize("unit", SERVERS, ids=name_of)
def test_servers_are_started_by_their_sockets_only(unit: Path) -> None:
    assert not [each for each in settings(unit) if each[0] == "Install"]


@pytest.mark.parametrize("unit", SERVICES, ids=name_of)
def test_every_program_is_one_of_ours(unit: Path) -> None:
    lines = [each for each in settings(unit) if each[1].startswith("Exec")]
    assert lines
    assert {value.split()[0] for _, _, value in lines} <= PROGRAMS


@pytest.mark.parametrize("unit", SERVERS, ids=name_of)
def test_every_server_is_watched_and_never_gives_up(unit: Path) -> None:
    assert values(unit, "Type") == ["notify"]
    assert values(unit, "WatchdogSec")
    assert values(unit, "Restart") == ["on-failure"]
    assert values(unit, "StartLimitIntervalSec") == ["0"]


@pytest.mark.parametrize("unit", SOCKETS, ids=name_of)
def test_socket_modes_are_as_wide_as_they_must_be(unit: Path) -> None:
    modes = {"redlane-hub.socket": [], "user/": ["0600"]}
    wanted = modes.get(name_of(unit), modes.get(f"{unit.parent.name}/", ["0666"]))
    assert values(unit, "SocketMode") == wanted


@pytest.mark.parametrize("place", [".", "user"])
def test_sockets_have_the_names_that_the_daemon_knows(place: str) -> None:
    control = UNITS / place / "redlane.socket"
    shell = UNITS / place / "redlane-shell.socket"
    assert values(control, "FileDescriptorName") == ["control"]
    assert values(shell, "FileDescriptorName") == ["shell"]
    (path,) = values(control, "ListenStream")
    assert values(shell, "ListenStream") == [path.replace("control.sock", "shell.sock")]


def test_runtime_directory_is_not_the_services() -> None:
    # It would go with the daemon, sockets and all.
    assert not values(UNITS / "redlane.service", "RuntimeDirectory")
    assert "/run/redlane " in (UNITS / "redlane.tmpfiles").read_text()


def test_files_can_be_opened_for_others() -> None:
    unit = UNITS / "redlane.service"
    assert not values(unit, "RestrictSUIDSGID")  # refuses openat2(2)
    allowed = {
        each for line in values(unit, "SystemCallFilter") for each in line.split()
    }
    assert {"setfsuid", "setfsgid", "setgroups"} <= set(allowed)


def test_every_file_is_ini() -> None:
    for unit in (*SERVICES, *SOCKETS):
        parser = configparser.RawConfigParser(strict=False)
        parser.read(unit)
        assert parser.has_section("Unit"), unit


@pytest.mark.parametrize("place", [".", "user"])
def test_systemd_finds_no_fault(place: str, analyze: str, tmp_path: Path) -> None:
    units = []
    for path in sorted((UNITS / place).glob("*.s[eo]*")):
        # The programs are installed elsewhere, so that any stands for them.
        text = re.sub(r"/usr/bin/redlane(-hub)?\b", "/bin/true", path.read_text())
        units.append(tmp_path / path.name)
        units[-1].write_text(text)
    mode = ["--user"] if place == "user" else ["--system"]
    done = subprocess.run(
        [analyze, "verify", *mode, "--man=no", "--recursive-errors=no", *units],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "most"), MOST_EXPOSED.items())
def test_services_are_no_more_exposed_than_they_must_be(
    name: str, most: int, analyze: str
) -> None:
    options = ("--offline=true", f"--threshold={most}", "--no-pager")
    done = subprocess.run(
        [analyze, "security", *options, UNITS / name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
