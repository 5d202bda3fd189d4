"""Directories change their names at once, and what is public is for everybody."""

import ctypes
import errno
import os
import stat
from pathlib import Path

import pytest

from redlane.atomic import exchange, make_directory, write_atomically


def directories(parent: Path) -> tuple[Path, Path]:
    """Two directories, each with a file of its name."""
    one, other = parent / "one", parent / "other"
    for each in (one, other):
        each.mkdir()
        (each / each.name).write_bytes(b"")
    return one, other


def names_in(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def modes(*paths: Path) -> list[int]:
    return [stat.S_IMODE(each.stat().st_mode) for each in paths]


def without_exchange(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """A kernel or a file system that refuses."""

    class Library:
        def __init__(self, *_: object, **__: object) -> None:
            """It is loaded, whatever its name."""

        @staticmethod
        def renameat2(*_: object) -> int:
            ctypes.set_errno(number)
            return -1

    monkeypatch.setattr(ctypes, "CDLL", Library)


@pytest.mark.parametrize("refused", [None, errno.EINVAL, errno.ENOSYS])
def test_two_directories_have_each_others_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int | None
) -> None:
    one, other = directories(tmp_path)
    if refused is not None:
        without_exchange(monkeypatch, refused)
    exchange(one, other)
    assert (names_in(one), names_in(other)) == (["other"], ["one"])
    assert names_in(tmp_path) == ["one", "other"]


def test_a_directory_that_is_open_stays_what_it_is(tmp_path: Path) -> None:
    one, other = directories(tmp_path)
    held = os.open(other, os.O_RDONLY)
    try:
        exchange(one, other)
        assert names_in(Path(f"/proc/self/fd/{held}")) == ["other"]
    finally:
        os.close(held)


def test_names_that_are_no_text_are_exchanged(tmp_path: Path) -> None:
    one, other = directories(tmp_path)
    odd = other.rename(tmp_path / os.fsdecode(b"\xff \n"))
    exchange(one, odd)
    assert (names_in(one), names_in(odd)) == (["other"], ["one"])


@pytest.mark.parametrize("missing", ["one", "other"])
def test_what_is_not_there_is_exchanged_with_nothing(
    tmp_path: Path, missing: str
) -> None:
    one, other = directories(tmp_path)
    (tmp_path / missing).rename(tmp_path / "gone")
    with pytest.raises(FileNotFoundError, match="other"):
        exchange(one, other)
    assert names_in(tmp_path) == sorted({"one", "other", "gone"} - {missing})


def test_what_the_system_refuses_is_an_error_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = directories(tmp_path)
    without_exchange(monkeypatch, errno.EACCES)
    with pytest.raises(PermissionError, match="other"):
        exchange(one, other)
    assert (names_in(one), names_in(other)) == (["one"], ["other"])


@pytest.mark.parametrize(
    ("is_public", "expected"),
    [(True, [0o644, 0o755, 0o755]), (False, [0o600, 0o700, 0o700])],
)
@pytest.mark.parametrize("mask", [0, 0o22, 0o77])
def test_what_is_public_is_for_everybody_whatever_the_mask(
    tmp_path: Path,
    is_public: bool,  # noqa: FBT001  # a case
    expected: list[int],
    mask: int,
) -> None:
    target = tmp_path / "a" / "b" / "f"
    before = os.umask(mask)
    try:
        write_atomically(target, b"", is_public=is_public)
    finally:
        os.umask(before)
    assert modes(target, *target.parents[:2]) == expected


def test_what_is_there_already_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o710)
    make_directory(tmp_path / "a" / "b", is_public=True)
    assert modes(tmp_path / "a", tmp_path / "a" / "b") == [0o710, 0o755]


def test_a_file_that_becomes_public_is_for_everybody(tmp_path: Path) -> None:
    write_atomically(tmp_path / "f", b"")
    write_atomically(tmp_path / "f", b"new", is_public=True)
    assert modes(tmp_path / "f") == [0o644]


@pytest.mark.parametrize("place", ["file", "link", "file/below"])
def test_a_directory_in_the_place_of_something_else_is_an_error(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(OSError, match=place.split("/", maxsplit=1)[0]):
        write_atomically(tmp_path / place / "f", b"")
    assert names_in(tmp_path) == ["file", "link"]
