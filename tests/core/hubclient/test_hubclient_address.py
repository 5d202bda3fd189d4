"""A hub's address is the same however it is written, and holds nothing else."""

import pytest

from redlane.errors import UsageError
from redlane.hubclient.address import is_private, normal_address

NORMAL = {
    "https://hub.example.org": "https://hub.example.org",
    "HTTPS://Hub.Example.ORG": "https://hub.example.org",
    "https://hub.example.org:443": "https://hub.example.org",
    "http://hub.example.org:80/": "http://hub.example.org",
    "https://hub.example.org:": "https://hub.example.org",
    "http://127.0.0.1:8080": "http://127.0.0.1:8080",
    "http://hub.example.org:443": "http://hub.example.org:443",
    "https://hub.example.org/": "https://hub.example.org",
    "https://hub.example.org//": "https://hub.example.org",
    "https://example.org/Our/hub/": "https://example.org/Our/hub",
    "http://[::1]:8080/": "http://[::1]:8080",
    "https://[2001:DB8::1]:443": "https://[2001:db8::1]",
    " https://hub.example.org ": "https://hub.example.org",
}


@pytest.mark.parametrize(("written", "normal"), NORMAL.items())
def test_spellings_are_one_address(written: str, normal: str) -> None:
    assert normal_address(written) == normal


@pytest.mark.parametrize("normal", sorted({*NORMAL.values()}))
def test_normal_address_stays_as_it_is(normal: str) -> None:
    assert normal_address(normal) == normal


NONE = """
    hub.example.org hub.example.org:8080 //hub.example.org /hub https: https://
    https:///hub https://:443 ftp://hub.example.org file:///etc/passwd
    https://ada@hub.example.org https://ada:secret@hub.example.org https://@hub.org
    https://hub.example.org?q=1 https://hub.example.org/#top
    https://hub.example.org:65536 https://hub.example.org:-1 https://hub.org:https
    https://hub.example.org:8080:8080 https://[::1 https://[hub]
    https://hüb.example.org https://hub.example.org/\u202e https://hub.org/\udcff
    https://hub.example.org/\0 https://hub.example.org/\x7f https://hub.org/\x1b[2J
"""
SPACED = ["", " ", "https://hub org", "https://hub.org/a b", "https://hub.org/\ta"]
BROKEN = ["https://hub.exa\nmple.org", "https://hub.example.org\r\nX: y"]


@pytest.mark.parametrize("written", NONE.split() + SPACED + BROKEN)
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(UsageError) as found:
        normal_address(written)
    assert str(found.value).isprintable()


PRIVATE = """
    https://hub.example.org http://localhost:8080 http://127.0.0.1 http://[::1]:8080
    http://127.5.5.5:8080
"""
PUBLIC = """
    http://hub.example.org http://localhost.example.org http://127.0.0.1.example.org
    http://10.0.0.1 http://0.0.0.0 http://[fe80::1]
"""


@pytest.mark.parametrize("address", (PRIVATE + PUBLIC).split())
def test_private_is_tls_or_this_machine(address: str) -> None:
    assert is_private(address) is (address in PRIVATE.split())
