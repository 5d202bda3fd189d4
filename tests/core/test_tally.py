"""Refused calls are counted as the log has them, also of before the daemon's start."""

from dataclasses import replace
from pathlib import Path

import pytest

from redlane.errors import RedlaneError
from redlane.state.event import Event
from redlane.state.event_feed import EventFeed
from redlane.state.history import Filter
from redlane.state.tally import Tally

REFUSED = Event(
    id="e",
    time="2026-01-01T00:00:00.000000Z",
    session="s",
    context="Syscall",
    verdict="BLOCK",
    lane="RED",
    policy="hidden",
    reason="because",
    role="r",
    latency_ms=0.1,
    content='{"syscall":"openat","paths":["/x"]}',
)
FLAGGED = replace(REFUSED, verdict="FLAG", lane="YELLOW")
SHELL = replace(REFUSED, context="Shell", content="rm", policy=None)


def row(count: int, policy: str | None, syscall: str | None) -> dict[str, object]:
    return {"count": count, "policy": policy, "syscall": syscall}


def test_refused_calls_of_a_session_are_counted(tmp_path: Path) -> None:
    feed = EventFeed(tmp_path)
    for each in (REFUSED, FLAGGED, SHELL, replace(REFUSED, session="t")):
        feed.append(each)
    feed.append(replace(REFUSED, details="its process was killed\n41 times"))
    feed.append(replace(REFUSED, policy="odd"))
    assert feed.refused_calls("s") == [
        row(42, "hidden", "openat"),
        row(1, "odd", "openat"),
    ]
    assert feed.refused_calls("nobody") == []


@pytest.mark.parametrize("looks_first", [True, False])
def test_counts_go_on_after_a_restart(tmp_path: Path, *, looks_first: bool) -> None:
    before = EventFeed(tmp_path)
    before.append(REFUSED)
    before.close()
    feed = EventFeed(tmp_path)
    if looks_first:
        assert feed.refused_calls("s") == [row(1, "hidden", "openat")]
    feed.append(REFUSED)
    assert feed.refused_calls("s") == [row(2, "hidden", "openat")]


def test_what_could_not_be_written_is_not_counted(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    feed = EventFeed(place)
    with pytest.raises((RedlaneError, OSError)):
        feed.append(REFUSED)
    assert feed.refused_calls("s") == []


def test_counts_are_of_what_is_wanted(tmp_path: Path) -> None:
    feed = EventFeed(tmp_path)
    for each in (SHELL, REFUSED, SHELL, FLAGGED):
        feed.append(each)
    first = {"context": "Shell", "verdict": "BLOCK", **row(2, None, None)}
    assert feed.counts(Filter())[0] == first
    assert len(feed.counts(Filter())) == 3
    wanted = Filter(context="Syscall", verdict="FLAG")
    assert [each["count"] for each in feed.counts(wanted)] == [1]


def test_rows_are_bounded_and_no_event_is_lost() -> None:
    events = [replace(REFUSED, policy=f"p{number}") for number in range(2000)]
    rows = Tally(events).rows()
    assert len(rows) == 501
    assert sum(int(str(each["count"])) for each in rows) == 2000


def test_content_that_is_no_call_is_counted_without_one() -> None:
    (found,) = Tally([replace(REFUSED, content='{"syscall":"\x1b')]).rows()
    assert found["syscall"] is None
