"""Nobody but who is asked answers over a message bus."""

import asyncio
from functools import partial
from itertools import count
from typing import Any

import pytest
from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    new_error,
    new_method_return,
    new_signal,
)

from redlane.cli.notify.desktop import Desktop, NoServerError, Server

BUS, STRANGER = "org.freedesktop.DBus", ":1.66"
OBJECT = DBusAddress("/x", "org.x", "org.x")


class Wire:
    """A connection on which messages of anybody come, as a bus would pass them on."""

    def __init__(self) -> None:
        self.outgoing_serial = count(1)
        self.sent: asyncio.Queue[tuple[Message, int]] = asyncio.Queue()
        self.comes: asyncio.Queue[Message] = asyncio.Queue()

    async def send(self, message: Message, *, serial: int) -> None:
        message.header.serial = serial
        await self.sent.put((message, serial))

    async def receive(self) -> Message:
        return await self.comes.get()


def by(sender: str, message: Message, serial: int) -> Message:
    message.header.fields[HeaderFields.sender] = sender
    message.header.fields[HeaderFields.reply_serial] = serial
    return message


def forged(kind: str, call: Message, serial: int) -> Message:
    """What a stranger may have passed on, of what a bus lets through or not."""
    match kind:
        case "a signal":
            made = new_signal(OBJECT, "X", "as", (["actions"],))
        case "an answer":
            made = new_method_return(call, "as", (["actions"],))
        case _:
            made = new_error(call, "org.x.No")
    return by(STRANGER, made, serial)


async def asked(*answers: Any) -> Any:
    """What a server can show, after these came as answers."""
    wire = Wire()
    desktop = Desktop(wire)
    hears = asyncio.create_task(desktop.listen(lambda _: None))
    asks = asyncio.create_task(desktop.abilities(Server(":1.7", 7)))
    call, serial = await wire.sent.get()
    for answer in answers:
        wire.comes.put_nowait(answer(call, serial))
    try:
        return await asks
    finally:
        hears.cancel()


def true(call: Message, serial: int) -> Message:
    return by(":1.7", new_method_return(call, "as", (["body"],)), serial)


@pytest.mark.parametrize("kind", ["a signal", "an answer", "an error"])
def test_what_others_answer_is_not_heard(kind: str) -> None:
    assert asyncio.run(asked(partial(forged, kind), true)) == {"body"}


def test_bus_answers_for_who_went_away() -> None:
    def gone(call: Message, serial: int) -> Message:
        return by(BUS, new_error(call, "org.freedesktop.DBus.Error.NoReply"), serial)

    with pytest.raises(NoServerError, match="NoReply"):
        asyncio.run(asked(gone))
