"""Who asks about another process's command: nobody but who is in its session."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from core.children import open_descriptors
from spec.redlane_home import Home

from redlane.control.app import shell_service
from redlane.daemon.container import Container, build
from redlane.daemon.options import Options
from redlane.daemon.rules import Rules
from redlane.membership.authentication import Authenticator
from redlane.membership.callers import Caller, Who
from redlane.membership.peers import Peer
from redlane.membership.resolver import Membership, MembershipState
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load
from redlane.state.history import Filter
from redlane.state.owners import DEFAULT_SESSION
from redlane.wire.shell_frames import ShellFrame

OUTSIDE = (Who.ADMINISTRATOR, Who.USER)
ALLOW, BLOCK = b"ALLOW\n", b"BLOCK "


@dataclass(frozen=True)
class Known(Authenticator):
    """Whoever asks is this, in the session that there is, and all others in another."""

    who: Who
    other: str | None

    def caller(self, peer: object) -> Caller:
        assert isinstance(peer, Peer)
        session = DEFAULT_SESSION if peer.pid == os.getpid() else self.other
        membership = Membership(MembershipState.MEMBER, session)
        if self.who in OUTSIDE:
            membership = Membership(MembershipState.OUTSIDE)
        return Caller(peer.pid, peer.uid, self.who, membership)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    home = Home(tmp_path_factory.mktemp("h"))
    home.policies(
        {"id": "no", "type": "Simple", "action": "Block", "pattern": "evil"},
        {"id": "hold", "type": "Simple", "action": "Flag", "pattern": "held"},
        {
            "id": "another",
            "type": "Regex",
            "action": "Modify",
            "pattern": "other",
            "transform": {"type": "Regex", "pattern": "other", "replacement": "that"},
        },
    )
    home.role("guard", "no", "hold", "another")
    paths = Paths.from_environment(home.env)
    paths.run.mkdir(mode=0o700)

    def loader() -> Any:
        return load(paths, find_plugins())

    rules = Rules(loader, loader())
    made = build(paths, Options("guard"), rules, {}, booted_since=False)
    yield made
    made.close()


@pytest.fixture
def child() -> Iterator[int]:
    pid = os.fork()
    if not pid:
        signal.pause()
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def gone() -> int:
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def answer(
    parts: Container,
    who: Who,
    body: bytes,
    other: str | None = DEFAULT_SESSION,
    **frame: Any,
) -> bytes:
    me = Peer(os.getpid(), os.geteuid(), os.pidfd_open(os.getpid()))
    try:
        service = shell_service(replace(parts, authenticator=Known(who, other)))
        question = ShellFrame(b"/", b"", body, **frame)
        said = service.answer(question, me, lambda _: None)
        if said.lease is not None:
            said.lease.close()
        return said.data
    finally:
        me.close()


def events(parts: Container) -> list[tuple[str, int | None]]:
    found = parts.events.read(Filter(), 1000)
    return [(each.verdict, each.pid) for each in found]


def test_supervisor_asks_about_another_process(parts: Container, child: int) -> None:
    """What is written down names that one."""
    assert answer(parts, Who.SUPERVISOR, b"ls", process=child) == ALLOW
    assert answer(parts, Who.SUPERVISOR, b"echo evil", process=child).startswith(BLOCK)

    assert {pid for _, pid in events(parts)[-2:]} == {child}


def test_command_that_goes_on_as_it_is_is_written_down(
    parts: Container, child: int
) -> None:
    before = events(parts)

    said = answer(parts, Who.SUPERVISOR, b"ls", process=child, as_it_is=True)

    assert said == ALLOW
    assert events(parts)[len(before) :] == [("ALLOW", child)]


@pytest.mark.parametrize("body", [b"echo evil", b"echo held", b"echo other"])
def test_command_that_does_not_is_to_be_asked_about_once_more(
    parts: Container, child: int, body: bytes
) -> None:
    """It is written down then, and a person is asked then."""
    before, waiting = events(parts), parts.reviews.list()

    said = answer(parts, Who.SUPERVISOR, body, process=child, as_it_is=True)

    assert said == b"ASK\n"
    assert events(parts) == before
    assert parts.reviews.list() == waiting


REFUSED = {
    **{f"{who}, of its own session": (who, DEFAULT_SESSION) for who in OUTSIDE},
    "unknown, of its own session": (Who.UNKNOWN, DEFAULT_SESSION),
    **{f"{who}, of another": (who, "x") for who in (Who.MEMBER, Who.LOST)},
    **{f"{who}, of none": (who, None) for who in (Who.MEMBER, Who.LOST)},
}


@pytest.mark.parametrize("is_preview", [False, True], ids=["question", "preview"])
@pytest.mark.parametrize(("who", "other"), REFUSED.values(), ids=REFUSED)
def test_nobody_asks_for_what_is_in_no_session_of_theirs(
    parts: Container, child: int, who: Who, other: str | None, is_preview: Any
) -> None:
    before = events(parts)

    said = answer(parts, who, b"ls", other, process=child, is_preview=is_preview)

    assert said.startswith(BLOCK)
    assert events(parts) == before


@pytest.mark.parametrize("who", [Who.ADMINISTRATOR, Who.SUPERVISOR, Who.MEMBER])
def test_without_another_process_they_ask_for_themselves(
    parts: Container, who: Who
) -> None:
    assert answer(parts, who, b"ls") == ALLOW
    assert events(parts)[-1] == ("ALLOW", os.getpid())


@pytest.mark.parametrize(
    "pid", [None, 2**31, 9999999999], ids=["gone", "long", "longest"]
)
def test_process_that_is_not_there_has_no_files(
    parts: Container, tmp_path: Path, pid: int | None
) -> None:
    """What it would run cannot be told."""
    script = tmp_path / "x.sh"
    script.write_text("echo fine\n")
    command = b"sh " + os.fsencode(script)

    said = answer(parts, Who.SUPERVISOR, command, process=pid or gone())

    assert said.startswith(BLOCK)


def test_descriptors_do_not_pile_up(parts: Container, child: int) -> None:
    before = open_descriptors()
    for _ in range(5):
        answer(parts, Who.SUPERVISOR, b"ls", process=child)
        answer(parts, Who.MEMBER, b"ls", process=child)
    assert open_descriptors() == before
