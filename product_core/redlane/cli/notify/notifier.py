"""Shows what is held, one notification each, and decides what a person presses."""

import asyncio
import secrets
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from redlane.cli.notify.cards import (
    ALLOW_FOR,
    BLOCK,
    MORE,
    card_of,
    failure,
    overview,
)
from redlane.cli.notify.desktop import (
    Changed,
    Closed,
    Desktop,
    NoServerError,
    Pressed,
    open_desktop,
)
from redlane.cli.output import print_note
from redlane.client import AsyncClient, ReviewFollower, operations
from redlane.errors import DaemonError
from redlane.model.review_text import Review, alike

__all__ = ["MOST_SHOWN", "Notifier", "notify"]

MOST_SHOWN = 4
"""Notifications at once, each of another thing; of more, one tells the number."""

_FOR_A_WHILE = 600
_LAST_SECONDS = 2.0
_AGAIN_SECONDS = 5.0
_OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class _Again:
    """What could not be shown is to be tried once more."""


_News = list[Review] | Pressed | Closed | Changed | _Again


@dataclass(slots=True)
class _Held:
    """A review, and its notification: `number` is 0 as long as it has none.

    What is shown now has buttons that begin with `mark`; others count for nothing.
    """

    review: Review
    number: int = 0
    page: int = 0
    mark: str = ""
    is_dismissed: bool = False


async def notify() -> None:
    """Go on until the desktop is gone, which raises UsageError."""
    async with open_desktop() as desktop:
        notifier = Notifier(desktop, AsyncClient())
        hears = asyncio.create_task(desktop.listen(notifier.news.put_nowait))
        runs = asyncio.create_task(notifier.run())
        tasks = (hears, runs, asyncio.create_task(notifier.follow()))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, notifier.leave)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            notifier.leave()
            await asyncio.wait((runs,), timeout=_LAST_SECONDS)
            for task in tasks:
                task.cancel()
        for task in tasks:
            if task.done() and not task.cancelled():
                task.result()


