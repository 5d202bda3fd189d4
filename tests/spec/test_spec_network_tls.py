"""TLS interception: on, off, passed through; names that disagree; certificates."""

import base64
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from origins.certificates import Authority
from origins.raw_server import raw_server
from proxied import MakeLab, Proxied, Site
from spec.cases import simple
from spec.redlane_home import Home

POLICIES = {"word": simple("Block", "hidden-word", context="Network")}
SETTINGS = {"tls": {"intercept": True}}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@pytest.fixture(scope="module")
def plain(make_lab: MakeLab) -> Proxied:
    """Without interception."""
    return make_lab(POLICIES)


@pytest.fixture(scope="module")
def passing(make_lab: MakeLab) -> Proxied:
    tls = {"intercept": True, "passthrough_hosts": ["localhost"]}
    return make_lab(POLICIES, tls=tls)


def _secure(lab: Proxied) -> str:
    return f"localhost:{lab.site.ports.secure}"


def _issuer(lab: Proxied) -> str:
    """Who has signed the certificate that the agent is shown."""
    told = {"tls": "localhost", "unverified": True, "pieces": []}
    said = lab.agent().raw(tunnel=_secure(lab), shut=True, **told)
    certificate = x509.load_der_x509_certificate(said["certificate"])
    return certificate.issuer.rfc4514_string()


@pytest.mark.parametrize("version", [1, 2])
def test_with_interception_bodies_are_judged(lab: Proxied, version: int) -> None:
    url = f"{lab.https}/echo?intercepted"

    outcome = lab.agent().post(url, b"a hidden-word", http2=version == 2)

    assert outcome.blocked_by == "word"
    assert lab.origin.reached("intercepted") == []


def test_without_interception_the_tunnel_is_the_origins(plain: Proxied) -> None:
    outcome = plain.agent().post(f"{plain.https}/mirror", b"a hidden-word")

    assert outcome.body == b"a hidden-word"
    assert plain.events(f"CONNECT {_secure(plain)}")


def test_without_interception_the_connect_is_judged(make_lab: MakeLab) -> None:
    lab = make_lab(
        {"no-tunnel": simple("Block", "CONNECT localhost", context="Network")}
    )

    said = lab.agent().raw(tunnel=_secure(lab))

    assert b" 403 " in said["tunnel"].split(b"\r\n", 1)[0]
    assert b'"no-tunnel"' in said["tunnel"]


def test_without_interception_plain_requests_are_judged(plain: Proxied) -> None:
    outcome = plain.agent().post(f"{plain.http}/echo", b"a hidden-word")

    assert outcome.blocked_by == "word"


def test_a_host_passed_through_shows_its_own_certificate(
    passing: Proxied, place: Site
) -> None:
    told = {"trust": str(place.authority.bundle)}

    outcome = passing.agent().post(f"{passing.https}/mirror", b"a hidden-word", **told)

    assert outcome.body == b"a hidden-word"
    assert "Authority of the tests" in _issuer(passing)


def test_only_that_host_is_passed_through(passing: Proxied) -> None:
    url = f"https://127.0.0.1:{passing.site.ports.secure}/echo"

    assert passing.agent().post(url, b"a hidden-word").blocked_by == "word"


def test_an_intercepted_host_shows_ours(lab: Proxied) -> None:
    assert "Authority of the tests" not in _issuer(lab)


def test_interception_is_switched_by_a_reload(make_lab: MakeLab) -> None:
    lab = make_lab({"switched": simple("Block", "hidden-word", context="Network")})
    assert lab.agent().post(f"{lab.https}/mirror", b"hidden-word").status == 200

    lab.home.settings(tls={"intercept": True})
    assert lab.home.run("session", "reload").code == 0

    outcome = lab.new_agent().post(f"{lab.https}/mirror", b"hidden-word")
    assert outcome.blocked_by == "switched"


# Certificates of origins.

BAD: dict[str, dict[str, Any]] = {
    "another-name": {"names": ("other.test",)},
    "expired": {"days": -1},
    "unknown-authority": {"stranger": True},
}


@pytest.fixture(params=BAD)
def untrusted(
    request: pytest.FixtureRequest, place: Site, tmp_path: Path
) -> Iterator[str]:
    """The host and port of a server whose certificate does not verify."""
    row = BAD[request.param]
    authority = (
        Authority(tmp_path, "Stranger") if "stranger" in row else place.authority
    )
    certificate = authority.issue(*row.get("names", ()), days=row.get("days", 30))
    with raw_server(OK, certificate=certificate) as server:
        yield f"localhost:{server.port}"


def test_a_certificate_that_does_not_verify_is_refused(
    lab: Proxied, untrusted: str
) -> None:
    outcome = lab.agent().request(f"https://{untrusted}/text")

    assert outcome.failed or outcome.status >= 400, outcome
    assert outcome.body != b"ok"


def test_a_client_that_verifies_nothing_changes_nothing(
    lab: Proxied, untrusted: str
) -> None:
    request = f"GET /text HTTP/1.1\r\nHost: {untrusted}\r\n\r\n".encode()

    said = lab.agent().raw(request, tunnel=untrusted, tls="localhost", unverified=True)

    assert not said.get("data", b"").endswith(b"ok")


# Names that disagree.


def _get(host: str) -> bytes:
    head = f"GET /text?mismatch HTTP/1.1\r\nHost: {host}\r\nConnection: close"
    return f"{head}\r\n\r\n".encode()


