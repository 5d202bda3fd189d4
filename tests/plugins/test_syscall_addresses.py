import socket
import struct

import pytest

from redlane_context_syscall.addresses import address_texts, unix_path

_LOOPBACK = socket.if_nametoindex("lo")


def _ipv4(address: str, port: int) -> bytes:
    return struct.pack("=H", socket.AF_INET) + struct.pack(
        "!H4s8x", port, socket.inet_pton(socket.AF_INET, address)
    )


def _ipv6(address: str, port: int, zone: int = 0, flow: int = 0) -> bytes:
    return (
        struct.pack("=H", socket.AF_INET6)
        + struct.pack("!HI16s", port, flow, socket.inet_pton(socket.AF_INET6, address))
        + struct.pack("=I", zone)
    )


def _unix(path: bytes) -> bytes:
    return struct.pack("=H", socket.AF_UNIX) + path


@pytest.mark.parametrize(
    ("address", "texts"),
    [
        pytest.param(_ipv4("192.0.2.1", 443), (b"192.0.2.1:443",), id="ipv4"),
        pytest.param(_ipv4("192.0.2.1", 443)[:8], (b"192.0.2.1:443",), id="no padding"),
        pytest.param(_ipv4("192.0.2.1", 443)[:7], (None,), id="short ipv4"),
        pytest.param(_ipv6("2001:db8::1", 443), (b"[2001:db8::1]:443",), id="ipv6"),
        pytest.param(_ipv6("::1", 65535, flow=9), (b"[::1]:65535",), id="ipv6 flow"),
        pytest.param(_ipv6("::1", 1)[:24], (b"[::1]:1",), id="ipv6 without its zone"),
        pytest.param(_ipv6("::1", 1)[:23], (None,), id="short ipv6"),
        pytest.param(
            _ipv6("fe80::1", 80, _LOOPBACK), (b"[fe80::1%lo]:80",), id="zone by name"
        ),
        pytest.param(
            _ipv6("fe80::1", 80, 0x7FFFFFFF),
            (b"[fe80::1%2147483647]:80",),
            id="zone that is none",
        ),
        pytest.param(
            _ipv6("::ffff:192.0.2.1", 443),
            (b"[::ffff:192.0.2.1]:443", b"192.0.2.1:443"),
            id="ipv4 mapped",
        ),
        pytest.param(_unix(b"/run/x.sock\0"), (b"unix:/run/x.sock",), id="unix"),
        pytest.param(_unix(b"/run/x\0yz"), (b"unix:/run/x",), id="unix ends at NUL"),
        pytest.param(_unix(b"rel"), (b"unix:rel",), id="unix without NUL"),
        pytest.param(_unix(b"\0name"), (b"unix:@name",), id="abstract"),
        pytest.param(_unix(b"\0a\0b"), (b"unix:@a\0b",), id="abstract with NUL"),
        pytest.param(_unix(b""), (b"unix:",), id="unnamed"),
        pytest.param(struct.pack("=H14x", 16), (b"family:16",), id="netlink"),
        pytest.param(
            b"\0\0" + _ipv4("192.0.2.1", 53)[2:],
            (b"family:0", b"192.0.2.1:53"),
            id="no family is ipv4 to some",
        ),
        pytest.param(b"\2", (None,), id="half a family"),
        pytest.param(b"", (), id="nothing"),
    ],
)
def test_an_address_is_told_in_every_form_it_has(
    address: bytes, texts: tuple[bytes | None, ...]
) -> None:
    assert address_texts(address) == texts


@pytest.mark.parametrize(
    ("address", "path"),
    [
        pytest.param(_unix(b"/run/x\0"), b"/run/x", id="path"),
        pytest.param(_unix(b"\0name"), None, id="abstract"),
        pytest.param(_unix(b""), None, id="unnamed"),
        pytest.param(_ipv4("192.0.2.1", 1), None, id="ipv4"),
        pytest.param(b"", None, id="nothing"),
    ],
)
def test_only_a_unix_socket_may_have_a_path(address: bytes, path: bytes | None) -> None:
    assert unix_path(address) == path
