"""What was found of a script is remembered as long as nothing that was seen changes."""

import os
from pathlib import Path

import pytest

from redlane.contexts.shell.content import ShellContent
from redlane.contexts.shell.expansion.disk import (
    OWN_DISK,
    Disk,
    OwnDisk,
    UnreadableError,
)
from redlane.model.content import Reader
from redlane.model.policy import Action

DANGER = b"rm -rf x"
FILLING = "echo one two three\n" * 200


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "s.sh").write_text(f"{FILLING}. ./lib.sh\n./link\nsh later.sh\n")
    (tmp_path / "lib.sh").write_text("echo lib\n")
    (tmp_path / "one").write_text("#!/bin/sh\necho one\n")
    (tmp_path / "link").symlink_to("one")
    return tmp_path


def content(place: Path, disk: Disk = OWN_DISK) -> ShellContent:
    return ShellContent(b"sh s.sh", cwd=str(place), disk=disk)


def sees_danger(content: ShellContent) -> bool:
    return DANGER in content.views(Action.BLOCK, Reader.PATTERN)


def test_same_script_is_not_read_as_commands_again(place: Path) -> None:
    assert content(place).commands is content(place).commands


def test_another_argument_is_another_command(place: Path) -> None:
    given = ShellContent(b"sh s.sh a", cwd=str(place))
    assert content(place).commands is not given.commands


CHANGES = {
    "the script": lambda place: (place / "s.sh").write_bytes(DANGER),
    "a script that it names": lambda place: (place / "lib.sh").write_bytes(DANGER),
    "a link": lambda place: _link(place).replace(place / "link"),
    "where a link leads": lambda place: (place / "one").write_bytes(DANGER),
    "a script that was not there": lambda place: (place / "later.sh").write_bytes(
        DANGER
    ),
}


def _link(place: Path) -> Path:
    (place / "two").write_bytes(b"#!/bin/sh\n" + DANGER)
    (place / "new").symlink_to("two")
    return place / "new"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_has_changed_is_seen(place: Path, change: "type[object]") -> None:
    assert not sees_danger(content(place))
    change(place)
    assert sees_danger(content(place))


def test_change_that_keeps_length_and_times_is_seen(place: Path) -> None:
    script = place / "lib.sh"
    script.write_bytes(b"#" + DANGER[1:])
    before = script.stat()
    assert not sees_danger(content(place))
    script.write_bytes(DANGER)
    os.utime(script, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert sees_danger(content(place))


class _Locked(OwnDisk):
    """The disk of somebody who may not read the script."""

    def open(self, path: str) -> int | None:
        raise UnreadableError(f"{path!r} cannot be read")


def test_who_may_not_read_a_script_is_told_nothing_of_it(place: Path) -> None:
    assert content(place).problem is None
    assert content(place, _Locked()).problem is not None
    assert content(place).problem is None


class _Changing(OwnDisk):
    """A disk on which the script is another at each look."""

    def __init__(self, script: Path) -> None:
        self._script = script
        self._looks = 0

    def open(self, path: str) -> int | None:
        self._looks += 1
        self._script.write_text(f"{FILLING}echo {self._looks}\nsh s.sh 1\n")
        return super().open(path)


@pytest.mark.parametrize("command", ["bash /proc/self/mem", ". /proc/self/mem"])
def test_file_that_opens_and_cannot_be_read_is_no_script(command: str) -> None:
    assert ShellContent(command.encode(), cwd="/").problem is None


def test_file_that_cannot_be_read_any_more_is_looked_at_anew(place: Path) -> None:
    (place / "lib.sh").unlink()
    (place / "lib.sh").symlink_to("one")
    assert content(place).problem is None
    (place / "lib.sh").unlink()
    (place / "lib.sh").symlink_to("/proc/self/mem")
    assert content(place).problem is None


def test_script_that_changes_while_it_is_read_is_not_remembered(place: Path) -> None:
    disk = _Changing(place / "s.sh")
    one, two = content(place, disk), content(place, disk)
    assert one.commands is not two.commands
