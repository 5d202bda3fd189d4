"""What a kernel holds of a session's boundary, and roles that want all of it."""

from pathlib import Path

import pytest

from redlane.engine.own_files import OwnFiles
from redlane.errors import UsageError
from redlane.model.policy import Role
from redlane.policies.loaded import Loaded
from redlane.policies.ruleset import RuleSet
from redlane.policies.settings import Settings
from redlane.sessions.held_calls import HeldCalls
from redlane.state import boundary
from redlane.state.boundary import landlock_version, not_held
from redlane.state.filters import why_not_held
from redlane.state.sessions import Session, SessionTable

ROLES = (Role("whole", (), wants_whole_boundary=True), Role("any", ()))
RULES = RuleSet((), ROLES, {}, "")
BEFORE_SCOPES, WITH_SCOPES = 5, 6


@pytest.mark.parametrize(
    ("version", "is_whole"), [(0, False), (2, False), (5, False), (6, True), (9, True)]
)
def test_landlock_keeps_signals_inside_from_its_sixth_version(
    version: int, *, is_whole: bool
) -> None:
    assert (not not_held(version)) is is_whole


def test_version_is_told_by_the_kernel() -> None:
    assert landlock_version() in range(100)


@pytest.mark.parametrize(
    ("role", "version", "starts"),
    [
        ("whole", BEFORE_SCOPES, False),
        ("whole", WITH_SCOPES, True),
        ("any", BEFORE_SCOPES, True),
    ],
)
def test_role_that_wants_the_whole_boundary_starts_nothing_where_the_kernel_lacks_some(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    role: str,
    version: int,
    *,
    starts: bool,
) -> None:
    monkeypatch.setattr(boundary, "landlock_version", lambda: version)
    table = SessionTable(tmp_path / "sessions.json")
    held = HeldCalls(table, lambda: Loaded(RULES, Settings(), ()), OwnFiles())
    why = ""
    try:
        held.check_opening(role, (), holds=True)
    except UsageError as error:
        why = str(error)

    running = Session("s", role, root_pid=7, concealed=())
    assert ("abstract sockets outside: Linux 6.12 does" in why) is not starts
    assert bool(why_not_held(running, RULES)) is not starts


def test_role_that_wants_the_whole_boundary_is_for_sessions_of_run_alone(
    tmp_path: Path,
) -> None:
    table = SessionTable(tmp_path / "sessions.json")
    held = HeldCalls(table, lambda: Loaded(RULES, Settings(), ()), OwnFiles())

    with pytest.raises(UsageError, match="only `redlane run`, without"):
        held.check_opening("whole", (), holds=False)
    assert held.needs_session("whole")
    assert not held.needs_session("any")
