"""Mail by SMTP, against real servers."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest
from hub_mail_server import (
    Certificate,
    mail_server,
    make_certificate,
    scripted_server,
)

from redlane_hub.errors import OperatorError
from redlane_hub.mail import MailError, MailRefusedError
from redlane_hub.mail.conversation import is_loopback
from redlane_hub.mail.smtp import SmtpMailer
from redlane_hub.settings import Settings

MOMENT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
CREDENTIALS = "some%20one:s3%20cret%2F%40%3A@"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def mailer(
    url: str,
    *,
    sender: str = "Redlane hub <hub@localhost>",
    tls: ssl.SSLContext | None = None,
    seconds: float = 10.0,
) -> SmtpMailer:
    settings = Settings(smtp_url=url, mail_from=sender)
    return SmtpMailer(settings, tls=tls, seconds=seconds, clock=lambda: MOMENT)


def test_message_is_one_that_mail_readers_expect() -> None:
    with mail_server() as server:
        mailer(server.url).send("Ann@Example.org", "Hello", "A text.\n.\nBye.\n")
        (letter,) = server.wait()
    assert (letter.sender, letter.to) == ("hub@localhost", "Ann@Example.org")
    message = letter.message
    assert message["From"] == "Redlane hub <hub@localhost>"
    assert message["To"] == "Ann@Example.org"
    assert message["Subject"] == "Hello"
    assert parsedate_to_datetime(message["Date"]) == MOMENT
    assert message["Message-ID"].endswith("@localhost>")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "text/plain"
    assert message.get_content_charset() == "utf-8"
    assert letter.text == "A text.\n.\nBye.\n"


def test_link_is_whole_in_the_raw_message() -> None:
    link = "https://hub.example.org/" + "long/" * 40 + "?token=abc_-"
    with mail_server() as server:
        mailer(server.url).send("ann@example.org", "Hello", f"See\n{link}\n")
        (letter,) = server.wait()
    assert link.encode() + b"\r\n" in letter.raw


def test_text_beyond_ascii_arrives() -> None:
    text = "Grüße, 你好 " * 30 + "\n" + "x" * 2000 + "\n"
    with mail_server() as server:
        mailer(server.url, sender="Jörgs hub <hub@localhost>").send(
            "ann@example.org", "Grüße", text
        )
        (letter,) = server.wait()
    assert letter.text == text
    assert letter.message["Subject"] == "Grüße"
    assert letter.message["From"] == "Jörgs hub <hub@localhost>"
    assert letter.raw.isascii()


INJECTIONS = {
    "line break": "ann@example.org\r\nBcc: eve@example.org",
    "line feed": "ann@example.org\nBcc: eve@example.org",
    "command": "ann@example.org>\r\nRCPT TO:<eve@example.org",
    "list": "ann@example.org,eve",
    "two": "ann,eve@example.org",
    "brackets": "<ann>@example.org",
    "parameter": "ann@example.org> NOTIFY=SUCCESS",
    "quoted": '"ann eve"@example.org',
    "comment": "ann(eve)@example.org",
    "group": "ann:eve;@example.org",
    "route": "@eve.example.org:ann@example.org",
    "literal": "ann@[127.0.0.1]",
    "no domain": "ann",
    "no user": "@example.org",
    "empty": "",
    "NUL": "ann\0@example.org",
    "line separator": "ann\u2028@example.org",
    "wide dot": "ann@example\u3002org",
    "wide at": "ann\uff20example.org",
    "override": "ann\u202e@example.org",
    "hyphen first": "ann@-example.org",
    "two dots": "ann..eve@example.org",
}


@pytest.mark.parametrize("address", INJECTIONS.values(), ids=INJECTIONS.keys())
def test_only_what_is_plainly_one_mailbox_is_mailed(address: str) -> None:
    # Nobody listens there: it is refused before anything is said.
    with pytest.raises(MailRefusedError):
        mailer("smtp://127.0.0.1:1").send(address, "Hello", "A text.")


def test_subject_cannot_add_a_header() -> None:
    with mail_server() as server, pytest.raises(ValueError, match="linefeed"):
        mailer(server.url).send("ann@example.org", "Hello\nBcc: eve@x", "A text.")
    assert not server.letters


def test_international_address_goes_to_a_server_that_takes_them() -> None:
    with mail_server(enable_SMTPUTF8=True) as server:
        mailer(server.url).send("jörg@exämple.org", "Hello", "A text.\n")
        (letter,) = server.wait()
    assert letter.to == "jörg@exämple.org"
    assert "To: jörg@exämple.org".encode() in letter.raw
    assert "SMTPUTF8" in letter.options


def test_international_address_is_refused_where_the_server_takes_none() -> None:
    with mail_server() as server:
        with pytest.raises(MailRefusedError, match="internationalised"):
            mailer(server.url).send("jörg@exämple.org", "Hello", "A text.")
        assert not server.letters


def test_starttls_is_used_when_offered(certificate: Certificate) -> None:
    with mail_server(starttls=certificate.server_context()) as server:
        mailer(server.url, tls=certificate.client_context()).send(
            "ann@example.org", "Hello", "A text."
        )
        (letter,) = server.wait()
    assert letter.over_tls


def test_smtps_is_tls_from_the_start(certificate: Certificate) -> None:
    with mail_server(smtps=certificate.server_context()) as server:
        mailer(
            f"smtps://localhost:{server.port}", tls=certificate.client_context()
        ).send("ann@example.org", "Hello", "A text.")
        (letter,) = server.wait()
    assert letter.to == "ann@example.org"


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_strange_certificate_ends_it(certificate: Certificate, scheme: str) -> None:
    kind = "starttls" if scheme == "smtp" else "smtps"
    with mail_server(**{kind: certificate.server_context()}) as server:
        url = f"{scheme}://127.0.0.1:{server.port}"
        with pytest.raises(MailError, match="certificate that is not trusted"):
            mailer(url).send("ann@example.org", "Hello", "A text.")
        assert not server.letters


def test_certificate_of_another_name_ends_it(certificate: Certificate) -> None:
    with mail_server(host="127.0.0.2", starttls=certificate.server_context()) as server:
        with pytest.raises(MailError, match="certificate that is not trusted"):
            mailer(
                f"smtp://127.0.0.2:{server.port}", tls=certificate.client_context()
            ).send("ann@example.org", "Hello", "A text.")
        assert not server.letters


def test_tls_to_a_server_that_speaks_none_ends_it() -> None:
    with mail_server() as server, pytest.raises(MailError, match="TLS"):
        mailer(f"smtps://127.0.0.1:{server.port}").send(
            "ann@example.org", "Hello", "A text."
        )


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
@pytest.mark.parametrize("encrypted", [True, False], ids=["starttls", "loopback"])
def test_user_and_password_are_decoded_and_sent(
    certificate: Certificate, mechanism: str, *, encrypted: bool
) -> None:
    other = {"PLAIN": "LOGIN", "LOGIN": "PLAIN"}[mechanism]
    with mail_server(
        starttls=certificate.server_context() if encrypted else None,
        authenticate=True,
        auth_exclude_mechanism=[other],
    ) as server:
        mailer(
            f"smtp://{CREDENTIALS}127.0.0.1:{server.port}",
            tls=certificate.client_context(),
        ).send("ann@example.org", "Hello", "A text.")
        assert len(server.wait()) == 1
        assert server.logins == [(mechanism, "some one", "s3 cret/@:")]


def test_wrong_password_may_be_mended() -> None:
    with mail_server(authenticate=True) as server:
        url = f"smtp://someone:wrong@127.0.0.1:{server.port}"
        with pytest.raises(MailError, match="refused the password with 535") as caught:
            mailer(url).send("ann@example.org", "Hello", "A text.")
    assert not isinstance(caught.value, MailRefusedError)


def test_server_that_takes_no_password_is_no_reason_to_leave_it_out() -> None:
    with mail_server() as server:
        url = f"smtp://{CREDENTIALS}127.0.0.1:{server.port}"
        with pytest.raises(MailError, match="SMTPNotSupportedError"):
            mailer(url).send("ann@example.org", "Hello", "A text.")
        assert not server.letters


def outside_address() -> str:
    """An address of this machine that is not a loopback one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket sends nothing.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but the loopback one")
        return str(probe.getsockname()[0])


