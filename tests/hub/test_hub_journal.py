"""What the hub writes to the systemd journal."""

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from redlane_hub.server.journal import JournalHandler, is_journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "journal"))
        made.settimeout(10)
        yield made


def fields(entry: bytes) -> dict[str, str]:
    """An entry whose every field has its length before its value."""
    found = {}
    while entry:
        name, _, rest = entry.partition(b"\n")
        size = int.from_bytes(rest[:8], "little")
        found[name.decode()] = rest[8 : 8 + size].decode()
        assert rest[8 + size : 9 + size] == b"\n"
        entry = rest[9 + size :]
    return found


@pytest.mark.parametrize(
    ("level", "priority"),
    [
        (logging.CRITICAL, "2"),
        (logging.ERROR, "3"),
        (logging.WARNING, "4"),
        (logging.INFO, "6"),
        (logging.DEBUG, "7"),
    ],
)
def test_entry_has_priority_message_and_fields(
    journal: socket.socket, level: int, priority: str
) -> None:
    handler = JournalHandler(lambda _: {"worker": 3}, journal.getsockname())
    handler.emit(logging.makeLogRecord({"msg": "It is.", "levelno": level}))
    sent = fields(journal.recv(65536))
    assert sent["MESSAGE"] == "It is."
    assert sent["PRIORITY"] == priority
    assert sent["REDLANE_HUB_WORKER"] == "3"
    assert sent["SYSLOG_IDENTIFIER"] == "redlane-hub"


def test_line_breaks_make_no_field(journal: socket.socket) -> None:
    handler = JournalHandler(
        lambda _: {"reason": "a\nPRIORITY=0"}, journal.getsockname()
    )
    handler.emit(logging.makeLogRecord({"msg": "x\nMESSAGE=y", "levelno": 20}))
    sent = fields(journal.recv(65536))
    assert sent["MESSAGE"] == "x\nMESSAGE=y"
    assert sent["REDLANE_HUB_REASON"] == "a\nPRIORITY=0"


def test_journal_that_is_gone_harms_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    handler = JournalHandler(lambda _: {}, str(tmp_path / "none"))
    handler.emit(logging.makeLogRecord({"msg": "x", "levelno": 20}))


def test_only_the_stream_that_is_named_is_the_journal() -> None:
    status = os.fstat(2)
    assert is_journal({"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
    assert not is_journal({"JOURNAL_STREAM": "1:2"})
    assert not is_journal({})
