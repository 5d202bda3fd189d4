"""Commands run twice: alone, and in a session whose system calls are judged."""

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from spec.control_client import peer_pid
from spec.redlane_home import REDLANE, Home, Ran

__all__ = [
    "EXACT",
    "MANY_RACES",
    "ONE_OF_PEOPLE",
    "PEOPLE",
    "Guarded",
    "Person",
    "compiled",
    "guarded",
    "person_named",
    "place_on",
    "tree_of",
    "watching",
]

EXACT = (
    *("open", "openat", "creat", "unlink", "unlinkat", "rmdir"),
    *("rename", "renameat", "renameat2"),
)
"""The system calls that are done in the caller's place (Syscall policy rule 6)."""

PEOPLE = ("root", "user")
ONE_OF_PEOPLE = (
    ("root", pytest.param("user", marks=pytest.mark.slow))
    if os.getuid() == 0
    else PEOPLE
)
"""Both for long tests, but quickly only whoever runs the tests."""

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
}
MANY_RACES = int(os.environ.get("REDLANE_RACE_ROUNDS") or 100_000)
"""How often thorough tests try to be quicker than a judge; a million takes an hour."""

DEADLINE = 120.0
"""Seconds after which a command that has not ended is a failure."""


@dataclass(frozen=True)
class Person:
    """Who runs the daemon and the commands; None is whoever runs the tests.

    `lacks` is a capability that they have not, as `mknod`.
    """

    uid: int | None
    lacks: str = ""

    @property
    def words(self) -> list[str]:
        """The beginning of a command of theirs."""
        if self.uid is None and self.lacks and os.getuid() == 0:
            sets = (f"--bounding-set=-{self.lacks}", f"--inh-caps=-{self.lacks}")
            return ["setpriv", *sets, "--"]
        if self.uid is None:
            return []
        ids = [f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        return ["setpriv", *ids, "--"]

    def own(self, path: Path) -> None:
        """Give them a directory, and all in it."""
        if self.uid is None:
            return
        for each in [path, *path.rglob("*")]:
            os.chown(each, self.uid, self.uid, follow_symlinks=False)


def person_named(name: str) -> Person:
    """`root`, or an ordinary user; skips the test where we cannot be that.

    The ordinary user that root takes on has no other processes: a test may signal all.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if os.getuid() == 0:
        return Person(None if name == "root" else 62000 + int(worker))
    if name == "root":
        pytest.skip("NOT TESTED AS ROOT: the tests run as an ordinary user")
    return Person(None)


def watching(calls: Sequence[str] = EXACT, ident: str = "watch") -> dict[str, object]:
    """A policy that has calls judged, and blocks a path that nobody uses."""
    return {
        "id": ident,
        "type": "Regex",
        "context": "Syscall",
        "action": "Block",
        "syscall": list(calls),
        "pattern": "^/nowhere/at/all$",
    }


class Guarded:
    """A home with a daemon, and a directory in which commands work."""

    def __init__(self, person: Person, base: Path, work: Path) -> None:
        """Everything stands below `base`, but for `work`; policies are written next."""
        self.person = person
        self.base = base
        self.work = work
        self.home = Home(base)
        self.home.policies(watching())
        self.home.role("watched", "watch")

    def start(self) -> None:
        """Start the daemon, as the person."""
        self.person.own(self.base)
        self.person.own(self.work)
        ran = self.alone(REDLANE, "start", "--role", "watched", env=self.home.env)
        assert ran.code == 0, ran

    def stop(self) -> None:
        """Stop the daemon, by force if it must be."""
        if peer_pid(self.home.control.socket) is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self.alone(REDLANE, "stop", env=self.home.env, deadline=20)
        if (pid := peer_pid(self.home.control.socket)) is not None:
            os.kill(pid, signal.SIGKILL)

    def renew_work(self) -> None:
        """Empty the working directory."""
        for each in self.work.iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()

    def alone(
        self,
        *command: str | Path,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        deadline: float = DEADLINE,
    ) -> Ran:
        """Run a command as it is, without us."""
        given = {**ENVIRONMENT, "HOME": str(self.home.user)} if env is None else env
        return self._run([*self.person.words, *command], given, stdin, deadline)

    def supervised(
        self,
        *command: str | Path,
        role: str = "watched",
        stdin: str = "",
        deadline: float = DEADLINE,
    ) -> Ran:
        """Run a command in a session of a role, in the environment of `alone`."""
        words = [*self.command(*command, role=role)]
        return self._run(words, self.home.env, stdin, deadline)

    def command(self, *command: str | Path, role: str = "watched") -> list[str]:
        """The words that run a command in a session."""
        environment = {**ENVIRONMENT, "HOME": str(self.home.user)}
        words = [f"{name}={value}" for name, value in environment.items()]
        run = [str(REDLANE), "run", "--role", role, "--", "/usr/bin/env", "-i"]
        return [*self.person.words, *run, *words, *map(str, command)]

    @contextmanager
    def running(
        self, *command: str | Path, role: str = "watched"
    ) -> Iterator["subprocess.Popen[str]"]:
        """A command in a session, as long as the block lasts."""
        with subprocess.Popen(
            self.command(*command, role=role),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.home.env,
            cwd=self.work,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                _end(process.pid)

    def _run(
        self,
        words: Sequence[str | Path],
        env: Mapping[str, str],
        stdin: str,
        deadline: float,
    ) -> Ran:
        """In a session of its own, so that a signal to its group reaches no test."""
        with subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=self.work,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(stdin.encode(), timeout=deadline)
            except BaseException:
                _end(process.pid)
                raise
        texts = (each.decode(errors="surrogateescape") for each in (out, err))
        return Ran(process.returncode, *texts)


def _end(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


@contextmanager
def guarded(person: Person, work: Path | None = None) -> Iterator[Guarded]:
    """A home in which anybody may look; its daemon is started by the caller."""
    with tempfile.TemporaryDirectory(prefix="redlane-calls-") as name:
        base = Path(name)
        base.chmod(0o755)
        if work is None:
            work = base / "work"
            work.mkdir()
        made = Guarded(person, base, work)
        try:
            yield made
        finally:
            made.stop()


@contextmanager
def place_on(kind: str) -> Iterator[Path]:
    """An empty directory on a file system of that kind; skips where there is none."""
    make = {"tmpfs": _on_tmpfs, "ext4": _on_ext4}[kind]
    with make() as place:
        yield place


@contextmanager
def _on_tmpfs() -> Iterator[Path]:
    if not os.access("/dev/shm", os.W_OK) or _kind_of(Path("/dev/shm")) != "tmpfs":
        pytest.skip("NOT TESTED ON TMPFS: there is none at /dev/shm")
    with _directory_in(Path("/dev/shm")) as place:
        yield place


@contextmanager
def _on_ext4() -> Iterator[Path]:
    """An image of its own where we may mount one, else a directory of the machine's."""
    with tempfile.TemporaryDirectory(prefix="redlane-ext4-") as name:
        base = Path(name)
        base.chmod(0o755)
        if _mounted(base):
            try:
                inside = base / "mount" / "work"
                inside.mkdir()
                yield inside
            finally:
                subprocess.run(["umount", "--lazy", base / "mount"], check=True)
            return
        for each in (base, Path.home(), Path("/var/tmp")):
            if _kind_of(each) == "ext2/ext3" and os.access(each, os.W_OK):
                with _directory_in(each) as place:
                    yield place
                return
    pytest.skip("NOT TESTED ON EXT4: no image can be mounted, no directory is on one")


@contextmanager
def _directory_in(parent: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="redlane-calls-", dir=parent) as name:
        Path(name).chmod(0o755)
        inside = Path(name) / "work"
        inside.mkdir()
        yield inside


def _mounted(base: Path) -> bool:
    image, point = base / "image", base / "mount"
    if os.getuid() != 0 or not shutil.which("mkfs.ext4"):
        return False
    with image.open("wb") as file:
        file.truncate(256 << 20)
    point.mkdir()
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    mount = ["mount", "-o", "loop", str(image), str(point)]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


def _kind_of(path: Path) -> str:
    """The type of the file system, as stat(1) calls it."""
    words = ["stat", "--file-system", "--format=%T", str(path)]
    return subprocess.check_output(words, text=True).strip()


def tree_of(top: Path, ignored: Sequence[str] = ()) -> dict[str, str]:
    """What a directory holds: kinds, modes, owners, links, and contents by hash."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if not any(path.match(each) for each in ignored):
            found[name] = _described(path)
    return found


def _described(path: Path) -> str:
    status = path.lstat()
    what = f"{stat.filemode(status.st_mode)} {status.st_uid}:{status.st_gid}"
    if stat.S_ISLNK(status.st_mode):
        return f"{what} -> {path.readlink()}"
    if stat.S_ISREG(status.st_mode):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        return f"{what} links={status.st_nlink} {status.st_size} {digest}"
    return what


def compiled(source: Path | str, program: Path, *options: str) -> Path:
    """Compile a C program; skips, loudly, where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("NOT TESTED: there is no C compiler")
    if isinstance(source, str):
        text = source
        source = program.with_suffix(".c")
        source.write_text(text)
    words = [compiler, "-O2", "-Wall", "-pthread", "-o", str(program)]
    words += [str(source), *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    program.chmod(0o755)
    return program
