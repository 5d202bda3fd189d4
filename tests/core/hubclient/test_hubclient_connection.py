"""Whatever a hub does, it is one error in one line, soon, and the token stays ours."""

import gzip
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hostile_hub import Answer, HostileHub, chunked, json_answer, plain_answer
from origins.certificates import Authority

from redlane.errors import RedlaneError
from redlane.hubclient import (
    Account,
    Hub,
    HubError,
    HubRefusedError,
    HubUnavailableError,
)

ACCOUNT = {
    **dict.fromkeys(("id", "email", "created_at"), "ada@example.org"),
    **dict.fromkeys(("is_endorsed", "is_approved"), True),
}
FINE = json_answer(ACCOUNT)
LONG = b'"%b"' % (b"x" * 1000)
OK_HEAD = b"HTTP/1.1 200 OK\r\n"
E = TypeVar("E", bound=RedlaneError)
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in PROXIES:
        monkeypatch.delenv(each, raising=False)
        monkeypatch.delenv(each.upper(), raising=False)


def ask(hub: Hub) -> Account:
    with hub:
        return hub.me()


def revoke(hub: Hub) -> None:
    """A request whose answer says nothing but that it is done."""
    hub.revoke_key("f")


def failed(
    kind: type[E], answer: Answer, asked: Callable[[Hub], object], **options: Any
) -> tuple[E, HostileHub]:
    """What is raised when a hub that answers so is asked, and that hub."""
    with (
        HostileHub(answer, tls=options.pop("tls", None)) as there,
        Hub(there.address, "secret", **options) as hub,
        pytest.raises(kind) as found,
    ):
        asked(hub)
    return found.value, there


def test_request_is_what_was_asked() -> None:
    with HostileHub(FINE) as there:
        ask(Hub(f"{there.address}/our/hub/", "secret"))
    (sent,) = there.sent
    lines = sent.head.splitlines()
    assert lines[0] == "GET /our/hub/api/v1/me HTTP/1.1"
    assert {"Authorization: Bearer secret", "Accept: application/json"} <= {*lines}


def test_body_is_json_in_utf8_and_a_password_goes_without_a_token() -> None:
    answer = json_answer({"id": "1", "email": "ü"})
    with HostileHub(answer) as there, Hub(there.address, "secret") as hub:
        hub.register("ü", "p")
    (sent,) = there.sent
    assert sent.body == '{"email": "ü", "password": "p"}'.encode()
    assert "Content-Type: application/json\r\n" in sent.head
    assert "secret" not in sent.head


def test_redirect_is_not_followed_and_takes_no_token_along() -> None:
    with HostileHub(FINE) as other:
        place = f"Location: {other.address}/api/v1/me"
        redirect = plain_answer(b"", "307 Temporary Redirect", place)
        with HostileHub(redirect) as there, pytest.raises(HubUnavailableError) as found:
            ask(Hub(there.address, "secret"))
        assert (len(there.sent), other.sent) == (1, [])
    assert f"redirects to {other.address}/api/v1/me" in str(found.value)


REFUSED = {
    "JSON": (json_answer({"error": "no such key"}, "404 Not Found"), "no such key"),
    "plain text": (plain_answer(b" slow down\n", "429 Too Many"), "slow down"),
    "no UTF-8": (plain_answer(b"\xff", "400 Bad"), "\ufffd"),
    "nothing": (plain_answer(b"", "404 Whatever"), "404 Not Found"),
    "other JSON": (json_answer({"error": 5}, "403 Forbidden"), "403 Forbidden"),
    "list": (json_answer(["error"], "409 Conflict"), "409 Conflict"),
    "unknown status": (plain_answer(b"", "499 Whatever"), "499"),
    "at length": (plain_answer(b"x" * 999, "400 Bad"), "x" * 500 + "…"),
    "JSON at length": (json_answer({"error": "x" * 999}, "400 B"), "x" * 500 + "…"),
}


@pytest.mark.parametrize(("answer", "words"), REFUSED.values(), ids=REFUSED)
def test_refusal_has_the_hubs_words_and_status(answer: Answer, words: str) -> None:
    error, _ = failed(HubRefusedError, answer, Hub.me)
    assert str(error) == f"the hub says: {words}"
    assert error.status == int(answer.data[9:12])


