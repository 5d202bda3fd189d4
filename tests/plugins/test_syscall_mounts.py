"""What a bind mount shows has a further path, where it comes from."""

import pytest

from redlane.api import Enforcement
from redlane_context_syscall.coverage import coverage
from redlane_context_syscall.kernel.features import Features
from redlane_context_syscall.mounts import Mounts, MountTable

KERNEL = Features((6, 12))
LINES = rb"""22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw - proc proc rw
24 22 8:1 /srv/data /data rw - ext4 /dev/sda1 rw
25 22 8:1 /home/a\040b /mnt/x\134y rw - ext4 /dev/sda1 rw
26 22 8:2 / /srv/data/disk rw - ext4 /dev/sda2 rw
27 22 8:1 /etc/secret /run/one rw - ext4 /dev/sda1 rw
28 24 8:1 /usr /data rw - ext4 /dev/sda1 rw
29 22 8:1 /opt/in /m/x rw - ext4 /dev/sda1 rw
30 22 8:1 /opt/out /m rw - ext4 /dev/sda1 rw
31 22 8:1 /opt/cr /aCRb rw - ext4 /dev/sda1 rw
broken line
""".replace(b"CR", b"\r")
PATHS = {
    b"/srv/data/f": [],  # what is mounted over it is not to be seen
    b"/data/f": [b"/usr/f"],
    b"/usr/f": [b"/data/f"],
    b"/home/a b/c": [rb"/mnt/x\y/c"],
    rb"/mnt/x\y": [b"/home/a b"],
    b"/etc/secret": [b"/run/one"],
    b"/run/one": [b"/etc/secret"],
    b"/m/x/f": [b"/opt/out/x/f"],  # covered by what was mounted above it
    b"/a\rb/f": [b"/opt/cr/f"],
    b"/opt/in/f": [b"/m/x/f"],
    b"/etc/secrets": [],
    b"/srv/data/disk/f": [],
    b"/proc/1": [],
    b"relative": [],
}


@pytest.mark.parametrize("path", PATHS)
def test_file_has_the_path_of_each_mount_that_shows_it(path: bytes) -> None:
    others = set(Mounts(LINES).others(path))

    assert set(PATHS[path]) <= others
    assert path not in others


def test_one_mount_of_each_device_shows_nothing_twice() -> None:
    once = Mounts(b"\n".join(LINES.splitlines()[:2]))

    assert once.others(b"/srv/data/f") == ()


def test_mounts_are_read_again_when_they_have_changed() -> None:
    table = MountTable()
    try:
        mounts = table.current()
        assert mounts.place(b"/") is not None
        assert table.current() is mounts
    finally:
        table.close()


@pytest.mark.parametrize("call", ["openat", "unlink"])
def test_paths_are_not_exact_where_a_role_may_mount(call: str) -> None:
    (told,) = coverage({call: True}, KERNEL, namespaces=True)
    (plain,) = coverage({call: True}, KERNEL)

    assert (told.enforcement, plain.enforcement) == (
        Enforcement.ADVISORY,
        Enforcement.EXACT,
    )
    assert "mount" in told.reason


def test_mounting_is_not_said_to_be_refused_where_a_role_may_mount() -> None:
    (told,) = coverage({"mount": True}, KERNEL, namespaces=True)
    (plain,) = coverage({"mount": True}, KERNEL)

    assert (told.enforcement, plain.enforcement) == (
        Enforcement.ADVISORY,
        Enforcement.EXACT,
    )
