"""The notifications of a desktop (freedesktop.org), over D-Bus.

Whoever shows them answers in a person's place. A connection to the bus has one name for
as long as it lasts, and no other one ever gets it: so what was found fit to be asked is
what answers, and what others say is not heard.
"""

import asyncio
import html
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeepney import (
    DBus,
    DBusAddress,
    HeaderFields,
    MatchRule,
    Message,
    MessageType,
    new_method_call,
)
from jeepney.io.asyncio import DBusConnection, open_dbus_connection

from redlane.cli.notify.cards import Card
from redlane.errors import RedlaneError, UsageError

__all__ = [
    "Changed",
    "Closed",
    "Desktop",
    "NoServerError",
    "Pressed",
    "Server",
    "open_desktop",
]

_NAME = "org.freedesktop.Notifications"
_PATH = "/org/freedesktop/Notifications"
_BUS = "org.freedesktop.DBus"
_SECONDS = 10.0
_NEVER = 0


class NoServerError(RedlaneError):
    """Nobody shows notifications, or whoever should does not."""


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button of a notification was pressed."""

    number: int
    button: str


@dataclass(frozen=True, slots=True)
class Closed:
    """A notification is gone."""

    number: int


@dataclass(frozen=True, slots=True)
class Changed:
    """Another connection shows notifications from now on, or nobody: ""."""

    name: str


@dataclass(frozen=True, slots=True)
class Server:
    """Who shows notifications: a connection to the bus, and its process."""

    name: str
    pid: int
    abilities: frozenset[str] = frozenset()


class Desktop:
    """A connection to the bus; for one event loop.

    Only what `server` says is heard, once somebody has set it.
    """

    def __init__(self, connection: DBusConnection) -> None:
        """Speak over `connection`; nothing is heard without `listen`."""
        self._connection = connection
        self._answers: dict[int, tuple[str, asyncio.Future[Message]]] = {}
        self._is_over = False
        self.server: Server | None = None

    async def listen(self, hear: Callable[[Pressed | Closed | Changed], None]) -> None:
        """Hear what comes until the bus is gone, which raises UsageError."""
        try:
            while True:
                self._take(await self._connection.receive(), hear)
        except (EOFError, OSError) as error:
            raise UsageError("the desktop's message bus is gone") from error
        finally:
            self._is_over = True
            for _, answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(NoServerError("the message bus is gone"))

    async def subscribe(self) -> None:
        """Have the bus tell what notifications do, and who shows them."""
        changed = MatchRule(
            type="signal", sender=_BUS, interface=_BUS, member="NameOwnerChanged"
        )
        changed.add_arg_condition(0, _NAME)
        for rule in (changed, MatchRule(type="signal", interface=_NAME, path=_PATH)):
            await self._ask(DBus().AddMatch(rule))

    async def find_server(self) -> Server:
        """Who shows notifications, started if need be; raises NoServerError."""
        # One that is there already need not be one that can be started.
        with suppress(NoServerError):
            await self._ask(DBus().StartServiceByName(_NAME))
        (name,) = await self._ask(DBus().GetNameOwner(_NAME))
        (pid,) = await self._ask(DBus().GetConnectionUnixProcessID(name))
        return Server(name, pid)

    async def abilities(self, server: Server) -> frozenset[str]:
        """What it can show; raises NoServerError."""
        (abilities,) = await self._ask(_call(server, "GetCapabilities"))
        return frozenset(abilities)

    async def show(self, card: Card, number: int = 0) -> int:
        """Its number; in place of the notification of `number`, if there is one."""
        server = self._asked()
        text = "\n".join(card.lines)
        if "body-markup" in server.abilities:
            text = html.escape(text, quote=False)
        has_buttons = "actions" in server.abilities
        words = [word for pair in card.buttons for word in pair if has_buttons]
        hints = {"urgency": ("y", 2), "category": ("s", "device"), "resident": ("b", 0)}
        body = ("Redlane", number, "dialog-warning", card.summary, text, words)
        call = _call(server, "Notify", "susssasa{sv}i", (*body, hints, _NEVER))
        (given,) = await self._ask(call)
        return int(given)

    async def close(self, number: int) -> None:
        """Take a notification back."""
        await self._ask(_call(self._asked(), "CloseNotification", "u", (number,)))

    def _asked(self) -> Server:
        if self.server is None:
            raise NoServerError("nobody shows notifications")
        return self.server

    def _take(
        self, message: Message, hear: Callable[[Pressed | Closed | Changed], None]
    ) -> None:
        fields, kind = message.header.fields, message.header.message_type
        sender = fields.get(HeaderFields.sender)
        if kind in (MessageType.method_return, MessageType.error):
            serial = fields.get(HeaderFields.reply_serial)
            # Anybody may call a message of theirs an answer: one is of who was asked.
            asked, answer = self._answers.get(serial, ("", None))
            # The bus answers for whoever went away.
            is_theirs = sender == asked or (
                kind is MessageType.error and sender == _BUS
            )
            if answer is not None and is_theirs and not answer.done():
                answer.set_result(message)
            return
        member = fields.get(HeaderFields.member)
        if kind is not MessageType.signal:
            return
        if sender == _BUS and member == "NameOwnerChanged":
            hear(Changed(str(message.body[2])))
        elif self.server is not None and sender == self.server.name:
            match member, message.body:
                case "ActionInvoked", (int(number), str(button)):
                    hear(Pressed(number, button))
                case "NotificationClosed", (int(number), int()):
                    hear(Closed(number))

    async def _ask(self, call: Message) -> tuple[Any, ...]:
        """The answer; raises NoServerError for an error, and for none in time."""
        if self._is_over:
            raise NoServerError("the message bus is gone")
        serial = next(self._connection.outgoing_serial)
        answer = asyncio.get_running_loop().create_future()
        asked = call.header.fields[HeaderFields.destination]
        self._answers[serial] = asked, answer
        try:
            await self._connection.send(call, serial=serial)
            async with asyncio.timeout(_SECONDS):
                message = await answer
        except (TimeoutError, OSError) as error:
            raise NoServerError("no answer comes over the message bus") from error
        finally:
            self._answers.pop(serial, None)
        body: tuple[Any, ...] = message.body
        if message.header.message_type is MessageType.error:
            name = message.header.fields.get(HeaderFields.error_name)
            raise NoServerError(str(body[0]) if body else str(name))
        return body


@asynccontextmanager
async def open_desktop() -> AsyncIterator[Desktop]:
    """The desktop that this process belongs to; raises UsageError without one."""
    address = _address(os.environ)
    if not address:
        raise UsageError(
            "there is no desktop here: its message bus (DBUS_SESSION_BUS_ADDRESS) is "
            "missing; `redlane review` needs a terminal only"
        )
    try:
        connection = await open_dbus_connection(address)
    except (EOFError, OSError, RuntimeError, ValueError, KeyError) as error:
        raise UsageError(
            f"the message bus {address} cannot be reached: {error}"
        ) from error
    async with connection:
        yield Desktop(connection)


def _address(environ: Mapping[str, str]) -> str:
    """The bus of this desktop, or "" where there is none."""
    address = environ.get("DBUS_SESSION_BUS_ADDRESS", "")
    runtime = environ.get("XDG_RUNTIME_DIR")
    if address or not runtime or not Path(runtime, "bus").exists():
        return address
    return f"unix:path={runtime}/bus"


def _call(
    server: Server, name: str, signature: str | None = None, body: tuple[Any, ...] = ()
) -> Message:
    address = DBusAddress(_PATH, server.name, _NAME)
    return new_method_call(address, name, signature, body)
