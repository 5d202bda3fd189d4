"""The real process: how it starts, what it refuses, and how it ends."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_process import HUB, HubProcess, hub_environment
from hub_serving import HEALTH, SECONDS, connect, health, run, until
from hub_web import read_all, statuses

HALF_BODY = (
    b"POST /api/v1/login HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n"
    b"Content-Length: 30\r\n\r\n{"
)
REST = b'"email": "a@b.c",' + b" " * 12


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    process = HubProcess(tmp_path)
    yield process
    process.stop(signal.SIGKILL)


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(each) for each in path.read_text().split()]


def lives(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return " Z " not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:4]
    return False


@pytest.mark.parametrize(
    ("number", "workers"),
    [(signal.SIGTERM, "1"), (signal.SIGINT, "1"), (signal.SIGTERM, "2")],
)
def test_signal_ends_it_when_what_is_under_way_is_answered(
    hub: HubProcess, number: int, workers: str
) -> None:
    hub.start("--workers", workers)
    assert health(hub) == 200
    with connect(hub) as idle, connect(hub) as busy:
        busy.sendall(HALF_BODY)
        until(lambda: taken(hub))
        os.kill(hub.pid, number)
        assert idle.recv(1) == b""
        busy.sendall(REST)
        answer = read_all(busy)
    assert statuses(answer) == [400]
    # Of two processes, the other may be told to end a moment later: it hangs up then.
    assert workers == "2" or b"Connection: close" in answer
    assert hub.stop(0) == 0


def taken(hub: HubProcess) -> bool:
    """Whether everything sent to the hub was read by it."""
    port = f"{hub.port:04X}"
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    own = [row.split() for row in rows if row.split()[1].endswith(f":{port}")]
    waiting = [row[4].split(":")[1] for row in own]
    return all(int(each, 16) == 0 for each in waiting)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_second_signal_ends_it_at_once(hub: HubProcess, workers: str) -> None:
    hub.start("--workers", workers)
    began = time.monotonic()
    with connect(hub) as busy:
        busy.sendall(HALF_BODY)
        until(lambda: taken(hub))
        os.kill(hub.pid, signal.SIGTERM)
        until(lambda: refuses(hub))
        assert hub.stop(signal.SIGTERM) == 1
    assert time.monotonic() - began < 10


def refuses(hub: HubProcess) -> bool:
    try:
        connect(hub).close()
    except ConnectionError:
        return True
    # The master of several processes keeps the socket until they have ended.
    return '"A worker stops."' in hub.errors or "A worker stops" in hub.errors


UNUSABLE = {
    "no port": ("--listen", "127.0.0.1"),
    "no directory": ("--database", "nowhere/hub.db", "--listen", "127.0.0.1:0"),
    "no database": ("--database", "text", "--listen", "127.0.0.1:0"),
    "public metrics": ("--metrics-listen", "0.0.0.0:0", "--listen", "127.0.0.1:0"),
    "no workers": ("--workers", "0"),
}


@pytest.mark.parametrize("arguments", UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_work_is_one_line(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "text").write_text("this is no database, and long enough to tell" * 9)
    done = run(tmp_path, *arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("redlane-hub: ")
    assert done.stderr.count("\n") == 1


def test_port_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = f"127.0.0.1:{other.getsockname()[1]}"
        done = run(tmp_path, "--listen", listen)
    assert done.returncode == 1
    assert done.stderr == (
        f"redlane-hub: cannot listen on {listen}: Address already in use\n"
    )


def test_wrong_usage_is_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "--port", "80")
    assert done.returncode == 2
    assert done.stderr.startswith("redlane-hub: ")
    assert done.stderr.count("\n") == 1


def test_worker_that_dies_is_replaced(hub: HubProcess) -> None:
    hub.start("--workers", "2")
    before = children(hub.pid)
    assert len(before) == 2
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    until(lambda: len(set(children(hub.pid)) - set(before)) == 2)
    assert health(hub) == 200
    assert '"exit_code": -9' in hub.errors
    assert hub.stop() == 0


def test_no_worker_outlives_its_master(hub: HubProcess) -> None:
    hub.start("--workers", "2")
    workers = children(hub.pid)
    hub.stop(signal.SIGKILL)
    until(lambda: not any(map(lives, workers)))


def test_secret_that_others_can_read_ends_it_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "hub.db.secret").write_text("x" * 40)
    (tmp_path / "hub.db.secret").chmod(0o644)
    done = run(tmp_path, "--database", "hub.db", "--workers", "2")
    assert done.returncode == 1
    assert done.stderr.startswith("redlane-hub: ")
    assert done.stderr.count("\n") == 1


def test_it_serves_although_nobody_reads_where(tmp_path: Path) -> None:
    path = tmp_path / "hub.sock"
    listen = f"unix:{path}"
    read, write = os.pipe()
    os.close(read)
    command = [HUB, "serve", "--listen", listen, "--database", tmp_path / "hub.db"]
    with subprocess.Popen(command, stdout=write, env=hub_environment({})) as process:
        os.close(write)
        until(lambda: answers(path))
        process.terminate()
        assert process.wait(SECONDS) == 0


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        if connection.connect_ex(str(path)):
            return False
        connection.sendall(HEALTH)
        return statuses(read_all(connection)) == [200]


def test_it_serves_on_when_descriptors_are_short(hub: HubProcess) -> None:
    hub.start()
    limit = 30 + len(os.listdir(f"/proc/{hub.pid}/fd"))  # noqa: PTH208  # numbers, not paths
    resource.prlimit(hub.pid, resource.RLIMIT_NOFILE, (limit, limit))
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(connect(hub)).sendall(b"GET /")
        for _ in range(5):
            assert health(hub) == 200
