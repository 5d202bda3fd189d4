"""Directories where everybody may put files keep their protections (proc_sys_fs(5))."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from syscall_harness import NOBODY, Decisions, Kit, become, forked, supervised

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.opening import Opening

OPENS = ("open", "openat", "creat")
_OWNERS = {"root": 0, "nobody": NOBODY, "other": 1234}
_LINKS = {
    "link": "root-file",
    "process": "/proc/self/comm",
    "device": "/dev/null",
    "folder": "/tmp",
}
_FLAGS = (
    os.O_RDONLY,
    os.O_WRONLY,
    os.O_CREAT,
    os.O_CREAT | os.O_WRONLY,
    os.O_CREAT | os.O_WRONLY | os.O_TRUNC,
    os.O_NOFOLLOW,
    os.O_PATH,
)

pytestmark = [
    pytest.mark.slow,  # it changes settings of the machine for a moment
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="changes settings of the machine"),
]


@pytest.fixture
def shared() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="redlane-"))
    path.chmod(0o1777)
    for name, owner in _OWNERS.items():
        file, fifo = path / f"{name}-file", path / f"{name}-fifo"
        file.write_text("contents")
        os.mkfifo(fifo)
        for each in (file, fifo):
            each.chmod(0o666)
            os.chown(each, owner, owner)
        for kind, target in _LINKS.items():
            link = path / f"{name}-{kind}"
            link.symlink_to(target)
            os.chown(link, owner, owner, follow_symlinks=False)
    yield path
    shutil.rmtree(path)


@pytest.fixture(params=["1", "2"], ids=["writable by all", "by groups too"])
def _protected(request: pytest.FixtureRequest) -> Iterator[None]:
    settings = Path("/proc/sys/fs")
    wanted = {"symlinks": "1", "regular": request.param, "fifos": request.param}
    files = {settings / f"protected_{name}": each for name, each in wanted.items()}
    before = {file: file.read_text() for file in files}
    for file, wish in files.items():
        file.write_text(wish)
    yield
    for file, value in before.items():
        file.write_text(value)


@pytest.mark.usefixtures("_protected")
@pytest.mark.parametrize(
    ("user", "changes"),
    [(None, False), (NOBODY, False), (None, True)],
    ids=["root", "ordinary user", "changed user"],
)
def test_what_others_have_put_there_is_opened_as_the_kernel_would(
    shared: Path, user: int | None, *, changes: bool
) -> None:
    def act() -> dict[str, str]:
        if changes:
            become(NOBODY)
        names = sorted(each.name for each in shared.iterdir())
        names += [f"{owner}-folder/{end}" for owner in _OWNERS for end in ("", ".")]
        return {
            f"{name} {flags:#o}": tried(f"{shared}/{name}", flags)
            for name in names
            for flags in _FLAGS
        }

    def allowing(kit: Kit) -> Mapping[str, Handler]:
        kit.world.credentials_differ = changes
        opening = Opening(kit.listener, kit.world, Decisions(), blocking=kit.blocking)
        return opening.handlers()

    native: dict[str, str] = forked(act, user=user)
    assert "EACCES" in native.values()
    assert supervised(act, OPENS, allowing, user=user).result == native


def tried(path: str, flags: int) -> str:
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "opened"
