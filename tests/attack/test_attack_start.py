"""Starts that are interrupted, raced, or find something else in their place."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from spec.control_client import peer_pid
from spec.redlane_home import Home, wait_for

from redlane.daemon.lock import DaemonLock, running_daemon
from redlane.errors import DaemonError

HELD_UP = "import time\nopen({marker!r}, 'w').close()\ntime.sleep(2)\n"
"""A plugin whose import takes a while, so that a start can be interrupted in it."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    made.policies({"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm"})
    made.role("guard", "no-rm")
    yield made
    made.stop()


def install_slow_plugin(home: Home, directory: Path) -> Path:
    info = directory / "slow-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1")
    (info / "entry_points.txt").write_text("[redlane]\nslow = slow_plugin\n")
    marker = directory / "imported"
    (directory / "slow_plugin.py").write_text(HELD_UP.format(marker=str(marker)))
    home.env["PYTHONPATH"] = str(directory)
    return marker


def is_unlocked(home: Home) -> bool:
    return home.run("stop").err == "redlane: the daemon is not running\n"


def test_interrupted_start_leaves_no_daemon(home: Home, tmp_path: Path) -> None:
    marker = install_slow_plugin(home, tmp_path / "lib")
    starting = home.spawn("start")
    wait_for(marker.exists)
    starting.send_signal(signal.SIGINT)
    assert starting.wait(20) == 130
    starting.communicate()
    wait_for(lambda: is_unlocked(home))
    assert peer_pid(home.control.socket) is None


def test_daemon_runs_on_when_its_start_was_killed(home: Home, tmp_path: Path) -> None:
    marker = install_slow_plugin(home, tmp_path / "lib")
    starting = home.spawn("start", "--role", "guard")
    wait_for(marker.exists)
    starting.kill()
    starting.communicate()
    pid = wait_for(lambda: peer_pid(home.control.socket))
    wait_for(lambda: home.control.get("/health").status == 200)
    assert home.control.analyze("ls")["verdict"] == "ALLOW"
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not home.control.socket.exists())


def at_the_lock(home: Home) -> Path:
    return home.dir / "run" / "daemon.lock"


def at_the_log(home: Home) -> Path:
    return home.dir / "logs" / "daemon.log"


def at_the_wrapper(home: Home) -> Path:
    return home.dir / "run" / "bin"


def link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))


PLACES = (at_the_lock, at_the_log, at_the_wrapper)
OBSTACLES = {"directory": Path.mkdir, "pipe": os.mkfifo, "link": link}


@pytest.mark.parametrize("place", PLACES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("put", OBSTACLES.values(), ids=OBSTACLES)
def test_what_is_in_the_way_of_a_start_is_named_in_one_line(
    home: Home, place: Callable[[Home], Path], put: Callable[[Path], None]
) -> None:
    path = place(home)
    path.parent.mkdir(mode=0o700)
    put(path)
    if place is at_the_wrapper and put is Path.mkdir:
        return  # that is what it should be
    assert str(path) in home.run("start").refusal
    assert home.run("stop").code == 0
    assert not path.with_name("elsewhere").exists()


def test_lock_that_cannot_be_written_is_held_by_nobody(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    os.mkfifo(path)
    with pytest.raises(DaemonError):
        DaemonLock(path, ())
    assert running_daemon(path) is None


REFUSED = """
import os, sys, time
from pathlib import Path
from redlane.daemon.lifecycle import Outcome, detach

ended = Path(sys.argv[1])

def work(report):
    report(Outcome(os.getpid(), errors=("no",)))
    time.sleep(0.5)  # what is still held by then is let go of late
    ended.touch()
    return 2

print(detach(work).errors, ended.exists())
"""


def test_start_that_is_refused_ends_after_its_daemon(tmp_path: Path) -> None:
    words = [sys.executable, "-c", REFUSED, tmp_path / "ended"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert said == "('no',) True\n"


def test_restart_that_would_be_refused_leaves_the_daemon_alone(home: Home) -> None:
    home.start("--role", "guard")
    pid = peer_pid(home.control.socket)
    home.write("policies/broken.json", "{")
    ran = home.run("restart")
    assert ran.code == 2
    assert "broken.json" in ran.err
    assert "nothing was restarted" in ran.err
    assert home.run("restart", "--role", "nobody").code == 2
    assert peer_pid(home.control.socket) == pid
    assert home.control.analyze("ls")["verdict"] == "ALLOW"


def test_start_that_is_refused_does_not_count_as_how_it_was_started(home: Home) -> None:
    home.start("--role", "guard")
    home.run("stop")
    assert home.run("start", "--role", "nobody").code == 2
    assert home.run("restart").code == 0
    assert home.control.get("/api/status").json["default_role"] == "guard"