def test_password_never_leaves_the_machine_in_clear_text() -> None:
    host = outside_address()
    with mail_server(host=host, authenticate=True) as server:
        with pytest.raises(MailError, match="not sent in clear text"):
            mailer(f"smtp://{CREDENTIALS}{host}:{server.port}").send(
                "ann@example.org", "Hello", "A text."
            )
        assert not server.logins


PEERS = {
    "127.0.0.1": True,
    "127.8.9.10": True,
    "::1": True,
    "::ffff:127.0.0.1": True,
    "::ffff:192.0.2.1": False,
    "192.0.2.1": False,
    "10.0.0.1": False,
    "0.0.0.0": False,
    "fe80::1%eth0": False,
    "2001:db8::1": False,
}


@pytest.mark.parametrize(("peer", "expected"), PEERS.items())
def test_loopback_is_told_by_the_address(peer: str, *, expected: bool) -> None:
    assert is_loopback(peer) is expected


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
            f"smtps://127.0.0.1:{port}", tls=certificate.client_context(), seconds=0.3
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


URLS = {
    "other scheme": ("http://mail.test", "smtp://HOST"),
    "no host": ("smtp://", "smtp://HOST"),
    "no password": ("smtp://me@mail.test", "or neither"),
    "no user": ("smtp://:secret@mail.test", "or neither"),
    "slash in the password": ("smtp://me:12/3@mail.test", "percent-encode"),
    "hash in the password": ("smtp://me:12#3@mail.test", "percent-encode"),
    "query in the password": ("smtp://me:12?3@mail.test", "percent-encode"),
    "line break": ("smtp://me:12%0D%0Ax@mail.test", "printable ASCII"),
    "umlaut": ("smtp://me:%C3%BC@mail.test", "printable ASCII"),
    "not UTF-8": ("smtp://me:%FF@mail.test", "not valid UTF-8"),
    "port": ("smtp://mail.test:x", "no address"),
}


@pytest.mark.parametrize(("url", "message"), URLS.values(), ids=URLS.keys())
def test_server_setting_that_cannot_be_used(url: str, message: str) -> None:
    with pytest.raises(OperatorError, match=message) as caught:
        mailer(url)
    assert "12" not in str(caught.value)


@pytest.mark.parametrize(
    "sender",
    [
        *("", "hub", "a@x, b@x", "A\r\nBcc: b@x <a@x>", "<>", "jörg@example.org"),
        "A, B <a@x>",
    ],
)
def test_sender_setting_that_cannot_be_used(sender: str) -> None:
    with pytest.raises(OperatorError, match="'mail_from'"):
        mailer("smtp://mail.test", sender=sender)


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    with mail_server() as server:
        mailer(server.url).send("ann@example.org", "Hello", "A text.")
    assert threading.active_count() == before
