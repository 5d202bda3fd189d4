"""`redlane review` on a terminal: what is held, as it comes, and a key to decide it."""

import curses
import os
import select
import sys
import threading
import time
from queue import SimpleQueue
from typing import Any

from redlane.cli import exit_codes
from redlane.cli.review_board import Board, Wish
from redlane.client import Client, operations
from redlane.client.following import ReviewFollower
from redlane.errors import DaemonError, UsageError

__all__ = ["show_reviews"]

_TICK_SECONDS = 1.0


def show_reviews() -> int:
    """Show them until somebody leaves; raises UsageError without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "`redlane review` wants a terminal: elsewhere say list, show, allow, block"
        )
    client = Client()
    first = client.send(operations.reviews())["reviews"]
    os.environ.setdefault("ESCDELAY", "25")
    try:
        curses.wrapper(_Screen(client, first).run)
    except curses.error as error:
        raise UsageError(f"this terminal cannot show it: {error}") from error
    return exit_codes.OK


class _Screen:
    """The terminal, and what comes from it and from the daemon."""

    def __init__(self, client: Client, first: list[dict[str, Any]]) -> None:
        self._client = client
        self._board = Board()
        self._board.update(first)
        self._news: SimpleQueue[Any] = SimpleQueue()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def run(self, window: "curses.window") -> None:
        """Draw, wait for a key, for news or for a second to pass, and so on."""
        curses.curs_set(0)
        window.nodelay(True)  # noqa: FBT003  # the library's
        threading.Thread(target=self._follow, daemon=True).start()
        poll = select.poll()
        poll.register(sys.stdin, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
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
                self._tell(answer)
        except DaemonError as error:
            self._tell(error)

    def _tell(self, news: object) -> None:
        self._news.put(news)
        os.eventfd_write(self._bell, 1)

    def _take_news(self) -> None:
        while not self._news.empty():
            os.eventfd_read(self._bell)
            news = self._news.get()
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
        self._board.height, self._board.width = window.getmaxyx()
        window.erase()
        for number, (line, is_chosen) in enumerate(self._board.rows()):
            style = curses.A_REVERSE if is_chosen else curses.A_NORMAL
            if number >= self._board.height:
                break
            # The last column of the last line cannot be written without scrolling.
            is_last = number == self._board.height - 1
            window.addnstr(number, 0, line, self._board.width - is_last, style)
        window.refresh()
