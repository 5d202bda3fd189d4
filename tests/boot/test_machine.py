"""The machines that the other tests boot: each is fresh, and none is left behind."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from boot.machine import BootError, booted
from boot.trees import held_tree


@pytest.fixture(scope="module")
def empty_tree(suite: str) -> Iterator[Path]:
    """A tree without our packages' needs: it can be made before they are built."""
    with held_tree(suite) as path:
        yield path


def gone(leader: int) -> bool:
    """Whether a machine's first process is no more."""
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{leader}/comm").read_text() != "systemd\n"
    return True


def test_machine_boots_what_its_suite_is(suite: str, empty_tree: Path) -> None:
    with booted(empty_tree) as machine:
        assert f"VERSION_CODENAME={suite}\n" in machine.read("/etc/os-release")
        assert not machine.run("systemctl --failed --quiet").stdout
        assert machine.journal("_PID=1")


def test_tree_is_held_by_many_at_once(suite: str, empty_tree: Path) -> None:
    with held_tree(suite) as again:
        assert again == empty_tree


def test_every_boot_is_fresh(empty_tree: Path) -> None:
    with booted(empty_tree) as first:
        first.write("/etc/left", "behind")
        assert first.read("/etc/left") == "behind"
    with booted(empty_tree) as second:
        assert second.run(("test", "-e", "/etc/left"), check=False).returncode == 1
    assert not (empty_tree / "etc/left").exists()


def test_machine_has_no_way_out_but_packages_at_hand(empty_tree: Path) -> None:
    with booted(empty_tree) as machine:
        assert machine.run("ls /sys/class/net").stdout == "lo\n"
        command = "apt-get -qq -y install --no-install-recommends python3-pip"
        machine.run(command, timeout=120)
        machine.run(("pip3", "--version"))


def test_command_runs_as_whom_it_names(empty_tree: Path) -> None:
    with booted(empty_tree) as machine:
        machine.run("useradd --create-home --shell /bin/bash ada")
        assert machine.run("id -un; pwd", user="ada").stdout == "ada\n/home/ada\n"
        assert "(ada)" in machine.run("id -Gn | sed 's/.*/(&)/'", user="ada").stdout


def test_machine_bears_many_reloads_of_its_units(empty_tree: Path) -> None:
    """Of each, its systemd tells whoever booted it."""
    with booted(empty_tree) as machine:
        reloads = "for each in $(seq 40); do systemctl daemon-reload || exit; done"
        machine.run(reloads)
        assert machine.run("systemctl is-system-running").stdout == "running\n"


def test_machine_is_powered_off_when_a_test_fails(empty_tree: Path) -> None:
    leaders: list[int] = []

    def failing() -> None:
        with booted(empty_tree) as machine:
            leaders.append(machine.leader)
            machine.run(("false",))

    with pytest.raises(AssertionError, match="false"):
        failing()
    assert gone(*leaders)


def test_what_does_not_boot_says_why(tmp_path: Path) -> None:
    with pytest.raises(BootError, match="tree"), booted(tmp_path / "no-tree"):
        pytest.fail("it booted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=str)
def test_machine_ends_with_the_tests_that_are_ended(
    empty_tree: Path, number: signal.Signals
) -> None:
    script = (
        "import sys, pathlib, boot.machine\n"
        "with boot.machine.booted(pathlib.Path(sys.argv[1])) as machine:\n"
        "    print(machine.leader, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    settings = {"PYTHONPATH": str(Path(__file__).parents[1])}
    with (
        tempfile.TemporaryDirectory() as scratch,
        subprocess.Popen(
            (sys.executable, "-c", script, empty_tree),
            env={**os.environ, **settings, "TMPDIR": scratch},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as tests,
    ):
        assert tests.stdout is not None
        leader = int(tests.stdout.readline())
        ended = os.pidfd_open(leader)
        tests.send_signal(number)
        tests.wait(60)
    assert select.select([ended], [], [], 60)[0], "the machine is still up"
    os.close(ended)
    assert gone(leader)
