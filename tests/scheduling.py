"""Which tests share a worker when several run side by side, and which come first."""

import re
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["FileScheduling", "longest_first"]

_BOOTED = re.compile(r"tests/boot/(?P<module>[^:]+)::[^\[]+(?:\[(?P<suite>\w+))?")

_APART = ("tests/system/test_syscall_posix.py::",)
"""Files whose tests take ten minutes each and share nothing."""


class FileScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Tests of a file share a worker, and so what the file has made for all of them.

    Those that boot share one by module and suite, and so a machine. The groups of
    xdist itself (`loadgroup`) are lost with pytest 9.2, which keeps what a test is
    called elsewhere.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        """Keep the order of the files, which xdist would change."""
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        booted = _BOOTED.match(nodeid)
        if booted:
            return f"{booted['module']} {booted['suite']}"
        return nodeid if nodeid.startswith(_APART) else nodeid.partition("::")[0]


def longest_first(items: list[pytest.Item]) -> None:
    """Put files first whose tests may take long, so that no worker ends far behind."""
    longest: dict[object, float] = {}
    for item in items:
        longest[item.path] = max(longest.get(item.path, 0.0), _allowed_seconds(item))
    items.sort(key=lambda item: -longest[item.path])


def _allowed_seconds(item: pytest.Item) -> float:
    """The time that a test has been given, if it has its own."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark and mark.args else 0.0
