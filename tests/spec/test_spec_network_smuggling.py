"""Requests that two readers could read in two ways are refused, and never go on.

Each probe hides a second request, for `/smuggled`, where one reader sees a body. Sent
plainly, and inside an intercepted tunnel, with the credentials of the session.
"""

import pytest
from proxied import Proxied

POLICIES: dict[str, dict[str, object]] = {}
SETTINGS = {"tls": {"intercept": True}}

INNER = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
ENDED = b"0\r\n\r\n" + INNER
CHUNKED_INNER = b"%x\r\n" % len(INNER) + INNER + b"\r\n0\r\n\r\n"
EXTENDED_INNER = CHUNKED_INNER.replace(b"\r\n", b";a=b\r\n", 1)


def _post(
    *lines: bytes, body: bytes = b"", line: bytes = b"POST TARGET HTTP/1.1"
) -> bytes:
    head = (line, b"Host: HOST", b"@CREDENTIALS@", *lines)
    return b"\r\n".join(each for each in head if each) + b"\r\n\r\n" + body


LENGTH = b"Content-Length: %d" % len(INNER)
CHUNKED = b"Transfer-Encoding: chunked"
PROBES: dict[str, bytes] = {
    "cl-te": _post(b"Content-Length: 5", CHUNKED, body=ENDED),
    "te-cl": _post(CHUNKED, b"Content-Length: 4", body=CHUNKED_INNER),
    "two-lengths": _post(b"Content-Length: 0", LENGTH, body=INNER),
    "lengths-in-a-list": _post(b"Content-Length: 0, %d" % len(INNER), body=INNER),
    "negative-length": _post(b"Content-Length: -1", body=INNER),
    "plus-length": _post(b"Content-Length: +0", body=INNER),
    "hex-length": _post(b"Content-Length: 0x0", body=INNER),
    "underscored-length": _post(b"Content-Length: 0_0", body=INNER),
    "empty-length": _post(b"Content-Length: ", body=INNER),
    "fraction": _post(b"Content-Length: 0.0", body=INNER),
    "te-identity": _post(b"Transfer-Encoding: chunked, identity", body=ENDED),
    "te-twice": _post(CHUNKED, b"Transfer-Encoding: identity", body=ENDED),
    "te-unknown": _post(b"Transfer-Encoding: xchunked", LENGTH, body=INNER),
    "te-tab": _post(b"Transfer-Encoding:\tchunked\x0b", LENGTH, body=INNER),
    "te-space-before-colon": _post(b"Transfer-Encoding : chunked", LENGTH, body=INNER),
    "te-folded": _post(b"Transfer-Encoding:\r\n chunked", LENGTH, body=INNER),
    "te-quoted": _post(b'Transfer-Encoding: "chunked"', LENGTH, body=INNER),
    "te-in-1.0": _post(CHUNKED, body=ENDED, line=b"POST TARGET HTTP/1.0"),
    "length-space-before-colon": _post(b"Content-Length : 0", LENGTH, body=INNER),
    "folded": _post(b"X-A: 1", b" Content-Length: 0", LENGTH, body=INNER),
    "bare-cr": _post(b"X-A: 1\rContent-Length: 0", LENGTH, body=INNER),
    "nul-in-header": _post(b"X-A: a\0b", LENGTH, body=INNER),
    "no-colon": _post(b"not a header", LENGTH, body=INNER),
    "control-in-name": _post(b"X-\x01A: 1", LENGTH, body=INNER),
    "chunk-size-of-junk": _post(CHUNKED, body=b"0x0\r\n\r\n" + INNER),
    "chunk-size-negative": _post(CHUNKED, body=b"-1\r\n\r\n" + INNER),
    "chunk-size-huge": _post(CHUNKED, body=b"f" * 20 + b"\r\n" + INNER),
    "chunk-without-end": _post(CHUNKED, body=b"1\r\naXX0\r\n\r\n" + INNER),
    "two-hosts": _post(b"Host: other.test", LENGTH, body=INNER),
    "space-in-target": _post(LENGTH, body=INNER, line=b"POST TARGET a HTTP/1.1"),
    "no-version": _post(LENGTH, body=INNER, line=b"POST TARGET"),
    "old-version": _post(LENGTH, body=INNER, line=b"POST TARGET HTTP/0.9"),
    "version-1.2": _post(LENGTH, body=INNER, line=b"POST TARGET HTTP/1.12"),
    "preface-of-http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + INNER,
}
HARMLESS = {
    "length": _post(LENGTH, body=INNER),
    "chunked": _post(CHUNKED, body=CHUNKED_INNER),
    "chunk-extension": _post(CHUNKED, body=EXTENDED_INNER),
    "version-2": _post(LENGTH, body=INNER, line=b"POST TARGET HTTP/2.0"),
    "tab-in-line": _post(LENGTH, body=INNER, line=b"POST\tTARGET\tHTTP/1.1"),
    "same-length-twice": _post(LENGTH, LENGTH, body=INNER),
    "trailers": _post(CHUNKED, body=CHUNKED_INNER[:-2] + b"X-Sum: 1\r\n\r\n"),
}
ODD = ("version-2", "tab-in-line", "same-length-twice")
"""These may be refused as well (RFC 9110 section 8.6, RFC 9112 section 3)."""


