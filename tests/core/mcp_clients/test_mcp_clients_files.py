"""Files are replaced whole, as they were but for their bytes, and with care."""

import errno
import os
import stat
from pathlib import Path

import pytest

from redlane.mcp_clients.files import ConfigurationFile, RefusedError, read_file

OTHER = 12345


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    return file


def read(path: Path) -> ConfigurationFile:
    file = read_file(path)
    assert file is not None
    return file


def names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o755])
def test_a_file_keeps_its_mode_and_nothing_is_left_over(path: Path, mode: int) -> None:
    path.chmod(mode)
    read(path).replace(b"new")

    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert names(path.parent) == ["settings.json"]


def test_a_file_keeps_its_attributes(path: Path) -> None:
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError as error:
        if error.errno not in {errno.ENOTSUP, errno.EPERM}:
            raise
        pytest.skip("NOT TESTED: this file system has no attributes")
    read(path).replace(b"new")

    assert os.getxattr(path, "user.note") == b"mine"


def test_a_link_stays_and_its_target_is_replaced(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path.name)
    read(link).replace(b"new")

    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert not path.is_symlink()


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_file(tmp_path / "a" / "b") is None
    (tmp_path / "file").write_bytes(b"")
    assert read_file(tmp_path / "file" / "b") is None


def test_a_file_that_changed_meanwhile_is_not_replaced(path: Path) -> None:
    file = read(path)
    path.write_bytes(b"in between")

    with pytest.raises(RefusedError, match="just changed"):
        file.replace(b"new")
    assert path.read_bytes() == b"in between"
    assert names(path.parent) == ["settings.json"]


def test_a_file_in_whose_place_a_link_is_now_is_not_replaced(path: Path) -> None:
    file = read(path)
    victim = path.with_name("victim")
    path.rename(victim)
    path.symlink_to(victim)

    with pytest.raises(RefusedError):
        file.replace(b"new")
    assert victim.read_bytes() == b"old"


def test_a_directory_in_whose_place_a_link_is_now_is_not_written_to(
    tmp_path: Path,
) -> None:
    real, other = tmp_path / "real", tmp_path / "other"
    for each in (real, other):
        each.mkdir()
        (each / "f").write_bytes(b"old")
    file = read(real / "f")
    real.rename(tmp_path / "moved")
    real.symlink_to(other)

    with pytest.raises(RefusedError):
        file.replace(b"new")
    assert (other / "f").read_bytes() == b"old"


def test_a_read_only_file_is_left(path: Path) -> None:
    path.chmod(0o444)

    with pytest.raises(RefusedError, match="read-only"):
        read(path).replace(b"new")


def test_a_file_with_two_names_is_left(path: Path) -> None:
    path.with_name("second").hardlink_to(path)

    with pytest.raises(RefusedError, match="second name"):
        read_file(path)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "ring").symlink_to("ring")
    for name in ("fifo", "directory", "nowhere", "ring"):
        with pytest.raises(RefusedError):
            read_file(tmp_path / name)


@pytest.mark.root
class TestRoot:
    """Every file is open to root, and those that others lead it to stay untouched."""

    @pytest.fixture(autouse=True)
    def _root(self) -> None:
        if os.geteuid() != 0:
            pytest.skip("NOT TESTED: only root has files of others")

    def test_a_file_of_another_user_is_left(self, path: Path) -> None:
        os.chown(path, OTHER, -1)
        with pytest.raises(RefusedError, match=f"run this as {OTHER}"):
            read_file(path)

    def test_a_file_in_a_directory_of_another_user_is_left(self, path: Path) -> None:
        os.chown(path.parent, OTHER, -1)
        with pytest.raises(RefusedError, match=f"{OTHER}'s"):
            read_file(path)

    def test_a_link_of_another_user_is_not_followed(self, path: Path) -> None:
        link = path.with_name("link")
        link.symlink_to(path)
        os.lchown(link, OTHER, -1)
        with pytest.raises(RefusedError, match=f"{OTHER}'s"):
            read_file(link)

    def test_a_way_that_others_can_change_is_not_taken(self, path: Path) -> None:
        path.parent.chmod(0o777)
        with pytest.raises(RefusedError, match="by others"):
            read_file(path)

    def test_a_directory_like_tmp_is_fine(self, path: Path) -> None:
        path.parent.chmod(0o1777)
        assert read(path).data == b"old"

    def test_the_group_of_a_file_stays(self, path: Path) -> None:
        os.chown(path, -1, OTHER)
        read(path).replace(b"new")
        assert path.stat().st_gid == OTHER
