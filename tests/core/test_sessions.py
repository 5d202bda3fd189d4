"""The session table, and what of it outlives a kill."""

import json
import stat
import threading
from pathlib import Path

import pytest

from redlane.errors import UsageError
from redlane.state.sessions import (
    DEFAULT_SESSION,
    MOST_ENDED,
    SessionState,
    SessionTable,
)


def table(tmp_path: Path, role: str | None = "r") -> SessionTable:
    return SessionTable(tmp_path / "run" / "sessions.json", default_role=role)


def test_default_session_is_always_there(tmp_path: Path) -> None:
    found = table(tmp_path).get(DEFAULT_SESSION)
    assert found is not None
    assert (found.role, found.frozen, found.state) == ("r", False, SessionState.RUNNING)


def test_new_session_has_the_default_role_unless_told(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    assert sessions.create().role == "r"
    assert sessions.create(role="other").role == "other"
    assert [each.role for each in sessions.list()] == ["r", "r", "other"]


def test_session_ids_are_unlike(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    ids = {sessions.create().id for _ in range(20)}
    assert len(ids) == 20
    assert all(len(each) >= 16 and each.isalnum() for each in ids)


def test_killed_daemon_knows_its_sessions_again(tmp_path: Path) -> None:
    before = table(tmp_path)
    made = before.create(label="agent", root=(7, 99))
    before.set_role(DEFAULT_SESSION, "strict")
    before.freeze(made.id)
    after = table(tmp_path, role="loose")
    assert after.problem is None
    assert after.get(made.id) == before.get(made.id)
    default = after.get(DEFAULT_SESSION)
    assert default is not None
    assert default.role == "strict"
    assert after.create().role == "loose"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"sessions": 1}',
        b'{"sessions": [{"id": "default"}]}',
        b'{"sessions": [{"id": 1}]}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
    ids=["empty", "torn", "list", "number", "half", "no-id", "bytes", "deep"],
)
def test_garbage_gives_no_sessions_and_says_so(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "run" / "sessions.json"
    file.parent.mkdir()
    file.write_bytes(text)
    sessions = table(tmp_path)
    assert [each.id for each in sessions.list()] == [DEFAULT_SESSION]
    assert sessions.problem is not None
    assert str(file) in sessions.problem


def test_every_torn_file_gives_no_sessions(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    sessions.create(label="agent")
    file = tmp_path / "run" / "sessions.json"
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert len(table(tmp_path).list()) == 1


def test_table_that_is_a_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "run" / "sessions.json").mkdir(parents=True)
    assert table(tmp_path).problem is not None


def test_file_is_private_and_replaced_whole(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    sessions.create()
    file = tmp_path / "run" / "sessions.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    assert len(json.loads(file.read_text())["sessions"]) == 2


def test_freeze_and_unfreeze(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    assert sessions.freeze(DEFAULT_SESSION).frozen
    assert not sessions.unfreeze(DEFAULT_SESSION).frozen


def test_ended_session_stays_ended(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    made = sessions.create()
    assert sessions.end(made.id).state is SessionState.ENDED
    assert sessions.end(made.id).state is SessionState.ENDED
    with pytest.raises(UsageError, match="has ended"):
        sessions.set_role(made.id, "r")


def test_default_session_cannot_be_ended(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        table(tmp_path).end(DEFAULT_SESSION)


def test_unknown_session_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no session 'x'"):
        table(tmp_path).freeze("x")


def test_ended_sessions_are_forgotten_in_the_end(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    kept = sessions.create()
    for _ in range(MOST_ENDED + 5):
        sessions.end(sessions.create().id)
    assert len(sessions.list()) == MOST_ENDED + 2
    assert sessions.get(kept.id) is not None


def test_change_counts_even_if_it_cannot_be_written(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    sessions.create()
    file = tmp_path / "run" / "sessions.json"
    file.unlink()
    file.mkdir()
    (file / "in-the-way").touch()
    assert sessions.freeze(DEFAULT_SESSION).frozen
    frozen = sessions.get(DEFAULT_SESSION)
    assert frozen is not None
    assert frozen.frozen
    assert "sessions.json" in str(sessions.unsaved)


def test_threads_lose_no_session(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    threads = [
        threading.Thread(target=lambda: [sessions.create() for _ in range(10)])
        for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(sessions.list()) == 41
    assert len(table(tmp_path).list()) == 41


def test_ended_session_stays_while_something_of_it_may_still_run(
    tmp_path: Path,
) -> None:
    sessions = table(tmp_path)
    lost = sessions.create()
    sessions.keep(lost.id)
    for _ in range(MOST_ENDED + 3):
        sessions.end(sessions.create().id)

    sessions.end(lost.id)
    for _ in range(MOST_ENDED + 3):
        sessions.end(sessions.create().id)
    assert sessions.get(lost.id) is not None

    sessions.let_go(lost.id)
    for _ in range(MOST_ENDED):
        sessions.end(sessions.create().id)
    assert sessions.get(lost.id) is None


def test_no_more_of_those_stay_than_of_others(tmp_path: Path) -> None:
    sessions = table(tmp_path)
    lost = [sessions.create().id for _ in range(MOST_ENDED + 1)]
    for each in lost:
        sessions.keep(each)
        sessions.end(each)

    assert sessions.get(lost[0]) is None
    assert all(sessions.get(each) is not None for each in lost[1:])
