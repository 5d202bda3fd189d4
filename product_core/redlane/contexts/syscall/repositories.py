"""Git's own directories for a directory that is in a working tree.

A session may have written what lies in its working directory. So no link is followed,
and a file that leads elsewhere counts only where the repository there leads back.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["repository_of"]

_LONGEST = 65_536
_WORKTREE = re.compile(r'^\s*worktree\s*=\s*"?([^"\n]*?)"?\s*$', re.MULTILINE)


def repository_of(work: str) -> Iterator[str]:
    """Canonical paths; none where `work`, an absolute path, is in no repository."""
    for above in (Path(work), *Path(work).parents):
        inside = above / ".git"
        try:
            mode = inside.lstat().st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            yield os.path.realpath(inside)
        elif stat.S_ISREG(mode):
            yield from _linked(inside)
        return


def _linked(file: Path) -> Iterator[str]:
    """Where the file of a submodule, or of a linked working tree, leads."""
    told = _text(file).removeprefix("gitdir:").strip()
    own = Path(os.path.realpath(file.parent / told))
    if any(own.is_relative_to(each / ".git" / "modules") for each in file.parents[1:]):
        tree = _WORKTREE.search(_text(own / "config"))
        if tree is not None and _leads(own, tree[1], file.parent):
            yield os.fspath(own)
    # What its files say of where the repository is, the session may have written.
    elif own.parent.name == "worktrees" and _leads(own, _text(own / "gitdir"), file):
        yield os.fspath(own)
        yield os.fspath(own.parent.parent)


def _leads(own: Path, told: str, to: Path) -> bool:
    return bool(told) and os.path.realpath(own / told) == os.path.realpath(to)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return os.fsdecode(opened.read(_LONGEST)).strip()
    except OSError:
        return ""
