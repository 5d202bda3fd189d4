"""A directory of a person's, in which programs run alone and by `redlane-run`."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from supervised import Person, person_named
from system.scripted_peer import ScriptedPeer, peer_at

__all__ = ["OWN_MOUNTS", "PYTHON", "Ground", "ground_of", "said_twice"]

PYTHON = os.path.realpath("/usr/bin/python3")
OWN_MOUNTS = ("/usr/bin/unshare", "-Urm")
"""What starts a program in namespaces of its own."""

PRELUDE = """\
import ctypes, errno, fcntl, mmap, os, pathlib, resource, signal, socket, stat, sys
import subprocess, tempfile, threading
c = ctypes.CDLL(None, use_errno=True)
R, W, RW = os.O_RDONLY, os.O_WRONLY, os.O_RDWR
def tried(what, *words, **more):
    try:
        return what(*words, **more)
    except OSError as error:
        return errno.errorcode[error.errno]
def call(number, *words):
    value = c.syscall(number, *words)
    return value if value >= 0 else errno.errorcode[ctypes.get_errno()]
def opened(path, flags=R, **at):
    file = os.open(path, flags, **at)
    told = fcntl.fcntl(file, fcntl.F_GETFL) & ~os.O_NOFOLLOW
    told = told, fcntl.fcntl(file, fcntl.F_GETFD)
    os.close(file)
    return told
def text(path, size=99, flags=R, **at):
    file = os.open(path, flags, **at)
    try:
        return os.read(file, size)
    finally:
        os.close(file)
def made(path, data=b"data", mode=0o644):
    file = os.open(path, W | os.O_CREAT, 0o600)
    os.write(file, data); os.fchmod(file, mode); os.close(file)
def child(what):
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            what()
        finally:
            sys.stdout.flush(); os._exit(0)
    return os.waitpid(pid, 0)[1]
def thread(what):
    one = threading.Thread(target=what); one.start(); one.join()
def stopped(what):  # a child that has done that, until its end is closed
    ready, told = os.pipe(); end, wait = os.pipe(); pid = os.fork()
    if not pid:
        os.close(wait); what(); os.write(told, b"x"); os.read(end, 1); os._exit(0)
    os.read(ready, 1)
    return pid, lambda: (os.close(wait), os.waitpid(pid, 0))
def until(what, expected):  # what depends on another process
    while (found := what()) != expected:
        os.sched_yield()
    return found
def writer_waits(path):  # whether somebody has it open to read
    return tried(os.open, path, W | os.O_NONBLOCK)
"""
"""What the programs of `said_twice` begin with."""


@dataclass(frozen=True)
class Ground:
    """Where they run, who runs them, and the daemon that is asked."""

    base: Path
    person: Person
    peer: ScriptedPeer

    @property
    def is_roots(self) -> bool:
        return not self.person.words and os.getuid() == 0

    @property
    def place(self) -> Path:
        return self.base / "place"

    def run(
        self,
        *words: str,
        options: Sequence[str] | None = None,
        stdin: str = "",
        within: Sequence[str] = (),
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program to its end: alone, or with such options of `redlane-run`.

        What starts it is started `within` something else.
        """
        before = [*self.person.words, *within]
        if options is not None:
            before += [str(self.base / "programs/redlane-run")]
            before += ["--socket", str(self.peer.path), "--session", "s"]
            before += [*options, "--"]
        return subprocess.run(
            [*before, *words],
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MARK": "of the test"},
            cwd=self.place,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def needs_namespaces(self) -> None:
        """Skip where the person has none."""
        if self.run(*OWN_MOUNTS, "true").returncode:
            pytest.skip("NOT TESTED: no namespaces are to be had here")

    def renew(self) -> None:
        """An empty place of the person's."""
        if self.place.exists():
            self.run(
                "/usr/bin/find", ".", "-type", "d", "-exec", "chmod", "u+rwx", "{}", ";"
            )
            shutil.rmtree(self.place)
        self.place.mkdir(mode=0o755)
        self.person.own(self.place)


@contextmanager
def ground_of(name: str, programs: Path) -> Iterator[Ground]:
    """The ground of the person of that name, who can reach all that lies there."""
    person = person_named(name)
    with tempfile.TemporaryDirectory(prefix="redlane-hidden-") as made:
        base = Path(made).resolve()
        base.chmod(0o755)
        shutil.copytree(programs, base / "programs")
        (base / "programs").chmod(0o755)
        with peer_at(base / "control.sock") as peer:
            for each in ("control.sock", "shell.sock"):
                (base / each).chmod(0o777)
            ground = Ground(base, person, peer)
            ground.renew()
            yield ground


def _said(ground: Ground, program: str, *before: str, is_held: bool) -> str:
    ground.renew()
    hidden = ["--hidden", f"={ground.base / 'secrets'}", "--hidden", "ssh=/none/at/all"]
    words = (*before, PYTHON, "-I", "-B", "-c", PRELUDE + program)
    done = ground.run(*words, options=hidden if is_held else None)
    return f"{done.stdout}{done.stderr}{done.returncode}"


def said_twice(ground: Ground, program: str, *before: str) -> tuple[str, str]:
    """What a program says held, and what it says alone."""
    alone = _said(ground, program, *before, is_held=False)
    assert "Traceback" not in alone, alone
    return _said(ground, program, *before, is_held=True), alone
