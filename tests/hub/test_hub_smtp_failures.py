"""Mail servers that refuse, stall, die or are none."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hub_mail_server import (
    Certificate,
    mail_server,
    mailer,
    make_certificate,
    scripted_server,
)

from redlane_hub.mail import MailError, MailRefusedError


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.mark.parametrize(
    ("answer", "for_good"),
    [("550 5.1.1", True), ("450 4.2.1", False), ("421 4.3.2", False)],
)
def test_refused_recipient(answer: str, *, for_good: bool) -> None:
    with mail_server() as server:
        server.refuse_recipient = answer
        with pytest.raises(MailError, match=answer[:3]) as caught:
            mailer(server.url).send("ann@example.org", "Hello", "A text.")
    assert isinstance(caught.value, MailRefusedError) is for_good
    assert "ann" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "for_good"), [("554 spam", True), ("451 later", False)]
)
def test_refused_message(answer: str, *, for_good: bool) -> None:
    with mail_server() as server:
        server.refuse_message = answer
        with pytest.raises(MailError, match=answer[:3]) as caught:
            mailer(server.url).send("ann@example.org", "Hello", "A text.")
    assert isinstance(caught.value, MailRefusedError) is for_good


@pytest.mark.parametrize("when", ["before", "after"])
def test_server_that_dies_is_tried_again(when: str) -> None:
    with mail_server() as server:
        server.dies = when
        with pytest.raises(MailError, match="hung up"):
            mailer(server.url).send("ann@example.org", "Hello", "A text.")


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(MailError, match="cannot be reached: Connection refused"):
        mailer(f"smtp://127.0.0.1:{port}").send("ann@example.org", "Hello", "A text.")


def test_name_that_does_not_resolve() -> None:
    with pytest.raises(MailError, match="cannot be reached"):
        mailer("smtp://no-such-host.invalid").send("a@example.org", "Hello", "Text.")


def test_goodbye_does_not_undo_a_message() -> None:
    def talk(line: socket.socket) -> None:
        """Take a message, and hang up where a goodbye is due."""
        answer = line.makefile("rw", newline="\r\n")
        answer.write("220 mail.test\n")
        answer.flush()
        for command in answer:
            reply = "354 go on" if command.startswith("data") else "250 OK"
            if command.startswith("QUIT"):
                return
            answer.write(f"{reply}\n")
            answer.flush()
            if reply.startswith("354"):
                while answer.readline() != ".\r\n":
                    pass
                answer.write("250 taken\n")
                answer.flush()

    with scripted_server(talk) as port:
        mailer(f"smtp://127.0.0.1:{port}").send("ann@example.org", "Hello", "A text.")


@contextmanager
def slow_server(piece: bytes) -> Iterator[int]:
    """A server that never comes to the end of its greeting."""
    over = threading.Event()

    def talk(line: socket.socket) -> None:
        while not over.wait(0.02):
            line.sendall(piece)

    with scripted_server(talk) as port:
        try:
            yield port
        finally:
            over.set()


@pytest.mark.parametrize(
    "piece", [b"", b"2", b"220-more\r\n"], ids=["silent", "by bytes", "by lines"]
)
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_slow_server_is_left_in_time(piece: bytes, scheme: str) -> None:
    with slow_server(piece) as port, pytest.raises(MailError):
        mailer(f"{scheme}://127.0.0.1:{port}", seconds=0.3).send(
            "ann@example.org", "Hello", "A text."
        )


def test_slow_server_is_left_in_time_under_tls(certificate: Certificate) -> None:
    over = threading.Event()

    def talk(line: socket.socket) -> None:
        with certificate.server_context().wrap_socket(line, server_side=True) as tls:
            while not over.wait(0.02):
                tls.sendall(b"220-more\r\n")

    with scripted_server(talk) as port:
        slow = mailer(
            f"smtps://127.0.0.1:{port}",
            tls=certificate.client_context(),
            seconds=5.0,  # a busy machine has come as far as TLS by then
        )
        with pytest.raises(MailError, match="too long"):
            slow.send("ann@example.org", "Hello", "A text.")
        over.set()


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff\r\n", b"HTTP/1.1 400\r\n", b"\r\n", b"220" + b"x" * 9000 + b"\r\n"],
    ids=["bytes", "http", "empty", "long"],
)
def test_what_is_no_smtp_is_a_mail_error(garbage: bytes) -> None:
    with (
        scripted_server(lambda line: line.sendall(garbage)) as port,
        pytest.raises(MailError),
    ):
        mailer(f"smtp://127.0.0.1:{port}").send("ann@example.org", "Hello", "A text.")


def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())
    with mail_server() as server:
        mailer(server.url).send("ann@example.org", "Hello", "A text.")
    assert set(threading.enumerate()) <= before
