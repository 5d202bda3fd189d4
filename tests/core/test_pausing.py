"""A session is frozen as long as something of it is held, and no longer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redlane.errors import RedlaneError
from redlane.membership.trees import continue_tree, stop_tree
from redlane.model.policy import Role
from redlane.policies.ruleset import RuleSet
from redlane.sessions.pausing import Pausing
from redlane.state.review import Review
from redlane.state.reviews import Reviews
from redlane.state.sessions import SessionTable

FREEZING = RuleSet([], [Role("r", (), freeze_on_flag=True)], {}, "")


class Processes:
    """What is done to the processes of a session, and what happens then."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.then: Callable[[], object] = lambda: None

    def signal(self, _session: str, how: Any, _by: int | None = None) -> bool:
        self.done.append(how)
        self.then()
        return True


class Held:
    """A session of which something is held."""

    def __init__(self, file: Path) -> None:
        self.table = SessionTable(file)
        self.session = self.table.create(role="r").id
        self.processes = Processes()
        self.pausing = Pausing(self.table, self.processes, lambda: FREEZING)  # type: ignore[arg-type]  # what is used of it

    def review(self, role: str = "r") -> Review:
        return Reviews().park(b"x", self.session, "f", "", 20, role=role)

    @property
    def frozen(self) -> bool:
        session = self.table.get(self.session)
        return session is not None and session.frozen


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(tmp_path / "sessions.json")


def test_it_is_frozen_until_the_last_is_decided(held: Held) -> None:
    with held.pausing.until_decided(held.review()):
        with held.pausing.until_decided(held.review()):
            assert held.frozen
        assert held.frozen
    assert not held.frozen
    assert held.processes.done == [stop_tree, continue_tree]


def test_other_roles_freeze_nothing(held: Held) -> None:
    with held.pausing.until_decided(held.review(role="other")):
        assert not held.frozen
    assert held.processes.done == []


def test_failure_to_stop_processes_does_not_freeze_for_ever(held: Held) -> None:
    def fail() -> None:
        raise RedlaneError("/proc cannot be read")

    held.processes.then = fail
    with held.pausing.until_decided(held.review()):
        assert held.frozen
    assert not held.frozen


def test_person_who_freezes_meanwhile_is_obeyed(held: Held) -> None:
    with held.pausing.until_decided(held.review()):
        held.table.freeze(held.session)
    assert held.frozen
    assert held.processes.done == [stop_tree]


def test_person_who_freezes_while_it_goes_on_is_obeyed(held: Held) -> None:
    with held.pausing.until_decided(held.review()):
        held.processes.then = lambda: held.table.freeze(held.session)
    assert held.frozen
    assert held.processes.done == [stop_tree, continue_tree, stop_tree]


def test_what_a_person_has_frozen_before_stays_so(held: Held) -> None:
    held.table.freeze(held.session)
    with held.pausing.until_decided(held.review()):
        pass
    assert held.frozen
    assert held.processes.done == []


def test_session_that_ends_meanwhile_is_not_continued(held: Held) -> None:
    with held.pausing.until_decided(held.review()):
        held.table.end(held.session)
    assert held.processes.done == [stop_tree]


def test_next_daemon_lets_go_on_what_was_frozen_for_what_it_does_not_hold(
    held: Held, tmp_path: Path
) -> None:
    held.table.pause(held.session)
    next_one = Held(tmp_path / "sessions.json")
    next_one.session = held.session
    assert next_one.frozen
    next_one.pausing.resume_all()
    assert not next_one.frozen
