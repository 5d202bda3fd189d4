"""Small Debian systems to boot: made once, kept while they are fresh.

A tree holds systemd and little else. What our packages depend on lies in apt's cache
within it, so that a machine without a network can install them. Another one has them
installed: most machines are booted of that.
"""

import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from boot.archive import PASSED_ON, apt_options, sources

__all__ = ["BASE", "TreeError", "held_tree", "installed_tree"]

BASE = (
    "curl",
    "dbus",
    "libpam-systemd",
    "procps",
    "systemd",
    "systemd-sysv",
    "udev",
)
"""What a tree holds besides Debian's essential packages; Python is not among it."""

AT_HAND = ("autopkgtest", "python3-pip")
"""What some tests install besides, kept in apt's cache."""

_CACHE = Path(
    os.environ.get("REDLANE_BOOT_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redlane-boot"
)
_FRESH_SECONDS = 7 * 86400.0
_FOREIGN = ("Depends", "Pre-Depends", "Recommends")


class TreeError(Exception):
    """A tree could not be made; carries what the program said."""


@contextmanager
def held_tree(suite: str, debs: Sequence[Path] = ()) -> Iterator[Path]:
    """The tree of a suite with what `debs` need at hand; it stays while it is held."""
    name = f"{suite}-{_key(suite, debs)}"
    with _held(name, lambda tree: _make(tree, suite, debs)) as path:
        yield path


@contextmanager
def installed_tree(suite: str, debs: Sequence[Path]) -> Iterator[Path]:
    """The same with `debs` installed: as their maintainers' scripts leave it."""
    content = hashlib.sha256(b"".join(each.read_bytes() for each in debs))
    kind = f"{suite}-installed"
    with held_tree(suite, debs) as base:

        def made(tree: Path) -> None:
            _forget(kind, is_stale=lambda _: True)
            _install(tree, base, debs)

        with _held(f"{kind}-{content.hexdigest()[:12]}", made) as path:
            yield path


@contextmanager
def _held(name: str, make: Callable[[Path], None]) -> Iterator[Path]:
    """A tree of the cache, made if it is not there; it stays while it is held."""
    _CACHE.mkdir(parents=True, exist_ok=True, mode=0o700)
    tree = _CACHE / name
    _forget("", is_stale=lambda other: not _is_fresh(other))
    while True:
        # Shared: whoever else holds it must not be waited for.
        with _locked(tree, fcntl.LOCK_SH):
            if _is_fresh(tree):
                yield tree
                return
        with _locked(tree, fcntl.LOCK_EX):
            if not _is_fresh(tree):
                _remove(tree)
                make(tree)


def _key(suite: str, debs: Sequence[Path]) -> str:
    """What a tree is made of, in short; a rebuilt package with equal needs is equal."""
    needs = sorted(_needs(each) for each in debs)
    parts = (suite, *BASE, *AT_HAND, sources(suite), apt_options(), *needs)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _needs(deb: Path) -> str:
    command = ("dpkg-deb", "--field", deb, "Package", *_FOREIGN)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _is_fresh(tree: Path) -> bool:
    return tree.exists() and time.time() - tree.stat().st_mtime < _FRESH_SECONDS


def _install(tree: Path, base: Path, debs: Sequence[Path]) -> None:
    """Install packages in a copy of a tree that runs nothing."""
    with tempfile.TemporaryDirectory(prefix="redlane-tree-", dir=_CACHE) as scratch:
        unfinished = Path(scratch, "tree")
        subprocess.run(("cp", "--archive", base, unfinished), check=True)
        command = (
            *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit"),
            *("--as-pid2", "--private-network", "--resolv-conf=off", "--timezone=off"),
            *("--console=pipe", f"--bind-ro={debs[0].parent}:/debs"),
            *(f"--directory={unfinished}", "--setenv=DEBIAN_FRONTEND=noninteractive"),
            *("apt-get", "--quiet", "--yes", "install"),
            *(f"/debs/{each.name}" for each in debs),
        )
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TreeError(f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        os.utime(unfinished)
        unfinished.rename(tree)


def _make(tree: Path, suite: str, debs: Sequence[Path]) -> None:
    """Make it beside its place: a tree that exists is whole."""
    with tempfile.TemporaryDirectory(prefix="redlane-tree-", dir=_CACHE) as scratch:
        options, unfinished = Path(scratch, "apt.conf"), Path(scratch, "tree")
        options.write_text(apt_options() + "\n")
        command = (
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            "--skip=cleanup/apt",
            f"--include={','.join(BASE)}",
            f"--aptopt={options}",
            *_download(debs),
            suite,
            str(unfinished),
            "-",
        )
        done = subprocess.run(
            command,
            input=sources(suite),
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
            | PASSED_ON,
        )
        if done.returncode:
            raise TreeError(f"mmdebstrap {suite}: {done.stderr[-4000:]}")
        os.utime(unfinished)
        unfinished.rename(tree)


def _download(debs: Sequence[Path]) -> Iterator[str]:
    """Hooks that put packages into apt's cache within the tree."""
    fetch = 'chroot "$1" apt-get --quiet --yes --download-only install'
    yield f"--customize-hook={fetch} --no-install-recommends {' '.join(AT_HAND)}"
    if debs:
        ours = " ".join(f"/debs/{each.name}" for each in debs)
        copied = " ".join(shlex.quote(str(each)) for each in debs)
        yield '--customize-hook=mkdir "$1/debs"'
        yield f"--customize-hook=copy-in {copied} /debs"
        yield f"--customize-hook={fetch} {ours}"
        yield '--customize-hook=rm -r "$1/debs"'


def _forget(kind: str, *, is_stale: Callable[[Path], bool]) -> None:
    """Delete stale trees that nobody holds."""
    for other in _CACHE.glob(f"{kind}*-*[0-9a-f]"):
        if other.is_dir() and is_stale(other):
            with (
                contextlib.suppress(BlockingIOError),
                _locked(other, fcntl.LOCK_EX | fcntl.LOCK_NB),
            ):
                _remove(other)


def _remove(tree: Path) -> None:
    if tree.exists():
        shutil.rmtree(tree)


@contextmanager
def _locked(tree: Path, how: int) -> Iterator[None]:
    with tree.with_suffix(".lock").open("a") as held:
        fcntl.flock(held, how)
        yield
