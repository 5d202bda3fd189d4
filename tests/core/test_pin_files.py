"""The files of pins: whole or not there, and never taken for no pins."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from core.pin_samples import Clerk, tool

from redlane.state.pin import PinsError

READ, OTHER = tool("read_file"), tool("read_file", "other")


def files(directory: Path) -> list[Path]:
    return sorted(directory.glob("own/*.json"))


def test_what_is_pinned_and_found_outlives_the_daemon(tmp_path: Path) -> None:
    clerk = Clerk(tmp_path)
    clerk.see("a", READ, tool("x"), session="s1")
    clerk.see("a", OTHER)
    before, waiting = clerk.pins.servers(None), clerk.waiting()

    clerk.restart()

    assert clerk.pins.servers(None) == before
    assert clerk.waiting() == waiting
    assert clerk.problem("a", "read_file")
    assert clerk.problem("a", "x") == ""


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    Clerk(tmp_path / "pins").see("a", READ)

    (file,) = files(tmp_path / "pins")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "pins").stat().st_mode & 0o777 == 0o700


def record(tmp_path: Path) -> dict[str, object]:
    (file,) = files(tmp_path)
    found: dict[str, object] = json.loads(file.read_bytes())
    return found


BROKEN = {
    "empty": b"",
    "torn": b'{"version": 1, "ke',
    "no JSON": b"pins",
    "no object": b"[]",
    "another version": {"version": 2},
    "another key": {"key": "0" * 32},
    "no name": {"name": None},
    "no tools": {"tools": []},
    "no definition": {"tools": {"x": {"definition": None, "since": "", "found": None}}},
    "another kind": {
        "tools": {
            "x": {
                "definition": None,
                "since": "",
                "found": {
                    "kind": "fine",
                    "definition": "{}",
                    "like": "",
                    "seen": "",
                    "session": "",
                },
            }
        }
    },
    "a key twice": b'{"version": 1, "version": 1}',
}


@pytest.mark.parametrize("made", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_told_and_nothing_passes(
    tmp_path: Path, made: bytes | dict[str, object]
) -> None:
    clerk = Clerk(tmp_path)
    clerk.see("a", READ)
    (file,) = files(tmp_path)
    data = made if isinstance(made, bytes) else None
    file.write_bytes(data if data is not None else changed(tmp_path, made))
    clerk.restart()

    for ask in (
        lambda: clerk.see("a", READ),
        lambda: clerk.see("b", tool("x")),
        lambda: clerk.problem("a", "read_file"),
        lambda: clerk.pins.servers(None),
    ):
        with pytest.raises(PinsError) as caught:
            ask()
        line = str(caught.value)
        assert line.startswith(f"{file}: ")
        assert f"redlane mcp pins forget {file.stem[:16]}" in line
        assert "\n" not in line


def changed(tmp_path: Path, fields: object) -> bytes:
    assert isinstance(fields, dict)
    return json.dumps({**record(tmp_path), **fields}).encode()


def test_a_broken_file_can_be_forgotten(tmp_path: Path) -> None:
    clerk = Clerk(tmp_path)
    clerk.see("a", READ)
    clerk.see("b", tool("b_tool"))
    broken = next(each for each in files(tmp_path) if b'"a"' in each.read_bytes())
    broken.write_bytes(b"broken")
    clerk.restart()

    clerk.pins.forget(None, broken.stem[:16])

    assert [each.name for each in clerk.pins.servers(None)] == ["b"]
    assert clerk.see("a", OTHER) == [""]


def test_a_file_that_is_mended_is_read_again(tmp_path: Path) -> None:
    clerk = Clerk(tmp_path)
    clerk.see("a", READ)
    (file,) = files(tmp_path)
    good = file.read_bytes()
    file.write_bytes(b"broken")
    clerk.restart()
    with pytest.raises(PinsError):
        clerk.see("a", READ)

    file.write_bytes(good)

    assert clerk.see("a", READ, OTHER) == ["", "changed"]


def test_what_a_killed_daemon_left_half_written_is_nothing(tmp_path: Path) -> None:
    clerk = Clerk(tmp_path)
    clerk.see("a", READ)
    (file,) = files(tmp_path)
    file.with_name(f".{file.name}.new").write_bytes(b'{"vers')
    clerk.restart()

    assert clerk.see("a", OTHER) == ["changed"]


def test_what_cannot_be_kept_is_not_pinned(tmp_path: Path) -> None:
    (tmp_path / "pins").write_text("a file")
    clerk = Clerk(tmp_path / "pins")

    with pytest.raises(PinsError, match="pins"):
        clerk.see("a", READ)
    with pytest.raises(PinsError, match="pins"):
        clerk.problem("a", "read_file")


KILLED = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from core.pin_samples import Clerk, tool
clerk = Clerk(Path({directory!r}))
for number in range(100_000):
    clerk.see("a", tool("read_file", str(number)))
    if number:
        clerk.pins.accept(None, clerk.revisions()[0])
    print(number, flush=True)
"""


def test_nothing_acknowledged_is_lost_by_a_kill(tmp_path: Path) -> None:
    tests = os.fspath(Path(__file__).parents[1])
    script = KILLED.format(tests=tests, directory=os.fspath(tmp_path))
    for wait in (1, 3, 17):
        for each in files(tmp_path):
            each.unlink()
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            told = [writer.stdout.readline() for _ in range(wait)]
            writer.send_signal(signal.SIGKILL)
            told += writer.stdout.readlines()
        (server,) = Clerk(tmp_path).pins.servers(None)
        pinned = json.loads(server.tools["read_file"].text or "{}")["description"]
        last = int(told[-1] if told[-1].endswith("\n") else told[-2])
        assert int(pinned) in {last, last + 1}


def test_several_threads_pin_at_once(tmp_path: Path) -> None:
    clerk = Clerk(tmp_path)
    failed: list[BaseException] = []

    def pin(number: int) -> None:
        try:
            for each in range(10):
                assert clerk.see(f"s{number}-{each}", tool(f"t{number}x{each}z")) == [
                    ""
                ]
        except BaseException as error:  # noqa: BLE001  # told below
            failed.append(error)

    threads = [threading.Thread(target=pin, args=(each,)) for each in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    clerk.restart()

    assert failed == []
    assert len(clerk.pins.servers(None)) == 80
