"""Fixtures of the system tests: a home with a role, and a daemon in it."""

from collections.abc import Iterator

import pytest
from spec.redlane_home import Home
from system.process_tree import Actor, actor


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
    """A daemon for all tests of a module: role `guard`, and one that is `other`."""
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
    home.role("guard", "no-rm", "ask", "sober", "files", "unlink")
    home.role("other", "no-rm")
    home.start("--role", "guard")
    yield home
    home.stop()