class Notifier:
    """What is held, and what is shown of it; all that happens comes by `news`."""

    def __init__(self, desktop: Desktop, client: AsyncClient) -> None:
        """Show on `desktop` what the daemon of `client` holds."""
        self.news: asyncio.Queue[_News | None] = asyncio.Queue()
        self._desktop = desktop
        self._client = client
        self._held: dict[str, _Held] = {}
        self._more = (0, 0)
        self._told = ""
        self._loop = asyncio.get_running_loop()
        self._again: asyncio.TimerHandle | None = None

    async def follow(self) -> None:
        """Have what is held among the news, whenever it is another list."""
        async for answer in self._client.follow(ReviewFollower()):
            self.news.put_nowait(answer["reviews"])

    def leave(self) -> None:
        """Have `run` end, once it has done what came before."""
        self.news.put_nowait(None)

    async def run(self) -> None:
        """Do what the news ask for; leave no dead button behind."""
        await self._desktop.subscribe()
        while (news := await self.news.get()) is not None:
            await self._take(news)
        with suppress(NoServerError):
            await self._clear()

    async def _take(self, news: _News) -> None:
        try:
            match news:
                case Pressed():
                    await self._press(news)
                case Closed(number):
                    self._dismiss(number)
                case Changed(name):
                    self._server_is(name)
                case _Again():
                    pass
                case reviews:
                    await self._update(reviews)
            await self._show()
        except NoServerError as error:
            self._forget_server()
            self._tell(f"nothing is shown: {error}")
            if self._again is None or self._again.when() < self._loop.time():
                again = partial(self.news.put_nowait, _Again())
                self._again = self._loop.call_later(_AGAIN_SECONDS, again)

    async def _update(self, reviews: list[Review]) -> None:
        before, self._held = self._held, {}
        for review in reviews:
            known = before.pop(review["id"], None)
            self._held[review["id"]] = known or _Held(review)
        for gone in before.values():
            if gone.number:
                await self._desktop.close(gone.number)

    async def _show(self) -> None:
        """Show what is not shown yet, oldest first, as far as there is room."""
        wanted = [each for each in self._held.values() if not each.is_dismissed]
        if not wanted:
            await self._count(0)
            return
        await self._find_server()
        shown = self._one_of_each(wanted)[:MOST_SHOWN]
        for held in shown:
            if not held.number:
                await self._show_one(held)
        await self._count(len(wanted) - len(shown))

    def _one_of_each(self, wanted: list[_Held]) -> list[_Held]:
        """The first of all that are the same."""
        return [self._held[g[0]["id"]] for g in alike(each.review for each in wanted)]

    async def _show_one(self, held: _Held) -> None:
        card = card_of(held.review, held.page)
        held.mark = secrets.token_hex(8)
        buttons = tuple((held.mark + what, words) for what, words in card.buttons)
        held.number = await self._desktop.show(replace(card, buttons=buttons))

    async def _count(self, count: int) -> None:
        """Tell that so many more are held."""
        number, told = self._more
        if count == told:
            return
        if count:
            number = await self._desktop.show(overview(count), number)
        elif number:
            await self._desktop.close(number)
            number = 0
        self._more = number, count

    async def _press(self, pressed: Pressed) -> None:
        held = self._of(pressed.number)
        if held is None or not pressed.button.startswith(held.mark):
            return
        wanted = pressed.button.removeprefix(held.mark)
        number, held.number = held.number, 0
        if wanted == MORE:
            # As a new one: of the old one it may yet be told that it is gone.
            held.page += 1
            await self._desktop.close(number)
            return
        held.is_dismissed = True
        await self._desktop.close(number)
        await self._decide(held.review["id"], wanted)

    async def _decide(self, review: str, wanted: str) -> None:
        decision = BLOCK if wanted == BLOCK else "allow"
        seconds = _FOR_A_WHILE if wanted == ALLOW_FOR else None
        try:
            await self._client.send(
                operations.decide(review, decision, seconds=seconds)
            )
        except DaemonError as error:
            await self._desktop.show(failure(str(error)))

    def _dismiss(self, number: int) -> None:
        """Whoever sent it away does not want it back: `redlane review` has it."""
        held = self._of(number)
        if held is not None:
            held.number, held.is_dismissed = 0, True
        elif number == self._more[0]:
            self._more = 0, self._more[1]

    def _of(self, number: int) -> _Held | None:
        """What is shown by a number."""
        found = (each for each in self._held.values() if each.number == number)
        return next(found, None)

    async def _find_server(self) -> None:
        """Find who shows notifications, and ask the daemon whether it may."""
        if self._desktop.server is not None:
            return
        server = await self._desktop.find_server()
        try:
            found = await self._client.send(operations.process(server.pid))
        except DaemonError as error:
            raise NoServerError(f"who would show it cannot be told: {error}") from error
        if found["place"] != _OUTSIDE:
            where = f"session {found['session']}" if found["session"] else "a session"
            raise NoServerError(
                f"process {server.pid}, which would, is in {where} itself"
            )
        abilities = await self._desktop.abilities(server)
        self._desktop.server = replace(server, abilities=abilities)
        self._tell(f"process {server.pid} shows what is held")

    def _server_is(self, name: str) -> None:
        """It may be the one that was found already, and shows what is held."""
        server = self._desktop.server
        if server is None or server.name != name:
            self._forget_server()

    def _forget_server(self) -> None:
        self._desktop.server = None
        self._more = (0, 0)
        for held in self._held.values():
            held.number = held.page = 0

    async def _clear(self) -> None:
        for held in self._held.values():
            if held.number:
                await self._desktop.close(held.number)
        await self._count(0)

    def _tell(self, text: str) -> None:
        """Say it once, not with every review."""
        if text != self._told:
            print_note(text)
        self._told = text
