"""What `apt install` leaves in a machine."""

import pytest
from boot.machine import Machine
from boot.packages import NAMES
from boot.product import add_user, state

SERVICES = ("redlane.service", "redlane-hub.service")
SOCKETS = ("redlane.socket", "redlane-hub.socket")


def test_no_unit_fails(machine: Machine) -> None:
    listed = machine.run("systemctl --failed --plain --no-legend").stdout
    assert not listed
    assert machine.run("systemctl is-system-running").stdout == "running\n"


@pytest.mark.parametrize("socket", SOCKETS)
def test_sockets_are_enabled_and_listen(machine: Machine, socket: str) -> None:
    assert state(machine, socket, "UnitFileState") == "enabled"
    assert state(machine, socket, "SubState") == "listening"


def test_socket_of_the_shell_wrapper_comes_along(machine: Machine) -> None:
    assert state(machine, "redlane-shell.socket", "SubState") == "listening"


@pytest.mark.parametrize("service", SERVICES)
def test_services_wait_for_the_first_request(machine: Machine, service: str) -> None:
    assert state(machine, service) == "inactive"
    assert state(machine, service, "UnitFileState") == "static"


@pytest.mark.parametrize(("service", "most"), [*zip(SERVICES, (24, 12), strict=True)])
def test_service_is_exposed_to_little(
    machine: Machine, service: str, most: int
) -> None:
    """In tenths; the network that the proxy needs costs the daemon's nine of them."""
    threshold = f"--threshold={most}"
    command = ("systemd-analyze", "security", "--no-pager", threshold, service)
    done = machine.run(command, check=False)
    assert done.returncode == 0, done.stdout[-1500:]


@pytest.mark.parametrize("unit", [*SERVICES, *SOCKETS, "redlane-shell.socket"])
def test_unit_holds_nothing_that_systemd_does_not_know(
    machine: Machine, unit: str
) -> None:
    done = machine.run(("systemd-analyze", "verify", "--man=no", unit), check=False)
    ours = [line for line in done.stderr.splitlines() if "redlane" in line]
    assert done.returncode == 0
    assert not ours


def test_user_units_hold_nothing_that_systemd_does_not_know(machine: Machine) -> None:
    units = "redlane.service redlane.socket redlane-shell.socket"
    command = f"systemd-analyze --user verify --man=no {units}"
    done = machine.run(command, env={"XDG_RUNTIME_DIR": "/run"}, check=False)
    assert not [line for line in done.stderr.splitlines() if "redlane" in line]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/etc/redlane/settings.json", "644 root root"),
        ("/etc/redlane/policies/shell-destroy.json", "644 root root"),
        ("/etc/redlane-hub/hub.toml", "640 root redlane-hub"),
        ("/run/redlane", "755 redlane redlane"),
        ("/var/log/redlane", "750 redlane redlane"),
        ("/run/redlane/control.sock", "666 redlane redlane"),
        ("/run/redlane/shell.sock", "666 redlane redlane"),
    ],
)
def test_file_is_whose_it_must_be(machine: Machine, path: str, wanted: str) -> None:
    assert machine.run(("stat", "--format=%a %U %G", path)).stdout.strip() == wanted


def test_nobody_but_root_writes_to_what_is_installed(machine: Machine) -> None:
    ours = f"dpkg --listfiles {' '.join(NAMES)} | grep . | sort -u"
    shown = r"xargs -d '\n' stat --format='%A %U %n'"
    for line in machine.run(f"{ours} | {shown}").stdout.splitlines():
        mode, owner, path = line.split(" ", 2)
        loose = "w" in mode[4:] and mode[0] != "l"
        assert (owner, loose) == ("root", False), path


def test_everybody_has_the_commands(machine: Machine) -> None:
    add_user(machine, "somebody")
    for command in ("redlane", "redlane-hub", "redlane-sh"):
        assert machine.run((command, "--version"), user="somebody").stdout


def test_files_of_the_starter_policies_are_conffiles(machine: Machine) -> None:
    query = ("dpkg-query", "--show", "--showformat=${Conffiles}", "redlane")
    conffiles = machine.run(query).stdout
    installed = machine.run("find /etc/redlane -type f").stdout.split()
    assert len(installed) > 5
    assert not [each for each in installed if f" {each} " not in conffiles]


def test_starter_policies_are_sound(machine: Machine) -> None:
    machine.run("redlane config check", env={"REDLANE_HOME": "/etc/redlane"})


def test_plugins_come_from_the_private_environment(machine: Machine) -> None:
    listed = machine.run("redlane plugins list").stdout
    types = ("Simple", "Regex", "Executable", "McpTool", "MlClassifier")
    for name in (*types, "Syscall"):
        assert name in listed


def test_what_lies_in_a_users_home_is_no_part_of_it(machine: Machine) -> None:
    """Python's own user site would let a user put code in a command that root runs."""
    add_user(machine, "planter")
    version = machine.run(
        "python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'"
    )
    site = f"/home/planter/.local/lib/python{version.stdout.strip()}/site-packages"
    machine.write(f"{site}/redlane/__init__.py", "raise SystemExit('planted')\n")
    machine.write("/home/planter/redlane.py", "raise SystemExit('planted')\n")
    machine.run("chown -R planter /home/planter")
    settings = {"PYTHONPATH": "/home/planter", "PYTHONHOME": "/home/planter"}
    assert machine.run("redlane --version", user="planter", env=settings).stdout