PATIENCE = {"chunk-size-huge": 3}
"""Seconds for an answer where there is none: the proxy waits for more."""


def _after(lab: Proxied, where: str) -> bytes:
    """A request that is answered once all before it on its connection has been read."""
    if where == "tunnel":
        host = f"localhost:{lab.site.ports.secure}"
        return f"GET /text HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    return (
        f"GET {lab.http}/text HTTP/1.1\r\nHost: 127.0.0.1:{lab.site.ports.plain}\r\n"
        "Proxy-Authorization: Basic @AUTH@\r\n\r\n"
    ).encode()


def _send(lab: Proxied, probe: bytes, where: str, marker: str, **told: object) -> bytes:
    secure = where == "tunnel"
    port = lab.site.ports.secure if secure else lab.site.ports.plain
    host = f"localhost:{port}" if secure else f"127.0.0.1:{port}"
    target = f"/mirror?{marker}" if secure else f"{lab.http}/mirror?{marker}"
    credentials = b"X-N: 1" if secure else b"Proxy-Authorization: Basic @AUTH@"
    for name, value in (
        (b"@CREDENTIALS@", credentials),
        (b"TARGET", target.encode()),
        (b"HOST", host.encode()),
    ):
        probe = probe.replace(name, value)
    if secure:
        told |= {"tunnel": host, "tls": "localhost"}
    data = lab.agent().raw(probe, whole=True, **told)["data"]
    assert isinstance(data, bytes)
    return data


@pytest.mark.parametrize("where", ["plain", "tunnel"])
@pytest.mark.parametrize("probe", PROBES)
def test_a_request_of_two_readings_is_refused(
    lab: Proxied, probe: str, where: str
) -> None:
    marker = f"probe-{where}-{probe}."
    before = len(lab.origin.reached("smuggled"))

    told = {"then": _after(lab, where), "patience": PATIENCE.get(probe, 20)}
    data = _send(lab, PROBES[probe], where, marker, **told)

    assert not data or data.split(b" ", 2)[1][:1] in (b"4", b"5"), data
    assert lab.origin.reached(marker) == []
    assert len(lab.origin.reached("smuggled")) == before


@pytest.mark.parametrize("where", ["plain", "tunnel"])
@pytest.mark.parametrize("probe", HARMLESS)
def test_a_request_of_one_reading_passes_with_its_body(
    lab: Proxied, probe: str, where: str
) -> None:
    data = _send(lab, HARMLESS[probe], where, f"harmless-{where}-{probe}.")

    if probe in ODD and data.split(b" ", 2)[1][:1] == b"4":
        assert lab.origin.reached(f"harmless-{where}-{probe}.") == []
        return
    assert data.split(b" ", 2)[1] == b"200", data
    (seen,) = lab.origin.reached(f"harmless-{where}-{probe}.")
    assert seen.body.startswith(b"GET /smuggled")


OWN_PROTOCOL = b"\0\1\2 own protocol " * 10 + b"\r\n\r\n"
UPGRADES = {
    "h2c": (
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"
    ),
    "other": b"Connection: Upgrade\r\nUpgrade: own-protocol/1.0",
}


@pytest.mark.parametrize("upgrade", UPGRADES)
def test_an_upgrade_opens_no_unjudged_road(lab: Proxied, upgrade: str) -> None:
    lab.agent()
    line = b"GET TARGET HTTP/1.1"
    probe = _post(UPGRADES[upgrade], line=line)

    data = _send(lab, probe, "plain", f"upgrade-{upgrade}.")

    assert not data.startswith(b"HTTP/1.1 101"), data


def test_requests_in_one_write_are_all_judged(lab: Proxied) -> None:
    head = "Host: 127.0.0.1\r\nProxy-Authorization: Basic @AUTH@\r\n\r\n"
    pieces = [f"GET {lab.http}/text?piped-{each} HTTP/1.1\r\n{head}" for each in "abc"]

    lab.agent().raw("".join(pieces).encode())

    judged = {each for each in "abc" if lab.events(f"piped-{each}")}
    assert {each for each in "abc" if lab.origin.reached(f"piped-{each}")} <= judged


def test_a_tunnel_in_a_tunnel_is_refused(lab: Proxied) -> None:
    host = f"localhost:{lab.site.ports.secure}"
    inner = f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()

    said = lab.agent().raw(inner, tunnel=host, tls="localhost")

    assert b" 200 " not in said["data"].split(b"\r\n", 1)[0], said


def test_other_protocols_in_a_tunnel_are_refused(lab: Proxied) -> None:
    """What is no TLS and no HTTP could carry anything, unjudged."""
    host = f"127.0.0.1:{lab.site.ports.plain}"

    said = lab.agent().raw(OWN_PROTOCOL, tunnel=host, patience=3)

    assert b"HTTP/1.1 200" not in said["data"]
    assert lab.origin.reached("own protocol") == []


def test_plain_http_in_a_tunnel_is_judged_as_well(lab: Proxied) -> None:
    host = f"127.0.0.1:{lab.site.ports.plain}"
    inner = f"GET /text?in-plain-tunnel HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()

    lab.agent().raw(inner, tunnel=host)

    reached = lab.origin.reached("in-plain-tunnel")
    assert not reached or lab.events("in-plain-tunnel")
