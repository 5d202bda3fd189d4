"""The event log: whole lines, an unbroken chain, and reading it back."""

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.errors import RedlaneError
from redlane.state.event import Event, encode, link_of
from redlane.state.events import EventLog, log_path
from redlane.state.history import Filter, History, broken_links


def event(number: int = 0, session: str = "s", **changes: str) -> Event:
    made = Event(
        id=f"e{number}",
        time=f"2026-01-01T00:00:{number:02}.000000Z",
        session=session,
        context="Shell",
        verdict="ALLOW",
        lane="GREEN",
        policy=None,
        reason="because",
        role="r",
        latency_ms=0.1,
        content="ls\n\u2028\x00🙂",
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # only texts are changed


def written(directory: Path, *events: Event) -> Path:
    log = EventLog(directory)
    for each in events:
        log.append(each)
    log.close()
    return directory / "s-events.jsonl"


def test_each_event_is_one_line_of_json(tmp_path: Path) -> None:
    file = written(tmp_path, event(0), event(1))
    lines = file.read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["e0", "e1"]
    assert lines[0].isascii()


def test_file_and_directory_are_private(tmp_path: Path) -> None:
    file = written(tmp_path / "logs", event())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_sessions_have_files_of_their_own(tmp_path: Path) -> None:
    written(tmp_path, event(0), event(1, "other"))
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["other-events.jsonl", "s-events.jsonl"]


@pytest.mark.parametrize("session", ["../x", "", "a/b", ".hidden", "x" * 65, "a\0b"])
def test_session_cannot_name_another_file(tmp_path: Path, session: str) -> None:
    with pytest.raises(RedlaneError, match="is no session id"):
        EventLog(tmp_path).append(event(session=session))


def test_chain_is_whole_over_restarts(tmp_path: Path) -> None:
    written(tmp_path, event(0), event(1))
    file = written(tmp_path, event(2))
    assert broken_links(file) == []


@pytest.mark.parametrize(
    "harm",
    [
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: [lines[0], lines[1].replace(b"because", b"BECAUSE"), lines[2]],
        lambda lines: lines[1:],
    ],
    ids=["removed", "swapped", "changed", "beginning cut"],
)
def test_harm_shows(tmp_path: Path, harm: object) -> None:
    file = written(tmp_path, event(0), event(1), event(2))
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(harm(lines)))  # type: ignore[operator]  # a table of lambdas
    assert broken_links(file)


def test_any_torn_last_line_is_closed_off(tmp_path: Path) -> None:
    file = written(tmp_path, event(0), event(1))
    whole = file.read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole)):
        file.write_bytes(whole[:length])
        written(tmp_path, event(2))
        found = [each.id for each in History(tmp_path).read(Filter())]
        complete = length == len(whole) - 1
        assert found == (["e0", "e1", "e2"] if complete else ["e0", "e2"])
        problems = broken_links(file)
        assert problems == (
            [] if complete or length == first else [f"{file} line 2: not a whole event"]
        )


def test_log_that_is_only_a_torn_line_is_closed_off(tmp_path: Path) -> None:
    (tmp_path / "s-events.jsonl").write_bytes(b'{"id": "e')
    written(tmp_path, event(1))
    assert [each.id for each in History(tmp_path).read(Filter())] == ["e1"]


