"""A host in any form is the same host."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.hosts import address_of, host_forms

METADATA = "169.254.169.254"


@pytest.mark.parametrize(
    "host",
    [
        "2852039166",
        "0xA9FEA9FE",
        "0xa9.0xfe.0xa9.0xfe",
        "0251.0376.0251.0376",
        "0251.254.0xa9fe",
        "169.16689662",
        "169.254.43518",
        "169.254.169.254.",
        "%31%36%39.254.169.254",
        "①⑥⑨.254.169.254",
        "169。254。169。254",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "0:0:0:0:0:ffff:a9fe:a9fe",
        "::a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
    ],
)
def test_an_address_is_found_in_every_form(host: str) -> None:
    assert METADATA in host_forms(host)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0x7f.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("[::1]", "::1"),
        ("::0001", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("0x", "0.0.0.0"),
        ("256.1.1.1", None),
        ("1.2.3.4.5", None),
        ("1.2.3.256", None),
        ("4294967296", None),
        ("08.1.1.1", None),
        ("example.com", None),
        ("1e3", None),
        ("", None),
        (":", None),
        ("9" * 5_000, None),
    ],
)
def test_the_address_of_a_host(host: str, address: str | None) -> None:
    assert address_of(host) == address


@pytest.mark.parametrize(
    ("host", "form"),
    [
        ("EXAMPLE.com", "example.com"),
        ("example.com.", "example.com"),
        ("example.com..", "example.com"),
        ("ex%61mple.com", "example.com"),
        ("\uff45\uff58ample\u3002com", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("XN--BCHER-KVA.example", "bücher.example"),
        ("\u0430pple.com", "xn--pple-43d.com"),
    ],
)
def test_a_name_is_found_in_every_form(host: str, form: str) -> None:
    assert form in host_forms(host)


@pytest.mark.parametrize(
    "host", ["example.com", "sub.example.co.uk", "192.0.2.1", "localhost", "::1"]
)
def test_a_plain_name_has_no_other_form(host: str) -> None:
    assert host_forms(host) == ()


@pytest.mark.parametrize(
    ("host", "other"),
    [
        ("evil-github.com", "github.com"),
        ("github.com.evil.example", "github.com"),
        ("xgithub.com", "github.com"),
    ],
)
def test_another_name_is_another_name(host: str, other: str) -> None:
    assert other not in host_forms(host)


@given(st.ip_addresses(v=4).map(str))
def test_every_spelling_of_an_address_is_it(address: str) -> None:
    number = int(ipaddress.IPv4Address(address))
    for spelling in (str(number), hex(number), f"0{number:o}", f"::ffff:{address}"):
        if number > 7:
            assert address in host_forms(spelling)


@given(st.text(max_size=40))
def test_any_host_is_no_error(host: str) -> None:
    forms = host_forms(host)
    assert host not in forms
    assert len(forms) <= 8


@pytest.mark.parametrize(
    "host", ["ü" * 900, "xn--" + "z" * 59, "ü." * 500, "x" * 9_999]
)
def test_a_name_that_is_none_is_no_error(host: str) -> None:
    assert len(host_forms(host)) <= 8
