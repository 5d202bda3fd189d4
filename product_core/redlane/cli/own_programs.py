"""Redlane's own programs, where its user can change them: no session does.

What Debian's packages have put there is root's.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import redlane

__all__ = ["own_programs"]


def own_programs(work: Path) -> Iterator[str]:
    """What a session that works in `work` must leave as it is, by canonical paths.

    It is the virtual environment that this is installed in, with all that it runs.
    Where that lies where sessions work, or they work in it, it is Redlane alone.
    """
    environment = Path(os.path.realpath(sys.prefix))
    work = Path(os.path.realpath(work))
    is_own = sys.prefix != sys.base_prefix and not (
        environment.is_relative_to(work) or work.is_relative_to(environment)
    )
    package = Path(os.path.realpath(next(iter(redlane.__path__))))
    for each in (environment, package) if is_own else (package,):
        if os.access(each, os.W_OK):
            yield str(each)