def test_names_that_agree(lab: Proxied) -> None:
    said = lab.agent().raw(_get(_secure(lab)), tunnel=_secure(lab), tls="localhost")

    assert said["data"].endswith(b"hello from the origin\n")


DISAGREE = {
    "host": ("localhost", "other.test"),
    "host-with-port": ("localhost", "other.test:443"),
    "hosts-port": ("localhost", "localhost:1"),
    "sni": ("other.test", "localhost"),
    "sni-and-host": ("other.test", "other.test"),
    "host-with-user": ("localhost", "localhost@other.test"),
    "two-hosts": ("localhost", "localhost\r\nHost: other.test"),
    "no-host": ("localhost", ""),
}


@pytest.mark.parametrize("row", DISAGREE)
def test_names_that_disagree_are_blocked(lab: Proxied, row: str) -> None:
    sni, host = DISAGREE[row]
    before = len(lab.origin.reached("mismatch"))

    said = lab.agent().raw(_get(host), tunnel=_secure(lab), tls=sni, unverified=True)

    data = said.get("data", b"")
    assert not data or data.split(b" ", 2)[1][:1] == b"4", said
    assert len(lab.origin.reached("mismatch")) == before


@pytest.mark.parametrize(
    "authority", ["other.test", "localhost:1", "localhost@other.test", ""]
)
def test_an_authority_that_disagrees_is_blocked(lab: Proxied, authority: str) -> None:
    agent = lab.agent()
    headers = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", authority),
        (":path", "/text?wrong-authority"),
    ]

    agent.send("http2", tunnel=_secure(lab), tls="localhost", headers=headers)

    said = agent.receive()
    status = dict(said.get("headers", ())).get(":status", "")
    assert said.get("reset") or said.get("failed") or status.startswith("4"), said
    assert lab.origin.reached("wrong-authority") == []


def test_a_tunnel_in_a_tunnel_is_refused_in_our_words(lab: Proxied) -> None:
    agent = lab.agent()
    headers = [
        (":method", "CONNECT"),
        (":scheme", "https"),
        (":authority", _secure(lab)),
        (":path", "/text?a-tunnel-in-a-tunnel"),
    ]

    agent.send("http2", tunnel=_secure(lab), tls="localhost", headers=headers)

    said = agent.receive()
    assert dict(said["headers"])[":status"] == "400", said
    page = base64.b64decode(said["body"])
    assert b"there is no tunnel in a tunnel" in page
    assert b"mitmproxy" not in page


def test_an_authority_and_a_host_that_disagree_are_blocked(lab: Proxied) -> None:
    agent = lab.agent()
    headers = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", _secure(lab)),
        (":path", "/text?host-in-h2"),
        ("host", "other.test"),
    ]

    agent.send("http2", tunnel=_secure(lab), tls="localhost", headers=headers)

    said = agent.receive()
    status = dict(said.get("headers", ())).get(":status", "")
    assert said.get("reset") or said.get("failed") or status.startswith("4"), said
    assert lab.origin.reached("host-in-h2") == []


def test_a_kept_tunnel_stays_with_its_host(lab: Proxied) -> None:
    first = f"GET /text?kept-first HTTP/1.1\r\nHost: {_secure(lab)}\r\n\r\n".encode()
    second = b"GET /text?kept-second HTTP/1.1\r\nHost: other.test\r\n\r\n"

    lab.agent().raw(pieces=[first + second], tunnel=_secure(lab), tls="localhost")

    assert len(lab.origin.reached("kept-first")) == 1
    assert lab.origin.reached("kept-second") == []


def test_a_plain_request_for_one_host_names_no_other(lab: Proxied) -> None:
    said = lab.agent().raw(
        f"GET {lab.http}/text?plain-other HTTP/1.1\r\nHost: other.test\r\n"
        "Proxy-Authorization: Basic @AUTH@\r\n\r\n".encode()
    )

    assert said["data"].split(b" ", 2)[1][:1] == b"4", said
    assert lab.origin.reached("plain-other") == []


# The authority.


def test_the_key_is_the_users_alone(lab: Proxied) -> None:
    lab.agent().request(f"{lab.https}/text")
    keys = [
        each
        for each in lab.home.dir.rglob("*.pem")
        if b"PRIVATE KEY" in each.read_bytes()
    ]

    assert keys
    assert {stat.S_IMODE(each.stat().st_mode) for each in keys} == {0o600}


def test_the_agent_finds_the_authority(lab: Proxied) -> None:
    environment = lab.agent().environment()

    names = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT")
    bundles = {environment[each] for each in (*names, "GIT_SSL_CAINFO")}
    assert len(bundles) == 1
    context = ssl.create_default_context(cafile=bundles.pop())
    assert context.cert_store_stats()["x509_ca"] >= 1
    for name in ("NODE_EXTRA_CA_CERTS", "npm_config_cafile", "WGETRC"):
        assert Path(environment[name]).is_file(), name


def test_the_command_line_shows_it(lab: Proxied) -> None:
    path = lab.home.run("ca", "path")
    printed = lab.home.run("ca", "print")

    assert (path.code, printed.code) == (0, 0)
    assert Path(path.out.strip()).read_text() == printed.out
    assert "BEGIN CERTIFICATE" in printed.out
    assert "PRIVATE" not in printed.out


def test_a_regenerated_authority_is_another(home: Home) -> None:
    before = home.run("ca", "print")
    made = home.run("ca", "regenerate")
    after = home.run("ca", "print")

    assert made.code == 0, made
    assert after.code == 0, after
    assert before.out != after.out
