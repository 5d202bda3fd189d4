"""`redlane review` on a real terminal: what is held, as it comes, and a key for it."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from spec.held import REFUSED
from spec.redlane_home import REDLANE, REDLANE_SH, Home, wait_for
from system.test_terminal import Screen

LINES, COLUMNS = 40, 120
SIZE = struct.pack("HHHH", LINES, COLUMNS, 0, 0)


@contextmanager
def review_screen(home: Home, **more: str) -> Iterator[Screen]:
    """`redlane review`, until the block ends."""
    pid, master = pty.fork()
    if not pid:
        fcntl.ioctl(0, termios.TIOCSWINSZ, SIZE)
        environment = {**home.environment(), "TERM": "xterm", **more}
        os.execve(REDLANE, [str(REDLANE), "review"], environment)
    screen = Screen(pid, master)
    try:
        yield screen
    finally:
        os.close(master)
        if screen.status is None:
            os.waitpid(pid, 0)


def ask(home: Home, command: str) -> "subprocess.Popen[str]":
    """A command that is going to be held."""
    return home.spawn("-c", command, program=REDLANE_SH)


@pytest.mark.parametrize(
    ("key", "out", "status"), [("a", "odd one\n", 0), ("b", "", REFUSED)]
)
def test_what_is_held_comes_up_and_a_key_decides_it(
    holding: Home, key: str, out: str, status: int
) -> None:
    with review_screen(holding) as screen:
        screen.read_until("Nothing is held")
        shell = ask(holding, "echo odd one")
        screen.read_until("odd one")
        screen.type("nwhy not\n")
        screen.read_until("note: why not")
        screen.type(key)
        screen.read_until("is (allowed|blocked)")
        said, err = shell.communicate(timeout=20)
        assert (said, shell.returncode) == (out, status)
        assert ("why not" in err) is (key == "b")
        screen.type("q")
        assert screen.wait() == 0


def test_arrows_of_a_terminal_choose(holding: Home) -> None:
    first = ask(holding, "echo odd one")
    wait_for(lambda: holding.control.rows("/api/reviews"))
    second = ask(holding, "echo odd two")
    wait_for(lambda: len(holding.control.rows("/api/reviews")) > 1)
    with review_screen(holding) as screen:
        screen.read_until("2 held")
        screen.type("\x1bOB")
        press_until_decided(screen, "a", second)
        assert second.communicate(timeout=20)[0] == "odd two\n"
        assert first.poll() is None
        screen.type("\x1bOA")
        press_until_decided(screen, "b", first)
        first.communicate(timeout=20)
        assert first.returncode == REFUSED


def press_until_decided(
    screen: Screen, key: str, shell: "subprocess.Popen[str]"
) -> None:
    """A key that comes before the chosen one is drawn does not count."""

    def is_decided() -> bool:
        screen.type(key)
        return shell.poll() is not None

    wait_for(is_decided)


def test_without_a_terminal_it_says_what_else_there_is(holding: Home) -> None:
    ran = holding.run("review")
    assert (ran.code, ran.out) == (2, "")
    assert "list, show, allow, block" in ran.err


def test_terminal_that_cannot_show_it_is_told(holding: Home) -> None:
    with review_screen(holding, TERM="no-such") as screen:
        screen.read_until("this terminal cannot show it")


def test_it_ends_with_its_terminal_also_where_no_signal_tells(holding: Home) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with review_screen(holding) as screen:
            screen.read_until("Nothing is held")
    finally:
        signal.signal(signal.SIGHUP, before)


def test_without_a_daemon_it_says_so(home: Home) -> None:
    with review_screen(home) as screen:
        screen.read_until("the daemon is not running")
        assert screen.wait() == 3