BROKEN = {
    "500": (json_answer({"error": "oh"}, "500 Error"), "answers 500: oh"),
    "503": (plain_answer(b"", "503 Error"), "answers 503: 503 Service Unavailable"),
    "600": (plain_answer(b"", "600 Error"), "answers 600"),
    "304": (plain_answer(b"", "304 Not Modified"), "redirects to elsewhere"),
    "199": (plain_answer(b"", "199 Odd"), "answers 199"),
    "too long": (plain_answer(LONG), "answers with more than 500 bytes"),
    "too long in chunks": (chunked(LONG), "answers with more than 500 bytes"),
    "refusal too long": (plain_answer(LONG, "400 Bad"), "more than 500 bytes"),
    "HTML": (plain_answer(b"<html>"), "answers with no JSON"),
    "key twice": (plain_answer(b'{"a": 1, "a": 2}'), "the key 'a' is given twice"),
    "gzip": (
        plain_answer(gzip.compress(b"{}"), "200 OK", "Content-Encoding: gzip"),
        "answers with no JSON",
    ),
    "other protocol": (Answer(b"SSH-2.0 hub\r\n", stays=False), "cannot be reached"),
    "nothing": (Answer(stays=False), "cannot be reached"),
    "half a head": (Answer(OK_HEAD + b"Conte", stays=False), "how long its answer is"),
    "no length": (Answer(OK_HEAD + b"\r\n{}", stays=False), "how long its answer is"),
    "half a body": (
        Answer(OK_HEAD + b"Content-Length: 9\r\n\r\n{}", stays=False),
        "cannot be reached",
    ),
    "half a chunk": (
        Answer(chunked(b"{}").data[:-8], stays=False),
        "cannot be reached",
    ),
    "heads without end": (Answer(OK_HEAD + b"a: b\r\n" * 200), "cannot be reached"),
}


@pytest.mark.parametrize(("answer", "words"), BROKEN.values(), ids=BROKEN)
def test_what_no_hub_may_answer_makes_it_unavailable(
    answer: Answer, words: str
) -> None:
    error, there = failed(HubUnavailableError, answer, revoke, most_bytes=500)
    assert str(error).startswith(f"the hub {there.address} ")
    assert words in str(error)


SLOW = {
    "never": Answer(),
    "half a head": Answer(OK_HEAD + b"X: "),
    "no length": Answer(OK_HEAD + b"\r\n"),
    "half a body": Answer(FINE.data[:-1]),
    "head by bytes": Answer(FINE.data, pause=0.02),
    "body by bytes": Answer(OK_HEAD + b"\r\n" + b" " * 500, pause=0.005),
    "chunks by bytes": Answer(chunked(b" " * 500).data, pause=0.004),
    "continue": Answer(b"HTTP/1.1 100 Continue\r\n\r\n" * 100, pause=0.02),
}


@pytest.mark.parametrize("answer", SLOW.values(), ids=SLOW)
def test_slow_hub_holds_nobody_longer_than_was_said(answer: Answer) -> None:
    error, _ = failed(HubUnavailableError, answer, revoke, seconds=0.3)
    assert "did not answer within 0.3 seconds" in str(error)


def test_looking_the_name_up_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = socket.getaddrinfo

    def look_up_late(host: str, *rest: int) -> object:
        for each in threading.enumerate():
            if isinstance(each, threading.Timer):
                each.join()
        return look_up(host, *rest)

    monkeypatch.setattr(socket, "getaddrinfo", look_up_late)
    error, _ = failed(
        HubUnavailableError, Answer(FINE.data, pause=0.01), Hub.me, seconds=0.3
    )
    assert "did not answer within" in str(error)


UNCOUTH = {
    "JSON": json_answer({"error": "no\nredlane: done\x1b[2J"}, "400 Bad"),
    "plain text": plain_answer(b"<html>\r\n<body>", "400 Bad"),
    "error": plain_answer(b"<html>\r\n<body>", "502 Bad"),
    "other protocol": Answer(b"SSH-2.0 hub\r\n", stays=False),
}


@pytest.mark.parametrize("answer", UNCOUTH.values(), ids=UNCOUTH)
def test_every_error_is_one_line(answer: Answer) -> None:
    error, _ = failed(HubError, answer, Hub.me)
    assert str(error).splitlines() == [str(error)]


@pytest.mark.parametrize("token", ["a\r\nX: y", "€"])
def test_token_that_is_none_is_nonsense(token: str) -> None:
    login = {**ACCOUNT, "token": token, "require_email_update": False}

    def asked(hub: Hub) -> None:
        hub.login("ada@example.org", "p")
        hub.me()

    failed(HubUnavailableError, json_answer(login), asked)


def test_nobody_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        address = f"http://127.0.0.1:{one.getsockname()[1]}"
    with pytest.raises(HubUnavailableError) as found:
        ask(Hub(address))
    assert str(found.value) == (
        f"the hub {address} cannot be reached: Connection refused"
    )


def test_requests_share_one_connection() -> None:
    refusal = json_answer({"error": "no"}, "404 Not Found")
    with HostileHub(FINE, refusal, FINE) as there, Hub(there.address) as hub:
        hub.me()
        with pytest.raises(HubRefusedError):
            hub.me()
        hub.me()
    assert [each.connection for each in there.sent] == [1, 1, 1]


def test_connection_that_the_hub_closed_is_made_anew() -> None:
    last = Answer(FINE.data, stays=False)
    with HostileHub(last, FINE) as there, Hub(there.address) as hub:
        hub.me()
        assert there.closed.wait(20)
        hub.me()
    assert [each.connection for each in there.sent] == [1, 2]


def test_answer_that_nobody_asked_for_answers_nothing() -> None:
    forged = json_answer({**ACCOUNT, "email": "mallory"})
    both = Answer(FINE.data + forged.data)
    with HostileHub(both, FINE) as there, Hub(there.address) as hub:
        assert [hub.me().email, hub.me().email] == [ACCOUNT["email"]] * 2


