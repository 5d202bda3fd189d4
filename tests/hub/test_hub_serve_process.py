"""The real process: how it starts, what it refuses, and how it ends."""

import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hub_process import HUB, HubProcess, hub_environment
from hub_web import read_all, statuses

SECONDS = 20.0
HALF_BODY = (
    b"POST /api/v1/login HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n"
    b"Content-Length: 30\r\n\r\n{"
)
REST = b'"email": "a@b.c",' + b" " * 12
HEALTH = b"GET /health HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    process = HubProcess(tmp_path)
    yield process
    process.stop(signal.SIGKILL)


def connect(hub: HubProcess) -> socket.socket:
    return socket.create_connection((hub.host, hub.port), timeout=SECONDS)


def health(hub: HubProcess) -> int:
    with connect(hub) as connection:
        connection.sendall(HEALTH)
        return statuses(read_all(connection))[0]


def until(condition: Callable[[], bool]) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
    assert b"Connection: close" in answer
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


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HUB, "serve", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=hub_environment({}),
        timeout=SECONDS,
    )


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


def test_it_serves_although_nobody_reads_where(hub: HubProcess, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        hub.host, hub.port = free.getsockname()
    listen = f"{hub.host}:{hub.port}"
    read, write = os.pipe()
    os.close(read)
    command = [HUB, "serve", "--listen", listen, "--database", tmp_path / "hub.db"]
    with subprocess.Popen(command, stdout=write, env=hub_environment({})) as process:
        os.close(write)
        until(lambda: answers(hub))
        process.terminate()
        assert process.wait(SECONDS) == 0


def answers(hub: HubProcess) -> bool:
    try:
        return health(hub) == 200
    except ConnectionError:
        return False


def test_it_serves_on_when_descriptors_are_short(hub: HubProcess) -> None:
    hub.start()
    limit = 30 + len(os.listdir(f"/proc/{hub.pid}/fd"))  # noqa: PTH208  # numbers, not paths
    resource.prlimit(hub.pid, resource.RLIMIT_NOFILE, (limit, limit))
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(connect(hub)).sendall(b"GET /")
        for _ in range(5):
            assert health(hub) == 200


ACTIVATE = """
import os, sys
os.environ["LISTEN_PID"] = str(os.getpid())
os.environ["LISTEN_FDS"] = sys.argv[1]
for number in range(int(sys.argv[1])):
    os.dup2(int(sys.argv[2 + number]), 3 + number)
os.execv(sys.argv[4], sys.argv[4:])
"""


@pytest.fixture
def activated(tmp_path: Path) -> Iterator[tuple[str, Path, "subprocess.Popen[str]"]]:
    """A hub that is given two sockets, as systemd does it, and told where to notify."""
    path = tmp_path / "hub.sock"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        unix.bind(str(path))
        unix.listen()
        # High numbers, which taking their places cannot close.
        numbers = [fileno_from(each, 50) for each in (tcp, unix)]
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", ACTIVATE, "2", *map(str, numbers)),
                *(HUB, "serve", "--database", tmp_path / "hub.db"),
            ],
            pass_fds=numbers,
            env=hub_environment({}) | {"NOTIFY_SOCKET": f"{tmp_path}/notify"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in numbers:
            os.close(number)
        url = f"http://127.0.0.1:{tcp.getsockname()[1]}"
    with process:
        yield url, path, process
        process.kill()


def fileno_from(opened: socket.socket, least: int) -> int:
    import fcntl  # noqa: PLC0415  # for this alone

    return fcntl.fcntl(opened, fcntl.F_DUPFD, least)


def test_sockets_of_systemd_are_served(
    activated: tuple[str, Path, "subprocess.Popen[str]"],
) -> None:
    url, path, process = activated
    assert process.stdout is not None
    assert (
        process.stdout.readline() == f"redlane-hub: listening on {url}, unix:{path}\n"
    )
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        connection.sendall(HEALTH)
        assert statuses(read_all(connection)) == [200]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(HEALTH)
        assert statuses(read_all(connection)) == [200]
    process.terminate()
    assert process.wait(SECONDS) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_service_manager_is_told_how_it_is(
    hub: HubProcess, tmp_path: Path, workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "600000")
        hub.start("--workers", workers)
        pid = hub.pid
        told = [manager.recv(4096).decode()]
        while "READY=1" not in told[-1]:
            told.append(manager.recv(4096).decode())
        assert told[-1] == f"READY=1\nMAINPID={pid}"
        while "WATCHDOG=1" not in told:
            told.append(manager.recv(4096).decode())
        assert hub.stop() == 0
        while told[-1] != "STOPPING=1":
            told.append(manager.recv(4096).decode())


def test_unix_socket_is_served_and_a_dead_one_replaced(tmp_path: Path) -> None:
    path = tmp_path / "hub.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    process = subprocess.Popen(
        [HUB, "serve", "--listen", f"unix:{path}", "--database", tmp_path / "hub.db"],
        stdout=subprocess.PIPE,
        text=True,
        env=hub_environment({}),
    )
    with process:
        assert process.stdout is not None
        assert f"listening on unix:{path}" in process.stdout.readline()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.sendall(HEALTH)
            assert statuses(read_all(connection)) == [200]
        refused = run(tmp_path, "--listen", f"unix:{path}")
        assert refused.returncode == 1
        assert "in use" in refused.stderr
        process.terminate()
        assert process.wait(SECONDS) == 0


