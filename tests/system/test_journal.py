"""What the daemon writes to the systemd journal, as the bindings are given it."""

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from redlane.daemon.findings import fields_of
from redlane.daemon.journal import journal_of
from redlane.daemon.logs import start_logging
from redlane.model.problem import Finding, Severity
from redlane.state.event import Event
from redlane.state.event_feed import EventFeed

Entries = list[Mapping[str, str]]


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Entries]:
    """Log as a service does; the fields of each entry that would be sent."""
    pytest.importorskip("systemd.journal", reason="needs the bindings of libsystemd")
    from systemd import journal  # noqa: PLC0415  # optional

    sent: Entries = []

    def sendv(*lines: bytes) -> None:
        sent.append(dict(line.decode().split("=", 1) for line in lines))

    monkeypatch.setattr(journal, "sendv", sendv)
    before = logging.getLogger().handlers[:]
    with (tmp_path / "stderr").open("wb") as stream:
        kept = os.dup(2)
        os.dup2(stream.fileno(), 2)
        status = os.fstat(2)
        environ = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        start_logging(tmp_path / "daemon.log", environ, to_stderr=True)
        yield sent
        os.dup2(kept, 2)
        os.close(kept)
    logging.basicConfig(handlers=before, force=True)
    logging.getLogger("redlane.verdicts").setLevel(logging.ERROR)


def event(verdict: str) -> Event:
    return Event(
        id="ab12",
        time="2026-01-01T00:00:00Z",
        session="s1",
        context="Shell",
        verdict=verdict,
        lane="RED",
        policy="no-rm",
        reason="a secret reason",
        role="guard",
        latency_ms=1.0,
        content="rm -rf hunter2",
    )


@pytest.mark.parametrize("verdict", ["BLOCK", "FLAG"])
def test_verdict_that_stops_something_is_an_entry(
    entries: Entries, tmp_path: Path, verdict: str
) -> None:
    EventFeed(tmp_path / "logs").append(event(verdict))
    (entry,) = entries
    assert {k: v for k, v in entry.items() if k.startswith("REDLANE_")} == {
        "REDLANE_EVENT": "ab12",
        "REDLANE_SESSION": "s1",
        "REDLANE_ROLE": "guard",
        "REDLANE_VERDICT": verdict,
        "REDLANE_POLICY": "no-rm",
        "REDLANE_CONTEXT": "Shell",
    }
    assert entry["PRIORITY"] == "6"
    assert entry["CODE_FUNC"] == "log_verdict"


def test_entries_hold_neither_content_nor_reason(
    entries: Entries, tmp_path: Path
) -> None:
    EventFeed(tmp_path / "logs").append(event("BLOCK"))
    text = str(entries)
    assert "hunter2" not in text
    assert "secret" not in text


@pytest.mark.parametrize("verdict", ["ALLOW", "MODIFY"])
def test_verdict_that_lets_pass_is_none(
    entries: Entries, tmp_path: Path, verdict: str
) -> None:
    EventFeed(tmp_path / "logs").append(event(verdict))
    assert entries == []


def test_load_error_names_its_file_and_policy(entries: Entries) -> None:
    finding = Finding(Severity.ERROR, "/p/a.json", "x", "wrong")
    logging.getLogger("redlane.t").error("%s", "wrong", extra=fields_of(finding))
    (entry,) = entries
    assert entry["PRIORITY"] == "3"
    assert entry["REDLANE_FILE"] == "/p/a.json"
    assert entry["REDLANE_SUBJECT"] == "x"


def test_line_breaks_forge_no_fields(entries: Entries) -> None:
    fields = {"fields": {"policy": "x\nPRIORITY=0"}}
    logging.getLogger("redlane.t").warning("a\x1b[2J", extra=fields)
    (entry,) = entries
    assert entry["PRIORITY"] == "4"
    assert entry["REDLANE_POLICY"] == "x\nPRIORITY=0"
    assert entry["MESSAGE"] == "a\\x1b[2J"


def test_nothing_is_written_to_the_file_beside(
    entries: Entries, tmp_path: Path
) -> None:
    logging.getLogger("redlane.t").warning("once")
    assert [each["MESSAGE"] for each in entries] == ["once"]
    assert not (tmp_path / "daemon.log").exists()


def test_inherited_name_of_another_stream_is_no_journal() -> None:
    assert journal_of({"JOURNAL_STREAM": "1:2"}) is None
    assert journal_of({}) is None


def test_failing_journal_harms_nobody(
    entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    from systemd import journal  # noqa: PLC0415  # optional

    def fails(*_: bytes) -> None:
        raise OSError("gone")

    monkeypatch.setattr(journal, "sendv", fails)
    logging.getLogger("redlane.t").warning("x")
    assert entries == []
