"""What a mail looks like, and whom and what it refuses."""

from email.utils import parsedate_to_datetime

import pytest
from hub_mail_server import MOMENT, mail_server, mailer

from redlane_hub.errors import OperatorError
from redlane_hub.mail import MailRefusedError


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