def test_log_is_json_lines_without_what_a_request_was_about(hub: HubProcess) -> None:
    hub.start("--log-level", "debug")
    connection = http.client.HTTPConnection(hub.host, hub.port, timeout=SECONDS)
    headers = {"Authorization": "Bearer s3cret", "Content-Type": "application/json"}
    body = json.dumps({"email": "ada@example.org", "password": "s3cret-s3cret"})
    connection.request("POST", "/api/v1/register?token=s3cret", body, headers)
    assert connection.getresponse().read()
    connection.request("GET", "/nowhere/s3cret?ada@example.org", headers=headers)
    assert connection.getresponse().read()
    connection.close()
    assert hub.stop() == 0
    lines = [json.loads(line) for line in hub.errors.splitlines()]
    assert all({"time", "level", "message"} <= line.keys() for line in lines)
    answered = [line for line in lines if line["message"] == "A request was answered."]
    assert [line["operation"] for line in answered] == [
        "POST /api/v1/register",
        "other",
    ]
    assert [line["status"] for line in answered] == [201, 404]
    for word in ("s3cret", "ada@", "127.0.0.1", "nowhere"):
        assert word not in hub.errors


def test_failure_is_logged_in_one_line_and_the_service_goes_on(hub: HubProcess) -> None:
    hub.start()
    with contextlib.closing(sqlite3.connect(hub.database)) as database:
        database.execute("ALTER TABLE totals RENAME TO elsewhere")
        database.execute("ALTER TABLE accounts RENAME TO nowhere")
    connection = http.client.HTTPConnection(hub.host, hub.port, timeout=SECONDS)
    connection.request("GET", "/api/v1/users/7d9f4f7a-6c3c-4a63-8a3f-1a2b3c4d5e6f")
    answer = connection.getresponse()
    assert answer.status == 500
    assert json.loads(answer.read()) == {"error": "internal server error"}
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()
    assert hub.stop() == 0
    failures = [line for line in hub.errors.splitlines() if '"error"' in line]
    assert "no such table" in json.loads(failures[0])["traceback"]


def test_metrics_are_of_all_processes_and_of_this_machine(hub: HubProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    hub.start("--workers", "2", "--metrics-listen", f"127.0.0.1:{port}")
    for _ in range(20):
        assert health(hub) == 200
    text = fetch(port, "/metrics")
    counted = re.search(
        r'_requests_total\{operation="GET /health",status="2xx"\} (\d+)', text
    )
    assert counted is not None
    assert counted[1] == "20"
    assert "redlane_hub_workers 2" in text
    assert "redlane_hub_mail_queue_length 0" in text
    assert int(float(re.findall(r"_database_bytes (\d+)", text)[0])) > 0
    assert 'request_seconds_bucket{operation="GET /health",le="+Inf"} 20' in text
    assert "look at /metrics" in fetch(port, "/health")
    connection = http.client.HTTPConnection(hub.host, hub.port, timeout=SECONDS)
    connection.request("GET", "/metrics")
    assert connection.getresponse().status == 404
    connection.close()


def fetch(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()
