"""Fixtures of the system tests: a home with a role, and a daemon in it."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from spec.redlane_home import Home
from system.filtered_runner import program, runner  # noqa: F401  # fixtures
from system.process_tree import Actor, actor
from system.whole_machine import (
    ADMIN,
    ALICE,
    BOB,
    NAMELESS,
    Machine,
    Person,
    machine,
    starter,
)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with the roles `guard` and `other`; its daemon is stopped in the end."""
    made = Home(tmp_path_factory.mktemp("h"))
    made.policies(
        {"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm -rf"},
        {"id": "ask", "type": "Simple", "action": "Flag", "pattern": "please"},
        {
            "id": "sober",
            "type": "Simple",
            "action": "Modify",
            "pattern": "beer",
            "transform": {"type": "Regex", "pattern": "beer", "replacement": "tea"},
        },
    )
    made.role("guard", "no-rm", "ask", "sober")
    made.role("other", "no-rm")
    yield made
    made.stop()


@pytest.fixture
def daemon(home: Home) -> Home:
    """The home with a running daemon, role `guard`."""
    home.start("--role", "guard")
    return home


@pytest.fixture
def supervisor() -> Iterator[Actor]:
    """A process that is what the supervisor of a session is."""
    with actor() as made:
        made.ask("reap")
        made.ask("name", "redlane-run")
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A daemon for all tests of a module: role `guard`, and two that are other.

    Only `redlane run` starts sessions of role `kernel`, which names a system call.
    """
    home = Home(tmp_path_factory.mktemp("h"))
    home.policies(
        {"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm -rf"},
        {"id": "ask", "type": "Simple", "action": "Flag", "pattern": "please"},
        {
            "id": "sober",
            "type": "Simple",
            "action": "Modify",
            "pattern": "beer",
            "transform": {"type": "Regex", "pattern": "beer", "replacement": "tea"},
        },
        {"id": "files", "type": "McpTool", "action": "Block", "server": "files"},
        {
            "id": "unlink",
            "type": "Simple",
            "action": "Block",
            "context": "Syscall",
            "syscall": "unlink",
            "pattern": "",
        },
    )
    home.role("guard", "no-rm", "ask", "sober", "files")
    home.role("kernel", "no-rm", "unlink")
    home.role("other", "no-rm")
    home.start("--role", "guard")
    yield home
    home.stop()


@pytest.fixture(scope="module")
def whole() -> Iterator[Machine]:
    """A machine with its daemon and users, for all tests of a module."""
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: the machine's daemon needs root, to be several users")
    with (
        tempfile.TemporaryDirectory(prefix="redlane-machine-") as base,
        machine(Path(base)) as made,
    ):
        if made.run(ALICE, "-c", "import redlane", program=sys.executable).code:
            pytest.skip("NOT TESTED: other users cannot read this working copy")
        starter(made)
        made.start()
        yield made


@pytest.fixture(scope="module")
def people(whole: Machine) -> Iterator[dict[str, Person]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(whole.actor(user))
            for name, user in {
                "alice": ALICE,
                "bob": BOB,
                "admin": ADMIN,
                "nameless": NAMELESS,
            }.items()
        }


@pytest.fixture
def alice(people: dict[str, Person]) -> Person:
    return people["alice"]


@pytest.fixture
def bob(people: dict[str, Person]) -> Person:
    return people["bob"]


@pytest.fixture
def admin(people: dict[str, Person]) -> Person:
    return people["admin"]


@pytest.fixture
def agent(whole: Machine) -> Iterator[Person]:
    """A supervisor of alice's, not yet the root of a session."""
    with whole.actor(ALICE) as made:
        made.ask("reap")
        made.ask("name", "redlane-run")
        yield made
