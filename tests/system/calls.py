"""Requests to the control API that a client of the standard library cannot make."""

import json
import socket
import threading
from typing import Any

from spec.control_client import Answer
from spec.redlane_home import Home, wait_for

from redlane.wire.sockets import connect_socket

__all__ = [
    "analyze",
    "in_background",
    "read_all",
    "read_answer",
    "shell",
    "shell_connection",
    "shell_frame",
    "wait_until_held",
]


def wait_until_held(home: Home) -> dict[str, Any]:
    def held() -> dict[str, Any] | None:
        reviews = home.control.rows("/api/reviews")
        return reviews[0] if reviews else None

    return wait_for(held)


def in_background(function: Any, *arguments: Any) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function(*arguments)))
    thread.start()
    return thread, found


def read_answer(connection: socket.socket) -> Answer:
    head, _, body = read_all(connection).partition(b"\r\n\r\n")
    return Answer(int(head.split()[1]), body.decode())


def read_all(connection: socket.socket) -> bytes:
    data = b""
    while piece := connection.recv(65536):
        data += piece
    connection.close()
    return data


def shell_connection(home: Home) -> socket.socket:
    return connect_socket(home.control.socket.with_name("shell.sock"), 30)


def shell_frame(body: bytes, cwd: bytes = b"/", before: bytes = b"") -> bytes:
    head = b"REDLANE 1 %d %d %d\n" % (len(cwd), len(before), len(body))
    return head + cwd + before + body


def shell(home: Home, body: bytes, cwd: bytes = b"/") -> socket.socket:
    connection = shell_connection(home)
    connection.sendall(shell_frame(body, cwd))
    return connection


def analyze(home: Home, body: object) -> socket.socket:
    connection = connect_socket(home.control.socket, 30)
    data = json.dumps(body).encode()
    head = "POST /api/analyze HTTP/1.1\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    return connection