def test_threads_may_share_a_hub() -> None:
    with (
        HostileHub(FINE) as there,
        Hub(there.address) as hub,
        ThreadPoolExecutor(8) as pool,
    ):
        found = [*pool.map(lambda _: hub.me(), range(40))]
    assert {each.email for each in found} == {"ada@example.org"}
    assert {each.connection for each in there.sent} == {1}


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("a/b", "a%2Fb"),
        ("../me", "..%2Fme"),
        ("a?b=c", "a%3Fb%3Dc"),
        ("a#b", "a%23b"),
        ("100%", "100%25"),
        ("%2e%2e", "%252e%252e"),
        ("a b", "a%20b"),
        ("a;b", "a%3Bb"),
        ("a\r\nX: y", "a%0D%0AX%3A%20y"),
        ("ü", "%C3%BC"),
        ("...", "..."),
    ],
)
def test_name_stays_one_piece_of_the_path(name: str, piece: str) -> None:
    with HostileHub(FINE) as there, Hub(there.address) as hub:
        hub.account(name)
    assert there.sent[0].target == f"/api/v1/users/{piece}"


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_name_that_is_none_is_not_sent(name: str) -> None:
    error, there = failed(HubRefusedError, FINE, lambda hub: hub.account(name))
    assert (there.sent, error.status) == ([], 404)


@pytest.mark.parametrize(
    "asked",
    [
        lambda hub: hub.account("\udcff"),
        lambda hub: hub.search("\udcff"),
        lambda hub: hub.login("ada@example.org", "\udcff"),
    ],
    ids=["path", "query", "body"],
)
def test_what_is_no_text_is_not_sent(asked: Callable[[Hub], object]) -> None:
    assert failed(RedlaneError, FINE, asked)[1].sent == []


def server_context(files: tuple[Path, Path]) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*files)
    return made


def test_certificate_of_a_trusted_authority_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.bundle))
    tls = server_context(authority.issue())
    with HostileHub(FINE, tls=tls) as there, Hub(there.address, "secret") as hub:
        assert [hub.me(), hub.me()][1].email == "ada@example.org"
    assert [each.connection for each in there.sent] == [1, 1]


@pytest.mark.parametrize(
    ("name", "days", "trusted"),
    [("127.0.0.1", 30, False), ("127.0.0.2", 30, True), ("127.0.0.1", -1, True)],
    ids=["nobody vouches", "another's", "expired"],
)
def test_certificate_that_proves_nothing_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    days: int,
    *,
    trusted: bool,
) -> None:
    authority = Authority(tmp_path)
    believed = authority if trusted else Authority(tmp_path / "others")
    monkeypatch.setenv("SSL_CERT_FILE", str(believed.bundle))
    tls = server_context(authority.issue(name, days=days))
    error, there = failed(HubUnavailableError, FINE, Hub.me, tls=tls)
    assert "certificate verify failed" in str(error)
    assert there.sent == []


@pytest.mark.parametrize("answer", [FINE, Answer()], ids=["plain", "silent"])
def test_hub_without_tls_is_not_asked_where_tls_is_wanted(answer: Answer) -> None:
    with HostileHub(answer) as there, pytest.raises(HubUnavailableError):
        ask(Hub(there.address.replace("http:", "https:"), "secret", seconds=0.3))
    assert "secret" not in "".join(each.head for each in there.sent)


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY"])
def test_proxy_is_asked_for_the_whole_address(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HostileHub(FINE) as proxy:
        monkeypatch.setenv(name, proxy.address)
        ask(Hub("http://hub.test:81/our", "secret"))
    (sent,) = proxy.sent
    assert sent.target == "http://hub.test:81/our/api/v1/me"
    assert "Host: hub.test:81\r\n" in sent.head


def test_proxy_does_not_see_what_is_asked_over_tls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusal = plain_answer(b"", "502 Bad Gateway")
    with HostileHub(refusal) as proxy:
        monkeypatch.setenv("https_proxy", proxy.address)
        with pytest.raises(HubUnavailableError):
            ask(Hub("https://hub.test", "secret"))
    assert proxy.sent[0].target == "hub.test:443"
    assert "secret" not in proxy.sent[0].head


def test_proxy_that_has_a_password_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with HostileHub(FINE) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address.replace("//", "//me:pw@"))
        ask(Hub("http://hub.test"))
    assert "proxy-authorization: basic bwu6chc=" in proxy.sent[0].head.lower()


@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
def test_proxy_is_not_asked_for_who_is_excepted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HostileHub(FINE) as proxy, HostileHub(FINE) as there:
        monkeypatch.setenv("http_proxy", proxy.address)
        monkeypatch.setenv(name, "example.org,127.0.0.1")
        ask(Hub(there.address))
        assert (len(there.sent), proxy.sent) == (1, [])


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http://127.0.0.1:99999"])
def test_proxy_that_cannot_be_used_is_told(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(RedlaneError):
        ask(Hub("http://hub.test"))
