"""What a child finds around it, and what happens when a process is in trouble."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from core.children import in_another_process, run

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def described() -> dict[str, object]:
    """What a child finds itself to be."""
    program = """
import json, os, resource, sys
sys.stdin.read()  # which comes once all is as it is to be
print(json.dumps({
    "environment": dict(os.environ),
    "directory": os.getcwd(),
    "descriptors": sorted(os.listdir("/proc/self/fd"), key=int),
    "leads": os.getpid() == os.getpgrp() == os.getsid(0),
    "core": resource.getrlimit(resource.RLIMIT_CORE),
    "errors": os.readlink("/proc/self/fd/2"),
}))
"""
    ending = run("python3", "-I", "-S", "-c", program)
    described: dict[str, object] = json.loads(ending.output)
    return described


def test_child_gets_a_fixed_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LD_PRELOAD", "HOME", "PATH", "LANG", "BASH_ENV", "REDLANE_SESSION"):
        monkeypatch.setenv(name, "/nowhere")
    environment = described()["environment"]
    assert isinstance(environment, dict)
    home = environment.pop("HOME")
    assert home != "/nowhere"
    assert Path(home).is_absolute()
    assert environment == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }


def test_child_is_a_leader_in_the_root_directory_and_dumps_no_core() -> None:
    child = described()
    assert child["leads"]
    assert child["directory"] == "/"
    assert child["core"] == [0, 0]
    assert child["errors"] == "/dev/null"


def test_child_inherits_no_descriptor() -> None:
    null = os.open("/dev/null", os.O_RDONLY)
    limit = min(3000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
    opened = [os.dup(null) for _ in range(limit)]
    try:
        for descriptor in opened:
            os.set_inheritable(descriptor, True)  # noqa: FBT003
        # 3 is the listing's own.
        assert described()["descriptors"] == ["0", "1", "2", "3"]
    finally:
        for descriptor in [null, *opened]:
            os.close(descriptor)


def test_child_has_no_signal_blocked_and_dies_by_sigpipe() -> None:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
    try:
        told = run("grep", "^Sig[BI]", "/proc/self/status").output.decode()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    masks = dict(line.split(":\t") for line in told.splitlines())
    assert int(masks["SigBlk"], 16) == 0
    assert not int(masks["SigIgn"], 16) & 1 << (signal.SIGPIPE - 1)
    assert blocked >= {signal.SIGTERM, signal.SIGUSR1}


def test_ignored_children_cannot_be_taken_for_a_match() -> None:
    setup = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    (told,) = in_another_process(setup, ("false",))
    assert told.startswith("not started")
    assert "SIGCHLD" in told


def test_exit_status_that_somebody_else_took_is_not_taken_for_a_match() -> None:
    setup = """
import threading
def reap():
    while True:
        try:
            os.wait()
        except ChildProcessError:
            pass
threading.Thread(target=reap, daemon=True).start()
"""
    told = in_another_process(setup, ("false",), count=50)
    assert len(told) == 50
    assert "exited: exited with status 0" not in told


def test_too_many_processes_is_a_failure() -> None:
    setup = """
if os.getuid() == 0:
    os.setuid(54321)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
"""
    (told,) = in_another_process(setup, ("true",))
    assert told == "not started: could not be started: Resource temporarily unavailable"


@pytest.mark.root
def test_child_of_another_user_is_waited_for_in_the_background() -> None:
    """Not even SIGKILL reaches it, yet the answer comes and no zombie stays."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to make a program that changes its user")
    with tempfile.TemporaryDirectory() as place:
        if os.statvfs(place).f_flag & os.ST_NOSUID:
            pytest.skip(f"{place} does not let programs change their user")
        Path(place).chmod(0o755)
        changer = Path(shutil.copy("/usr/bin/setpriv", place))
        changer.chmod(0o4755)
        words = (str(changer), "--reuid=0", "--clear-groups", "sleep", "2")
        start = time.monotonic()
        told = in_another_process("os.setuid(54321)", words, seconds=0.3, wait=True)
    assert told == ["timed out: did not exit within 0.3 seconds", "no child is left"]
    assert time.monotonic() - start > 2


@pytest.mark.parametrize("limit", [3, 4, 5, 6, 7, 8, 9, 12, 20])
def test_too_few_descriptors_is_a_failure(limit: int) -> None:
    setup = f"resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))"
    told = in_another_process(setup, ("true",), count=3)
    assert len(told) == 3
    for each in told:
        assert each.startswith(("exited: exited with status 0", "not started"))
    assert "Too many open files" in " ".join(told) or limit > 8


def test_closed_standard_streams_are_no_hindrance() -> None:
    setup = "report = os.dup(1); os.close(0); os.close(1); os.close(2)"
    program = f"""
import os
from redlane.execution import Command, run_all
{setup}
command = Command(("cat",), b"abc" * 100_000, keeps_output=True)
endings = run_all([command, command], seconds=20)
os.write(report, b"%d %d" % tuple(len(each.output) for each in endings))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True
    )
    assert done.stdout == b"300000 300000"


def test_package_is_light_until_a_program_runs() -> None:
    program = "import redlane.execution, sys; print('subprocess' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
