"""Outside of a session nothing is held: each attempt goes through, and is undone.

An attempt that could not tell so would find every machine well.
"""

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from redlane.doctor.bystander import Bystander, bystander
from redlane.doctor.commands import command_canaries
from redlane.doctor.files import read_hidden, write_elsewhere, write_own_file
from redlane.doctor.findings import Finding, Result
from redlane.doctor.neighbours import neighbour_canaries
from redlane.doctor.network import connect_directly, request_http, request_https
from redlane.doctor.privileges import gain_privileges
from redlane.doctor.targets import Targets
from redlane.processes import read_process

Canary = Callable[[Targets], Finding]


@pytest.fixture
def aim() -> Iterator[Bystander]:
    with bystander() as made:
        yield made


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = str(tmp_path_factory.mktemp("service") / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        yield path


@pytest.fixture
def targets(aim: Bystander, tmp_path: Path, service: str) -> Targets:
    return Targets(
        token=aim.token,
        bystander=aim.pid,
        daemon=os.getpid(),
        abstract_socket=aim.abstract_socket,
        port=aim.port,
        shell_copy=str(aim.shell_copy),
        own_file=str(tmp_path / "own"),
        file_elsewhere=str(tmp_path / "elsewhere"),
        why_nothing="nothing is there",
        service=service,
        holds_connections=True,
        intercepting=True,
    )


def assert_open(found: Finding) -> None:
    assert found.result is Result.OPEN, found
    assert found.detail
    assert found.mend


@pytest.mark.parametrize("canary", list(command_canaries()))
def test_command_that_runs_is_open(canary: Canary, targets: Targets) -> None:
    assert_open(canary(targets))


@pytest.mark.parametrize("canary", list(neighbour_canaries()))
def test_process_that_can_be_reached_is_open(canary: Canary, targets: Targets) -> None:
    assert_open(canary(targets))
    assert read_process(targets.bystander) is not None


@pytest.mark.parametrize("canary", [write_own_file, write_elsewhere])
def test_file_that_can_be_made_is_open_and_gone(
    canary: Canary, targets: Targets, tmp_path: Path
) -> None:
    assert_open(canary(targets))
    assert not list(tmp_path.iterdir())


def test_hidden_file_that_can_be_read_is_open(targets: Targets, tmp_path: Path) -> None:
    assert_open(read_hidden(replace(targets, hidden=str(tmp_path))))
    found = read_hidden(targets)
    assert found.result is Result.NOT_TRIED


def test_connection_that_is_made_is_open_by_the_role(targets: Targets) -> None:
    found = connect_directly(targets)
    assert_open(found)
    assert not found.is_fault


@pytest.mark.parametrize("request_one", [request_http, request_https])
def test_request_without_a_proxy_is_never_held(
    request_one: Canary, targets: Targets
) -> None:
    assert request_one(targets).result is not Result.HELD


def test_machine_without_a_proxy_is_open(targets: Targets) -> None:
    bare = replace(targets, no_proxy="there is no proxy")
    for each in (request_http, request_https):
        assert_open(each(bare))


def test_https_that_is_not_intercepted_is_not_tried(targets: Targets) -> None:
    found = request_https(replace(targets, intercepting=False))
    assert (found.result, found.mend != "") == (Result.NOT_TRIED, True)


@pytest.mark.skipif(
    "NoNewPrivs:\t1" in Path("/proc/self/status").read_text(encoding="ascii"),
    reason="NOT TESTED: no program gains privileges here anyway",
)
def test_privileges_that_a_program_could_gain_are_open(targets: Targets) -> None:
    assert_open(gain_privileges(targets))


def test_nothing_is_left_of_the_bystander(nothing_is_left: None) -> None:
    del nothing_is_left
    with bystander() as made:
        assert made.shell_copy.is_file()
    assert not made.shell_copy.parent.exists()
    assert read_process(made.pid) is None
