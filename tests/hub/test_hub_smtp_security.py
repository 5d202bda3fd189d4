"""TLS, certificates and passwords, against real servers."""

import socket

import pytest
from hub_mail_server import Certificate, mail_server, mailer, make_certificate

from redlane_hub.mail import MailError, MailRefusedError
from redlane_hub.mail.conversation import is_loopback

CREDENTIALS = "some%20one:s3%20cret%2F%40%3A@"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


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
