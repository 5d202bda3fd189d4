"""Nobody reaches Redlane's own endpoints through the proxy, by any spelling."""

import urllib.parse

import pytest
from proxied import Proxied
from spec.redlane_home import wait_for

POLICIES: dict[str, dict[str, object]] = {}
SETTINGS = {"tls": {"intercept": True}}
SPELLINGS = {
    "dotted": "127.0.0.1",
    "name": "localhost",
    "name-in-capitals": "LOCALHOST",
    "name-with-dot": "localhost.",
    "short": "127.1",
    "decimal": "2130706433",
    "hexadecimal": "0x7f000001",
    "octal": "0177.0.0.1",
    "hexadecimal-parts": "0x7f.0.0.1",
    "leading-zeros": "127.000.000.001",
    "zero": "0",
    "any": "0.0.0.0",
    "mapped": "[::ffff:127.0.0.1]",
    "mapped-hexadecimal": "[::ffff:7f00:1]",
    "compatible": "[::127.0.0.1]",
    "loopback-6": "[::1]",
    "any-6": "[::]",
    "any-mapped": "[::ffff:0.0.0.0]",
    "percent": "%31%32%37.0.0.1",
    "full-width": "127。0。0。1",
    "user": "example.com@127.0.0.1",
}


def _port(lab: Proxied) -> int:
    return urllib.parse.urlsplit(lab.agent().environment()["HTTP_PROXY"]).port or 0


def _served(lab: Proxied, request: str, **told: object) -> bool:
    """Whether somebody beyond the proxy answered."""
    said = lab.agent().raw(request.encode(), whole=True, **told)
    data = said["tunnel"] or said["data"]
    status = data.split(b" ", 2)[1:2]
    return bool(data) and status[0][:1] not in (b"4", b"5")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_proxy_is_not_reached_through_itself(lab: Proxied, spelling: str) -> None:
    host = f"{SPELLINGS[spelling]}:{_port(lab)}"
    line = f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n"

    assert not _served(lab, f"{line}Proxy-Authorization: Basic @AUTH@\r\n\r\n")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_tunnel_leads_to_the_proxy(lab: Proxied, spelling: str) -> None:
    host = f"{SPELLINGS[spelling]}:{_port(lab)}"
    line = f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n"
    auth = "Proxy-Authorization: Basic @AUTH@\r\n\r\n"

    said = lab.agent().raw((line + auth).encode(), whole=True)["data"]
    assert not said.startswith(b"HTTP/1.1 200"), said


def test_a_redirect_does_not_lead_there(lab: Proxied) -> None:
    target = f"http://127.0.0.1:{_port(lab)}/"
    url = f"{lab.http}/redirect?to={urllib.parse.quote(target)}"

    outcome = lab.agent().request(url, follow=True)

    assert outcome.failed or outcome.status >= 400, outcome


@pytest.mark.parametrize("spelling", ["127.0.0.1", "localhost", "127.1"])
def test_other_ports_of_this_machine_are_free(lab: Proxied, spelling: str) -> None:
    url = f"http://{spelling}:{lab.site.ports.plain}/text?free-{spelling}"

    request = f"GET {url} HTTP/1.1\r\nHost: {spelling}:{lab.site.ports.plain}\r\n"
    auth = "Proxy-Authorization: Basic @AUTH@\r\n\r\n"

    assert _served(lab, request + auth)


def test_a_refusal_does_not_hang(lab: Proxied) -> None:
    """Proxies that ask themselves would wait for each other."""
    url = f"http://127.0.0.1:{_port(lab)}/"

    outcome = lab.agent().request(url)

    assert outcome.failed or outcome.status >= 400, outcome
    wait_for(lambda: lab.agent().request(f"{lab.http}/text").status == 200)


@pytest.mark.parametrize(
    "target",
    ["http+unix://control.sock/", "unix:/run/control.sock", "file:///etc/passwd", "*"],
)
def test_no_other_scheme_is_served(lab: Proxied, target: str) -> None:
    request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n"

    assert not _served(lab, f"{request}Proxy-Authorization: Basic @AUTH@\r\n\r\n")
