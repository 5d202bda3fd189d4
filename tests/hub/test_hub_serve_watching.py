"""What the hub tells who watches it: its log and its metrics."""

import contextlib
import http.client
import json
import re
import resource
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_process import HubProcess
from hub_serving import SECONDS, health


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    process = HubProcess(tmp_path)
    yield process
    process.stop(signal.SIGKILL)


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


def register(hub: HubProcess, email: str) -> tuple[int, object]:
    connection = http.client.HTTPConnection(hub.host, hub.port, timeout=SECONDS)
    body = json.dumps({"email": email, "password": "correct horse"})
    headers = {"Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/v1/register", body, headers)
        answer = connection.getresponse()
        told = answer.read()
        is_json = answer.headers.get_content_subtype() == "json"
        return answer.status, json.loads(told) if is_json else told
    finally:
        connection.close()


FAILED = (500, {"error": "internal server error"})


def test_locked_database_turns_away_who_writes_and_nobody_else(hub: HubProcess) -> None:
    hub.start()
    with contextlib.closing(sqlite3.connect(hub.database)) as database:
        database.execute("BEGIN IMMEDIATE")
        assert register(hub, "ada@example.org")[0] == 429
        assert health(hub) == 200
        database.rollback()
    assert register(hub, "ada@example.org")[0] == 201


def test_full_disk_fails_who_writes_and_nobody_else(hub: HubProcess) -> None:
    hub.start()
    assert register(hub, "ada@example.org")[0] == 201
    limits = resource.prlimit(hub.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(hub.pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
    assert register(hub, "bob@example.org") == FAILED
    assert health(hub) == 200
    resource.prlimit(hub.pid, resource.RLIMIT_FSIZE, limits)
    assert register(hub, "bob@example.org")[0] == 201


def test_metrics_are_of_all_processes_and_of_this_machine(hub: HubProcess) -> None:
    hub.start("--workers", "2", "--metrics-listen", "127.0.0.1:0")
    for _ in range(20):
        assert health(hub) == 200
    text = fetch(hub.metrics_port, "/metrics")
    counted = re.search(
        r'_requests_total\{operation="GET /health",status="2xx"\} (\d+)', text
    )
    assert counted is not None
    assert counted[1] == "20"
    assert "redlane_hub_workers 2" in text
    assert "redlane_hub_mail_queue_length 0" in text
    assert int(float(re.findall(r"_database_bytes (\d+)", text)[0])) > 0
    assert 'request_seconds_bucket{operation="GET /health",le="+Inf"} 20' in text
    assert "look at /metrics" in fetch(hub.metrics_port, "/health")
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