def test_removed_file_is_begun_anew_with_a_gap_that_shows(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.append(event(0))
    file = log_path(tmp_path, "s")
    file.unlink()
    log.append(event(1))
    assert [each.id for each in History(tmp_path).read(Filter())] == ["e1"]
    assert broken_links(file)


def test_replaced_file_is_not_written_behind_the_back(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.append(event(0))
    file = log_path(tmp_path, "s")
    file.rename(tmp_path / "away")
    log.append(event(1))
    assert b'"e1"' in file.read_bytes()
    assert b'"e1"' not in (tmp_path / "away").read_bytes()


def test_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.touch()
    log_path(tmp_path, "s").symlink_to(victim)
    with pytest.raises(RedlaneError, match="symbolic"):
        EventLog(tmp_path).append(event())
    assert victim.read_bytes() == b""


def test_append_raises_when_the_directory_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(RedlaneError, match="logs"):
        EventLog(tmp_path / "logs").append(event())


def test_append_raises_and_recovers_when_the_disk_is_full(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.append(event(0))
    size = log_path(tmp_path, "s").stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, limits[1]))
        for _ in range(2):
            with pytest.raises(RedlaneError, match=r"bytes were written|too large"):
                log.append(event(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    log.append(event(2))
    found = [each.id for each in History(tmp_path).read(Filter())]
    assert found == ["e0", "e2"]


_ENDLESS = """
import sys
from pathlib import Path
from redlane.state.event import Event
from redlane.state.events import EventLog
log = EventLog(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    log.append(Event(f"e{number}", "t", "s", "Shell", "ALLOW", "GREEN", None, "x" * 900,
                     "r", 0.1, "y" * 1500))
    number += 1
"""


def test_kill_loses_no_event_that_was_appended(tmp_path: Path) -> None:
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", _ENDLESS, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.readline()
        while not log_path(tmp_path, "s").exists():
            os.sched_yield()
        child.kill()
        child.wait()
        child.stdout.close()
    file = written(tmp_path, event(1, reason="last"))
    found = History(tmp_path).read(Filter())
    assert found[0].reason in ("last", "x" * 900)
    problems = broken_links(file)
    assert all("not a whole event" in each for each in problems)
    assert len(problems) <= 3


def append_many(log: EventLog) -> None:
    for _ in range(50):
        log.append(event())


def test_threads_write_whole_lines_in_one_chain(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    threads = [threading.Thread(target=append_many, args=(log,)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert broken_links(log_path(tmp_path, "s")) == []
    assert len(History(tmp_path).read(Filter())) == 200


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Filter(), ["e0", "e1", "e2", "e3"]),
        (Filter(session="other"), ["e1"]),
        (Filter(session="none"), []),
        (Filter(verdict="BLOCK"), ["e2"]),
        (Filter(context="Mcp"), ["e3"]),
        (Filter(policy="p"), ["e2"]),
        (Filter(since="2026-01-01T00:00:02.000000Z"), ["e2", "e3"]),
        (Filter(session="s", verdict="ALLOW"), ["e0", "e3"]),
    ],
)
def test_reading_filters(tmp_path: Path, wanted: Filter, ids: list[str]) -> None:
    written(
        tmp_path,
        event(0),
        event(1, "other"),
        event(2, verdict="BLOCK", policy="p"),
        event(3, context="Mcp"),
    )
    assert [each.id for each in History(tmp_path).read(wanted)] == ids


def test_reading_gives_the_last_ones(tmp_path: Path) -> None:
    written(tmp_path, *(event(each, "s" if each % 2 else "t") for each in range(10)))
    found = History(tmp_path).read(Filter(), limit=3)
    assert [each.id for each in found] == ["e7", "e8", "e9"]


@pytest.mark.parametrize(
    ("after", "ids"),
    [
        ("e0", ["e2", "e3"]),
        ("e1", ["e2", "e3"]),
        ("e3", ["e5"]),
        ("gone", ["e3", "e5"]),
    ],
)
def test_reading_goes_on_behind_any_event(
    tmp_path: Path, after: str, ids: list[str]
) -> None:
    """Also behind one that is not wanted, or that another session has."""
    log = EventLog(tmp_path)
    for number, session in enumerate(("s", "t", "s", "s", "t", "s")):
        log.append(event(number, session=session))
    found = History(tmp_path).after(after, Filter(session="s"), 2)
    assert [each.id for each in found] == ids


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_few_files_stay_open_and_every_chain_is_whole(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    before = open_files()
    for number in range(300):
        log.append(event(number, session=f"s{number % 100}"))
    assert open_files() <= before + 70
    for number in range(100):
        assert broken_links(log_path(tmp_path, f"s{number}")) == []
    log.close()
    assert open_files() == before


def test_reading_nothing_gives_nothing(tmp_path: Path) -> None:
    assert History(tmp_path / "none").read(Filter()) == []


def test_following_gives_each_event_once(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.append(event(0))
    history = History(tmp_path)
    assert [each.id for each in history.read(Filter())] == ["e0"]
    log.append(event(1))
    log.append(event(2, "other"))
    assert [each.id for each in history.new(Filter())] == ["e1", "e2"]
    assert history.new(Filter()) == []


def test_following_waits_for_whole_lines(tmp_path: Path) -> None:
    history = History(tmp_path)
    line, _ = encode(event(0), "")
    file = log_path(tmp_path, "s")
    file.write_bytes(line[:20])
    assert history.new(Filter()) == []
    file.write_bytes(line)
    assert [each.id for each in history.new(Filter())] == ["e0"]


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"1", b'{"id": 1}', b"\xff", b"[" * 100_000, b'{"id": "x"}']
)
def test_line_that_is_no_event_is_passed_over(tmp_path: Path, line: bytes) -> None:
    log_path(tmp_path, "s").write_bytes(line + b"\n")
    assert History(tmp_path).read(Filter()) == []
    assert link_of(line) is None


@given(st.text(), st.text())
def test_any_text_gives_one_line_that_proves_itself(content: str, reason: str) -> None:
    line, link = encode(replace(event(), content=content, reason=reason), "before")
    assert line.count(b"\n") == 1
    assert link_of(line) == ("before", link)
