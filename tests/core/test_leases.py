"""For how long it is known that commands pass."""

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from redlane.contexts.shell.content import ShellContent
from redlane.judging.leases import Leases


def lasts(lease: socket.socket | None) -> bool:
    assert lease is not None
    return not select.select([lease], [], [], 0)[0]


@pytest.fixture
def leases() -> Iterator[Leases]:
    made = Leases()
    yield made
    made.revoke_all()


def test_lease_lasts_until_it_is_revoked(leases: Leases) -> None:
    with ExitStack() as stack:
        granted = [leases.grant(each) for each in ("a", "a", "b")]
        for each in filter(None, granted):
            stack.enter_context(each)
        before = [lasts(each) for each in granted]
        leases.revoke("a")
        after = [lasts(each) for each in granted]
        leases.revoke_all()
        assert (before, after) == ([True] * 3, [False, False, True])
        assert not lasts(granted[2])


def test_what_is_granted_afterwards_is_another(leases: Leases) -> None:
    leases.revoke("a")
    lease = leases.grant("a")
    assert lasts(lease)
    assert lease is not None
    lease.close()


@pytest.mark.parametrize(
    ("command", "rests"),
    [
        ("git status", True),
        ("/bin/cat file", True),
        ("/bin/cat 'a file'", True),
        ("/bin/cat\ncalled file", True),
        ("/bin/cat 'a\nb'", False),
        ("./tool", False),
        ("/nowhere/tool", False),
        ("/bin/sh script", False),
        ("python3 script", False),
        ("perl missing", False),
        ("xargs -a script echo", False),
    ],
)
def test_what_rests_on_the_text_alone(
    tmp_path: Path, command: str, *, rests: bool
) -> None:
    (tmp_path / "script").write_text("true")
    (tmp_path / "tool").write_text("#!/bin/sh\ntrue")
    content = ShellContent(command.encode(), cwd=str(tmp_path))
    assert content.rests_on_text is rests
