"""Each session has credentials of its own; nobody else is served; no role, nothing."""

import base64
import socket
import urllib.parse
from pathlib import Path

import pytest
from proxied import Outcome, Proxied
from spec.cases import simple

POLICIES = {"word": simple("Block", "bad-word", context="Network")}
ROLES = {"strict": ["word"]}
SETTINGS = {"tls": {"intercept": True}}
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def _proxy(lab: Proxied, role: str = "agent") -> urllib.parse.SplitResult:
    return urllib.parse.urlsplit(lab.agent(role).environment()["HTTP_PROXY"])


def _ask(lab: Proxied, head: str, credentials: str | None) -> bytes:
    """The head that a process outside of any session gets from the proxy."""
    proxy = _proxy(lab)
    lines = [head, "Host: 127.0.0.1", "Connection: close"]
    if credentials is not None:
        lines.append(f"Proxy-Authorization: {credentials}")
    connection = socket.create_connection((proxy.hostname, proxy.port), timeout=30)
    with connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        data = b""
        while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
            data += more
        return data


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize("name", [*VARIABLES, *map(str.lower, VARIABLES)])
def test_an_agent_is_told_where_the_proxy_is(lab: Proxied, name: str) -> None:
    found = urllib.parse.urlsplit(lab.agent().environment()[name])

    assert found.scheme == "http"
    assert found.hostname == "127.0.0.1"
    assert found.username == lab.agent().session
    assert found.password


@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_nothing_is_exempt(lab: Proxied, name: str) -> None:
    assert lab.agent().environment().get(name, "") == ""


def test_the_callers_own_variables_are_overridden(lab: Proxied) -> None:
    theirs = "http://elsewhere.test:1"
    names = [*VARIABLES, *map(str.lower, VARIABLES)]
    env = {**dict.fromkeys(names, theirs), "NO_PROXY": "*", "no_proxy": "*"}

    said = lab.run("/usr/bin/env", env=env).out

    assert "elsewhere.test" not in said
    assert "NO_PROXY=*" not in said
    assert "no_proxy=*" not in said


def test_each_session_has_its_own(lab: Proxied) -> None:
    found = {_proxy(lab).password, _proxy(lab, "open").password}

    assert len(found) == 2


def test_the_proxy_listens_on_loopback_only(lab: Proxied) -> None:
    port = f"{_proxy(lab).port:04X}"
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    listening = {each[1] for each in lines if each[3] == "0A"}

    assert {each for each in listening if each.endswith(f":{port}")} == {
        f"0100007F:{port}"
    }


def _wrong(lab: Proxied, name: str) -> str | None:
    mine, others = _proxy(lab), _proxy(lab, "open")
    rows = {
        "none": None,
        "empty": "",
        "no-colon": "Basic " + base64.b64encode(b"nothing").decode(),
        "no-base64": "Basic !!!",
        "no-password": _basic(str(mine.username), ""),
        "wrong-password": _basic(str(mine.username), "a" * 32),
        "others-password": _basic(str(mine.username), str(others.password)),
        "others-session": _basic(str(others.username), str(mine.password)),
        "unknown-session": _basic("no-such-session", str(mine.password)),
        "shorter": _basic(str(mine.username), str(mine.password)[:-1]),
        "longer": _basic(str(mine.username), str(mine.password) + "a"),
        "capitals": _basic(str(mine.username), str(mine.password).upper()),
        "bearer": f"Bearer {mine.password}",
        "default": _basic("default", str(mine.password)),
    }
    return rows[name]


WRONG = (
    *("none", "empty", "no-colon", "no-base64", "no-password", "wrong-password"),
    *("others-password", "others-session", "unknown-session", "shorter", "longer"),
    *("capitals", "bearer", "default"),
)


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_credentials_are_407(lab: Proxied, wrong: str) -> None:
    target = f"{lab.http}/text?credentials-{wrong}"

    said = _ask(lab, f"GET {target} HTTP/1.1", _wrong(lab, wrong))

    assert said.startswith(b"HTTP/1.1 407 "), said
    assert b"proxy-authenticate: basic" in said.lower()
    assert lab.origin.reached(f"credentials-{wrong}") == []


@pytest.mark.parametrize("wrong", ["none", "wrong-password", "others-password"])
def test_wrong_credentials_of_a_tunnel_are_407(lab: Proxied, wrong: str) -> None:
    head = f"CONNECT localhost:{lab.site.ports.secure} HTTP/1.1"

    assert _ask(lab, head, _wrong(lab, wrong)).startswith(b"HTTP/1.1 407 ")


def test_a_request_for_the_proxy_itself_is_refused(lab: Proxied) -> None:
    said = _ask(lab, "GET / HTTP/1.1", None)

    assert said.split(b" ", 2)[1][:1] == b"4", said


@pytest.mark.parametrize("head", ["GET", "CONNECT"])
def test_right_credentials_are_worth_nothing_outside_the_session(
    lab: Proxied, head: str
) -> None:
    """Processes of one user can read each other's environment."""
    proxy = _proxy(lab)
    right = _basic(str(proxy.username), str(proxy.password))
    target = f"{lab.http}/text?stolen"
    if head == "CONNECT":
        target = f"localhost:{lab.site.ports.secure}"

    said = _ask(lab, f"{head} {target} HTTP/1.1", right)

    assert said.startswith(b"HTTP/1.1 407 "), said
    assert lab.origin.reached("stolen") == []


def test_a_session_that_has_ended_is_407(lab: Proxied) -> None:
    ran = lab.run("/usr/bin/printenv", "HTTP_PROXY")
    ended = urllib.parse.urlsplit(ran.out.strip())
    theirs = _basic(str(ended.username), str(ended.password))

    said = _ask(lab, f"GET {lab.http}/text HTTP/1.1", theirs)

    assert said.startswith(b"HTTP/1.1 407 "), said


def test_a_credential_holds_for_the_whole_tunnel(lab: Proxied) -> None:
    """Two requests of one connection are judged under the session of its CONNECT."""
    strict, free = lab.agent("strict"), lab.agent("open")

    first = strict.post(f"{lab.https}/echo", b"fine", keep="tunnel")
    second = strict.post(f"{lab.https}/echo", b"bad-word", keep="tunnel")

    assert (first.status, second.blocked_by) == (200, "word")
    assert free.post(f"{lab.https}/echo", b"bad-word", keep="tunnel").status == 200


def test_credentials_inside_a_tunnel_change_nothing(lab: Proxied) -> None:
    """The session is that of the tunnel."""
    proxy = _proxy(lab, "open")
    theirs = _basic(str(proxy.username), str(proxy.password))

    outcome = lab.agent("strict").post(
        f"{lab.https}/echo", b"bad-word", headers={"proxy-authorization": theirs}
    )

    assert outcome.blocked_by == "word"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_role_blocks_all(lab: Proxied, scheme: str) -> None:
    agent = lab.new_agent("open")
    assert agent.session
    lab.home.write("roles/open.json", {"name": "closed", "policies": []})
    try:
        assert lab.home.run("session", "reload").code == 0

        outcome = agent.request(f"{getattr(lab, scheme)}/text?no-role-{scheme}")

        assert _refused(outcome)
        assert lab.origin.reached(f"no-role-{scheme}") == []
    finally:
        lab.home.role("open")
        assert lab.home.run("session", "reload").code == 0


def _refused(outcome: Outcome) -> bool:
    """An answer of 403, or a tunnel that was not opened."""
    return "403" in outcome.failed or outcome.status == 403
