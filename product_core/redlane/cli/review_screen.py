"""`redlane review` on a terminal: what is held, as it comes, and a key to decide it."""

import curses
import locale
import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from redlane.cli import exit_codes
from redlane.cli.review_board import Board, Wish
from redlane.client import Client, operations
from redlane.client.following import ReviewFollower
from redlane.errors import DaemonError, UsageError

__all__ = ["News", "show_reviews"]

_TICK_SECONDS = 1.0
_ENDS_A_BURST = ("\x1b", "\n", "\r")


def show_reviews() -> int:
    """Show them until somebody leaves; raises UsageError without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "`redlane review` wants a terminal: elsewhere say list, show, allow, block"
        )
    locale.setlocale(locale.LC_CTYPE, "")
    if locale.nl_langinfo(locale.CODESET) != "UTF-8":
        raise UsageError(
            "`redlane review` wants a locale of UTF-8, such as LC_ALL=C.UTF-8: in "
            "others letters would be missing"
        )
    client = Client()
    first = client.send(operations.reviews())["reviews"]
    os.environ.setdefault("ESCDELAY", "25")
    try:
        curses.wrapper(_Screen(client, first).run)
    except curses.error as error:
        raise UsageError(f"this terminal cannot show it: {error}") from error
    return exit_codes.OK


class News:
    """What has come, put by one thread and taken by another, that polls `bell`."""

    def __init__(self) -> None:
        """Nothing has come."""
        self.bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._news: SimpleQueue[Any] = SimpleQueue()

    def put(self, news: object) -> None:
        """Have it taken soon."""
        self._news.put(news)
        os.eventfd_write(self.bell, 1)

    def take(self) -> Iterator[Any]:
        """All that has come since the last time."""
        with suppress(BlockingIOError):  # nobody has rung
            os.eventfd_read(self.bell)
        while not self._news.empty():
            yield self._news.get()


class _Screen:
    """The terminal, and what comes from it and from the daemon."""

    def __init__(self, client: Client, first: list[dict[str, Any]]) -> None:
        self._client = client
        self._board = Board()
        self._board.update(first)
        self._news = News()

    def run(self, window: "curses.window") -> None:
        """Draw, wait for a key, for news or for a second to pass, and so on."""
        with suppress(curses.error):  # not every terminal can
            curses.curs_set(0)
        window.nodelay(True)  # noqa: FBT003  # the library's
        threading.Thread(target=self._follow, daemon=True).start()
        poll = select.poll()
        poll.register(sys.stdin, select.POLLIN)
        poll.register(self._news.bell, select.POLLIN)
        last = time.monotonic()
        while not self._board.leaves:
            self._draw(window)
            ready = poll.poll(_TICK_SECONDS * 1000)
            if any(event & select.POLLHUP for _, event in ready):
                return  # the terminal is gone, and no signal has told
            now = time.monotonic()
            self._board.tick(now - last)
            last = now
            self._take_news()
            self._take_keys(window)

    def _follow(self) -> None:
        """Have each change put where `run` finds it."""
        try:
            for answer in self._client.follow(ReviewFollower()):
                self._news.put(answer)
        except DaemonError as error:
            self._news.put(error)

    def _take_news(self) -> None:
        for news in self._news.take():
            if isinstance(news, DaemonError):
                raise news
            self._board.update(news["reviews"])

    def _take_keys(self, window: "curses.window") -> None:
        while True:
            try:
                key = window.get_wch()
            except curses.error:
                return  # there is none
            name = key if isinstance(key, str) else curses.keyname(key).decode()
            wish = self._board.press(name)
            if wish is not None:
                self._decide(wish)
            if wish is not None or name in _ENDS_A_BURST:
                curses.flushinp()  # what was pasted or typed ahead decides nothing
                return

    def _decide(self, wish: Wish) -> None:
        wanted = operations.decide(
            wish.review, wish.decision, wish.note, seconds=wish.seconds
        )
        try:
            self._client.send(wanted)
        except DaemonError as error:
            self._board.message = str(error)
            return
        verb = "allowed" if wish.decision == "allow" else "blocked"
        told = f"{wish.review} is {verb}{' for 10 minutes' if wish.seconds else ''}"
        self._board.decided(wish, told)

    def _draw(self, window: "curses.window") -> None:
        self._board.resize(*window.getmaxyx())
        window.erase()
        for number, (line, is_chosen) in enumerate(self._board.rows()):
            style = curses.A_REVERSE if is_chosen else curses.A_NORMAL
            if number >= self._board.height:
                break
            # The last column of the last line cannot be written without scrolling.
            is_last = number == self._board.height - 1
            with suppress(curses.error):  # where this and curses count letters apart
                window.addnstr(number, 0, line, self._board.width - is_last, style)
        window.refresh()
