"""Opening files as somebody else: one thread, one moment, and back."""

import os
import sys
import threading
from pathlib import Path

import pytest

from redlane.contexts.shell.expansion.acting import Identity, acting_as, check_acting
from redlane.errors import DaemonError

OTHER = Identity(61001, 61001, (61005, 61006))
needs_root = pytest.mark.skipif(
    os.getuid() != 0, reason="NOT TESTED: needs root, to act as another user"
)


def seen() -> tuple[str, str, list[int]]:
    """The calling thread's user, group and supplementary groups for files."""
    lines = Path("/proc/thread-self/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return found["Uid"].split()[3], found["Gid"].split()[3], sorted(os.getgroups())


@needs_root
def test_thread_acts_and_is_itself_again() -> None:
    before = seen()
    with acting_as(OTHER):
        assert seen() == ("61001", "61001", [61005, 61006])
    assert seen() == before


@needs_root
def test_other_threads_stay_as_they_are() -> None:
    before = seen()
    found: list[object] = []
    ready, others = threading.Event(), threading.Event()

    def look() -> None:
        ready.set()
        others.wait(10)
        found.append(seen())

    thread = threading.Thread(target=look)
    thread.start()
    ready.wait(10)
    with acting_as(OTHER):
        others.set()
        thread.join()
    assert found == [before]


@needs_root
def test_thread_is_itself_again_however_deep_the_stack_is() -> None:
    """A stack that ends on the way back must not leave another user's rights."""
    before = seen()

    def deeper(left: int) -> None:
        if left:
            return deeper(left - 1)
        with acting_as(OTHER):
            return None

    ended = set()
    for depth in range(sys.getrecursionlimit()):
        try:
            deeper(depth)
        except RecursionError:
            ended.add(depth)
        assert seen() == before
    assert ended


@needs_root
def test_error_in_between_leaves_nothing_behind() -> None:
    before = seen()
    with pytest.raises(ZeroDivisionError), acting_as(OTHER):
        raise ZeroDivisionError
    assert seen() == before


@needs_root
def test_root_acting_as_a_user_opens_no_more_than_the_user(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0o600)
    with acting_as(OTHER), pytest.raises(PermissionError):
        secret.read_text()
    assert secret.read_text() == "x"


@needs_root
def test_machine_that_lets_us_act_passes_the_check() -> None:
    check_acting()


@pytest.mark.skipif(os.getuid() == 0, reason="root may act as anybody")
def test_ordinary_user_may_not_act_as_others() -> None:
    with pytest.raises(DaemonError, match="CAP_SETUID"):
        check_acting()
