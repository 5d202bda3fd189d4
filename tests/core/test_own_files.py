"""A supervised session neither changes what it is judged by nor reads the event log."""

import os

import pytest

from redlane.contexts.syscall.content import SystemCallContent
from redlane.engine.builtins import first_builtin
from redlane.engine.own_files import TOUCHES, OwnFiles
from redlane.model.content import SystemCall

HOME = "/home/ann/.redlane"
OWN = OwnFiles((f"{HOME}/policies", f"{HOME}/settings.json"), (f"{HOME}/logs",))
READ, WRITE = os.O_RDONLY, os.O_WRONLY


def _opened(path: str, flags: int) -> SystemCall:
    return SystemCall("openat", (path,), {"args": [0, 0, flags, 0, 0, 0]})


@pytest.mark.parametrize(
    ("call", "touches"),
    [
        (_opened(f"{HOME}/policies/a.json", READ), False),
        (_opened(f"{HOME}/policies/a.json", WRITE), True),
        (_opened(f"{HOME}/policies/a.json", READ | os.O_TRUNC), True),
        (_opened(f"{HOME}/policies/new.json", os.O_RDWR | os.O_CREAT), True),
        (_opened(f"{HOME}/policies", os.O_TMPFILE | os.O_RDWR), True),
        (_opened(f"{HOME}/policies", os.O_DIRECTORY), False),
        (_opened(f"{HOME}/policies-of-mine", WRITE), False),
        (_opened(f"{HOME}/settings.json", WRITE), True),
        (_opened(f"{HOME}/logs/events.jsonl", READ), True),
        (_opened("/home/ann/notes", WRITE), False),
        (SystemCall("openat", (f"{HOME}/policies/a.json",)), True),
        (SystemCall("creat", (f"{HOME}/settings.json",)), True),
        (SystemCall("unlink", (f"{HOME}/policies/a.json",)), True),
        (SystemCall("rmdir", (f"{HOME}/logs",)), True),
        (SystemCall("rename", ("/tmp/mine", f"{HOME}/settings.json")), True),
        (SystemCall("rename", ("/home/ann", "/home/bob")), True),
        (SystemCall("renameat2", (HOME, "/tmp/x")), True),
        (SystemCall("unlink", (HOME,)), True),
        (SystemCall("unlink", (f"{HOME}-of-mine",)), False),
        (SystemCall("rename", ("/home/ann/a", "/home/ann/b")), False),
        (SystemCall("unlink", (None,)), False),
        (SystemCall("stat", (f"{HOME}/policies/a.json",)), False),
    ],
)
def test_calls_that_touch_own_files(call: SystemCall, *, touches: bool) -> None:
    assert OWN.are_touched(call) is touches
    assert OWN.concern(call) or not touches


def test_the_builtin_blocks_what_was_found_to_touch_them() -> None:
    found = first_builtin(SystemCallContent(SystemCall("open", (), {TOUCHES: True})))
    assert found is not None
    assert found.id == "builtin:own-files"


def test_a_call_cannot_say_so_of_itself() -> None:
    told = b'{"syscall": "open", "paths": [], "own_files": true}'
    assert first_builtin(SystemCallContent.from_json(told)) is None
