"""A mail server that means harm, as far as a mail server can."""

import socket
import time
import tracemalloc

import pytest
from hub_mail_server import mailer, scripted_server

from redlane_hub.mail import MailError

ENDLESS = b"".join(b"250-%d\r\n" % number for number in range(20_000))
MOST_GROWN = 4 * 1024 * 1024


@pytest.mark.parametrize("greeting", [b"", b"220 mail.test\r\n"], ids=["first", "then"])
def test_a_server_that_never_ends_its_reply_fills_no_memory(greeting: bytes) -> None:
    def talk(line: socket.socket) -> None:
        if greeting:
            line.sendall(greeting)
            line.recv(1024)
        while True:
            line.sendall(ENDLESS)

    tracemalloc.start()
    began = time.monotonic()
    try:
        with scripted_server(talk) as port, pytest.raises(MailError, match="too much"):
            mailer(f"smtp://127.0.0.1:{port}").send("a@example.org", "Hello", "A text.")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MOST_GROWN
    assert time.monotonic() - began < 5
