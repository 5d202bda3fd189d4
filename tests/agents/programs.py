"""The agents' programs, installed once and kept.

They are below a directory whose name says what is in it: only the first test that
wants an agent installs it.
"""

import contextlib
import fcntl
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agents.agent import Agent
from fetching import fetch

__all__ = ["programs_of"]

PYTHON = "/usr/bin/python3"


@contextlib.contextmanager
def programs_of(agent: Agent, root: Path) -> Iterator[Path]:
    """Where an agent is installed below `root`; raises OSError when it cannot be."""
    what = " ".join((agent.kind, *agent.packages, sys.version))
    digest = hashlib.sha256(what.encode()).hexdigest()[:16]
    directory = root / f"agents-{agent.kind}-{digest}"
    with contextlib.ExitStack() as stack:
        if not directory.is_dir() and not os.access(root.parent, os.W_OK):
            # The working copy is not ours to write in.
            temporary = tempfile.TemporaryDirectory(prefix="agents-")
            directory = Path(stack.enter_context(temporary)) / directory.name
        directory.parent.mkdir(exist_ok=True)
        with directory.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # An environment of Python's is not moved: what is whole is marked.
            if not (directory / ".whole").exists():
                _install(agent, directory)
                (directory / ".whole").touch()
        yield directory


def _install(agent: Agent, directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    if agent.kind == "npm":
        (directory / "package.json").write_text("{}")
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        fetch("npm", "install", *options, *agent.packages, directory=directory)
        return
    fetch(PYTHON, "-m", "venv", directory)
    pip = (directory / "bin" / "python", "-m", "pip", "install", "--quiet")
    quick = ("--disable-pip-version-check", "--prefer-binary")
    fetch(*pip, *quick, *agent.packages, directory=directory)
