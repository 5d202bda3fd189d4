"""A file is whole or not there, for its owner alone, and a failure leaves nothing."""

import os
from pathlib import Path

import pytest
from core.children import in_another_process

from redlane.atomic import write_atomically


@pytest.mark.parametrize("data", [b"", b"\0\xff\n", b"a" * 1_000_000])
def test_file_holds_what_was_written_and_nothing_is_beside_it(
    tmp_path: Path, data: bytes
) -> None:
    write_atomically(tmp_path / ("f" * 255), b"old")
    write_atomically(tmp_path / ("f" * 255), data)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [data]


def test_what_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "f"
    before = os.umask(0)
    try:
        write_atomically(target, b"")
    finally:
        os.umask(before)
    modes = [each.stat().st_mode & 0o777 for each in (target, *target.parents[:2])]
    assert modes == [0o600, 0o700, 0o700]


def test_what_cannot_be_replaced_stays_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path / "f", b"new")
    assert list(tmp_path.iterdir()) == [tmp_path / "f"]


@pytest.mark.parametrize("size", [11, 1_000_000])
def test_full_disk_changes_nothing(tmp_path: Path, size: int) -> None:
    (tmp_path / "f").write_bytes(b"old")
    setup = f"""
from pathlib import Path
from redlane.atomic import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
try:
    write_atomically(Path({str(tmp_path / "f")!r}), b"a" * {size})
except OSError as error:
    print(error.strerror)
"""
    assert in_another_process(setup, ("true",))[0] == "File too large"
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"old"]
