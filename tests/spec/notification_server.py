"""Shows notifications (freedesktop.org) on the bus of its environment, as told to.

    notification_server.py [WORDS]

Each is printed as a line of JSON; lines on standard input press and dismiss them. The
button with these words is pressed as soon as there is one.
"""

import json
import sys
import threading
from itertools import count
from typing import Any

from jeepney import (
    DBus,
    DBusAddress,
    Message,
    MessageType,
    new_method_return,
    new_signal,
)
from jeepney.io.blocking import DBusConnection, open_dbus_connection
from jeepney.low_level import HeaderFields

NAME = "org.freedesktop.Notifications"
OBJECT = DBusAddress("/org/freedesktop/Notifications", NAME, NAME)
BY_PERSON, BY_CALL = 2, 3


def tell(**what: Any) -> None:
    """Print it."""
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


def answered(call: Message, numbers: "count[int]") -> tuple[str, tuple[Any, ...]]:
    """What a call is answered with, after it was printed."""
    match call.header.fields[HeaderFields.member]:
        case "GetCapabilities":
            return "as", (["actions", "body", "body-markup"],)
        case "Notify":
            _, replaces, _, summary, body, buttons, _, _ = call.body
            number = replaces or next(numbers)
            tell(number=number, summary=summary, body=body, buttons=buttons)
            return "u", (number,)
        case name:
            tell(call=name, body=call.body)
            return "", ()


def obey(connection: DBusConnection) -> None:
    """Do what standard input says, until it ends."""
    for line in sys.stdin:
        what, number, *button = line.split()
        if what == "press":
            pressed = (int(number), *button)
            connection.send(new_signal(OBJECT, "ActionInvoked", "us", pressed))
        closed = (int(number), BY_PERSON)
        connection.send(new_signal(OBJECT, "NotificationClosed", "uu", closed))


def at_once(connection: DBusConnection, call: Message, answer: tuple[Any, ...]) -> None:
    """Press the button that was asked for."""
    words = call.body[5] if len(answer) == 1 and len(call.body) > 5 else []
    for key, word in zip(words[::2], words[1::2], strict=True):
        if word in sys.argv[1:]:
            pressed = (answer[0], key)
            connection.send(new_signal(OBJECT, "ActionInvoked", "us", pressed))


def main() -> None:
    """Serve until the bus is gone."""
    connection = open_dbus_connection("SESSION")
    connection.send(DBus().RequestName(NAME))
    threading.Thread(target=obey, args=(connection,), daemon=True).start()
    numbers = count(1)
    while True:
        call = connection.receive()
        if call.header.message_type is MessageType.method_call:
            signature, body = answered(call, numbers)
            connection.send(new_method_return(call, signature or None, body))
            at_once(connection, call, body)
        elif call.header.message_type is MessageType.method_return:
            tell(ready=True)
        if call.header.fields.get(HeaderFields.member) == "CloseNotification":
            closed = (call.body[0], BY_CALL)
            connection.send(new_signal(OBJECT, "NotificationClosed", "uu", closed))


if __name__ == "__main__":
    main()
