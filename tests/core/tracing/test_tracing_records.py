"""What is traced, as it is told: lines, objects, and what they are read from."""

import struct
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from redlane.tracing.judged import record_of
from redlane.tracing.kernel_tracer import CONNECT, EXEC, FILE_MOST, OPEN, RECORD, event
from redlane.tracing.records import Record, What, read_record

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_900, tzinfo=UTC)


SECRET = "sk-ant-api03-" + "a1B2c3" * 16


def told(**fields: Any) -> dict[str, Any]:
    usual = {"time": MOMENT.timestamp(), "pid": 7, "program": "cat", "result": "ok"}
    return usual | fields


LINES: Mapping[str, tuple[dict[str, Any], str]] = {
    "a program": (
        told(what="exec", target="/bin/cat", words=["cat", "a b"], is_all=True),
        "exec    ok        /bin/cat: cat 'a b'",
    ),
    "one with many words": (
        told(what="exec", target="/bin/cat", words=["cat", "a"], is_all=False),
        "exec    ok        /bin/cat: cat a …",
    ),
    "one that is asked about": (
        told(what="exec", target="/dev/fd/4", words=["program-3-rm", "-rf", "/"]),
        "exec    asked     /dev/fd/4: rm -rf /",
    ),
    "one of such a name": (
        told(what="exec", target="/bin/x", words=["program-3-rm"]),
        "exec    ok        /bin/x: program-3-rm",
    ),
    "one that is not there": (
        told(what="exec", target="/none", result="ENOENT"),
        "exec    ENOENT    /none",
    ),
    "a file": (
        told(what="open", target="/etc/x", mode="wc", result="EACCES"),
        "open    EACCES    /etc/x (wc)",
    ),
    "a file below a directory": (
        told(what="open", target="x", mode="r", directory=5),
        "open    ok        5:x (r)",
    ),
    "a connection": (
        told(what="connect", target="[::1]:80", result="EINPROGRESS"),
        "connect EINPROGRESS [::1]:80",
    ),
    "a name with a line break": (
        told(what="open", target="a\nb\x1b[0m", mode="r"),
        r"open    ok        a\nb\x1b[0m (r)",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_each_is_one_line(name: str) -> None:
    given, line = LINES[name]

    found = read_record(given).line

    assert found.partition("cat             ")[2] == line


SECRETS = {
    "by itself": (SECRET,),
    "behind an option": ("--password", SECRET),
    "with a quote": ("--token", "it's-a-secret-token"),
    "in an option": (f"--password={SECRET}",),
    "for a server": ("-u", f"bob:{SECRET}", "https://a.test"),
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_in_a_command_is_not_told(name: str) -> None:
    words = ("curl", *SECRETS[name])
    record = Record(MOMENT, What.EXEC, "/usr/bin/curl", words=words)

    for told in (record.line, str(record.document("s", "kernel"))):
        assert SECRET not in told
        assert "a-secret" not in told
        assert "[redacted]" in told


def test_an_object_has_all_of_it() -> None:
    given = told(what="open", target="x", mode="r", directory=5)

    assert read_record(given).document("s", "kernel") == {
        "time": "2026-01-02T03:04:05.678900+00:00",
        "session": "s",
        "source": "kernel",
        "pid": 7,
        "program": "cat",
        "what": "open",
        "target": "x",
        "result": "ok",
        "mode": "r",
        "directory": 5,
    }


def raw(
    kind: int, data: bytes, *, result: int = 0, flags: int = 0, at: int = -100
) -> bytes:
    return (
        RECORD.pack(2_000_000_000, flags, result, 7, at, len(data), kind, b"cat") + data
    )


INET = struct.pack("=H", 2) + struct.pack(">H4s", 80, bytes([127, 0, 0, 1]))
INET6 = struct.pack("=H", 10) + struct.pack(">HI", 443, 0) + bytes(15) + b"\1"
FILE = b"/bin/x".ljust(FILE_MOST, b"\0")
EVENTS: Mapping[str, tuple[bytes, dict[str, Any]]] = {
    "exec": (
        raw(EXEC, FILE + b"x\0\0-c\0", flags=6),
        {"target": "/bin/x", "words": ["x", "", "-c"], "is_all": True},
    ),
    "cut exec": (
        raw(EXEC, FILE + b"x\0-", flags=900),
        {"words": ["x"], "is_all": False},
    ),
    "failed exec": (raw(EXEC, b"/none\0", result=-2), {"result": "ENOENT"}),
    "open": (raw(OPEN, b"a\xff\0", flags=0o101), {"target": r"a\xff", "mode": "wc"}),
    "open below": (raw(OPEN, b"a\0", at=5), {"directory": 5, "mode": "r"}),
    "open by a whole path": (raw(OPEN, b"/a\0", at=5), {"target": "/a"}),
    "unread path": (raw(OPEN, b"", result=-14), {"target": "", "result": "EFAULT"}),
    "inet": (raw(CONNECT, INET + bytes(8)), {"target": "127.0.0.1:80"}),
    "inet6": (raw(CONNECT, INET6), {"target": "[::1]:443"}),
    "path": (raw(CONNECT, b"\1\0/run/x\0y"), {"target": "/run/x"}),
    "abstract": (raw(CONNECT, b"\1\0\0name"), {"target": "@name"}),
    "another family": (raw(CONNECT, b"\x10\0"), {"target": "family 16"}),
    "nothing": (raw(CONNECT, b""), {"target": "family 0"}),
}


@pytest.mark.parametrize("name", EVENTS)
def test_what_the_kernel_sends_is_read(name: str) -> None:
    sent, expected = EVENTS[name]

    found = event(sent, 1.0)

    assert found | expected == found
    assert (found["time"], found["pid"], found["program"]) == (3.0, 7, "cat")
    read_record(found)


def judged(context: str, content: str, verdict: str = "ALLOW") -> dict[str, Any]:
    moment = MOMENT.isoformat().replace("+00:00", "Z")
    return {
        "time": moment,
        "context": context,
        "verdict": verdict,
        "content": content,
        "pid": 7,
    }


OPENED = '{"syscall": "openat", "paths": ["/a", null]}'
JUDGED = {
    ("Shell", "rm x", "BLOCK"): (What.EXEC, "rm x", "blocked"),
    ("Network", "GET http://a/ HTTP/1.1\n\nb", "FLAG"): (
        What.CONNECT,
        "GET http://a/",
        "held",
    ),
    ("Syscall", OPENED, "ALLOW"): (What.OPEN, "/a ?", "ok"),
    ("Syscall", '{"syscall": "unlink", "paths": ["/a"]}', "BLOCK"): (
        What.CALL,
        "unlink /a",
        "blocked",
    ),
    ("Syscall", "no object", "BLOCK"): (What.CALL, "no object", "blocked"),
    ("Mcp", "{}", "MODIFY"): (What.CALL, "{}", "rewritten"),
}


@pytest.mark.parametrize("given", JUDGED)
def test_what_was_judged_is_told_as_what_was_done(given: tuple[str, str, str]) -> None:
    record = record_of(judged(*given))

    assert record is not None
    assert (record.what, record.target, record.result) == JUDGED[given]


def test_what_came_in_was_not_done() -> None:
    assert record_of(judged("Inbound", "a page")) is None
