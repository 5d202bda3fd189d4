"""The webhook's answer link: who has it decides, once, and nobody in a session."""

import html
import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit
from uuid import uuid4

import pytest
from hook import Hook
from proxied import Proxied
from spec.cases import simple
from spec.held import REFUSED
from spec.redlane_home import REDLANE, REDLANE_SH, Home, wait_for

POLICIES = {"flag": simple("Flag", "odd thing", context="Shell", reason="it is <odd>")}
HERE = "127.0.0.1:0"
LONG, SECRET = "x" * 5000, "ghp_" + "a" * 36
FORM = "application/x-www-form-urlencoded"
GUARDED = {"no-store", "no-referrer", "nosniff"}
GUARDED |= {"default-src 'none'", "frame-ancestors 'none'"}


class Reply(NamedTuple):
    status: int
    text: str
    said: str
    acts: set[str]


def send(link: str, method: str = "GET", body: str | None = None) -> Reply:
    """Make a request; whatever comes back, nobody keeps it or shows it elsewhere."""
    at = urlsplit(link)
    with closing(HTTPConnection(at.hostname or "", at.port, timeout=20)) as connection:
        connection.request(method, at.path, body, {"Content-Type": FORM})
        answer = connection.getresponse()
        text, headers = answer.read().decode(), answer.getheaders()
    told = {each for _, value in headers for each in re.split(" *; *", value)}
    assert told >= GUARDED, (method, answer.status)
    said = html.unescape(re.sub(r"(?s)<style.*?</style>|<[^>]*>", "", text))
    acts = set(re.findall('name="act" value="(.*?)"', text))
    return Reply(answer.status, text, said, acts)


def post(link: str, **form: str) -> Reply:
    return send(link, "POST", urlencode(form))


class Held(NamedTuple):
    command: str
    shell: "subprocess.Popen[str]"
    text: str
    review: Any
    link: str


class Desk(NamedTuple):
    """A home whose daemon holds odd things; `listens`: where links lead, if known."""

    home: Home
    hook: Hook
    listens: str = ""
    front: str = ""

    @contextmanager
    def asked(self, command: str = "", *before: str) -> Iterator[Held]:
        """Have a command held, one that never was; in a session if that is `before`."""
        command = command or f"echo odd thing {uuid4()}"
        program = REDLANE if before else REDLANE_SH
        with self.home.spawn(*before, "-c", command, program=program) as shell:
            try:
                told = self.told("held")
                link = told["review"]["answer"] or ""
                here = f"http://{self.listens}/answer/{link[-43:]}"
                link = here if self.listens else link
                yield Held(command, shell, told["text"], told["review"], link)
            finally:
                shell.terminate()

    def told(self, event: str) -> Any:
        while (told := self.hook.next().json)["event"] != event:
            pass
        return told

    def shown(self, held: Held) -> Any:
        return self.home.run("review", "show", held.review["id"], "--json").json

    def is_held(self, held: Held) -> bool:
        return bool(self.shown(held)["state"] == "waiting")

    def settle(self, seconds: int = 60, **webhook: object) -> None:
        self.home.policies({"id": "flag", **POLICIES["flag"]})
        self.home.role("agent", "flag")
        told = {"url": self.hook.url, "secret": "a secret of ours", **webhook}
        self.home.settings(review={"timeout_seconds": seconds, "webhook": told})
        if self.home.run("reload").code != 0:
            self.home.start("--role", "agent")


@pytest.fixture
def fresh(home: Home) -> Iterator[Desk]:
    with closing(Hook()) as hook:
        yield Desk(home, hook)


@pytest.fixture(scope="module")
def desk(lab: Proxied) -> Iterator[Desk]:
    """The module's; no session may come to its `front`, where people are to go."""
    with closing(Hook()) as hook, closing(Hook()) as front:
        place = f"localhost:{urlsplit(front.url).port}"
        with socket.create_server(("127.0.0.1", 0)) as server:
            made = Desk(lab.home, hook, f"127.0.0.1:{server.getsockname()[1]}", place)
        made.settle(answer_listen=made.listens, answer_url=f"http://{place}/in/front/")
        yield made
        assert front.is_empty


RIGHT = [("localhost:8137", None), ("[::1]:0", None), (HERE, "https://h:8443/a/b/")]
WRONG = [
    ("0.0.0.0:0", None), ("192.0.2.1:80", None), ("h:80", None), (":80", None),
    ("127.0.0.1", None), ("127.0.0.1:65536", None), (8137, None), (None, "https://h/"),
    (HERE, "h"), (HERE, "ftp://h"), (HERE, "http://h?a"), (HERE, "http://h/#a"),
    (HERE, "https://u@h/"), (HERE, "https://u:p@h/"),
]  # fmt: skip


@pytest.mark.parametrize(("listen", "url"), [*RIGHT, *WRONG])
def test_what_can_be_no_link_is_an_error(home: Home, listen: object, url: str) -> None:
    given = {"answer_listen": listen, "answer_url": url, "url": "https://h/"}
    told = {name: each for name, each in given.items() if each}
    home.settings(review={"webhook": {"secret": "s", **told}})
    checked = home.check()
    assert checked.code == ((listen, url) in WRONG)
    assert all("answer_" in json.dumps(each) for each in checked.errors)


def test_what_is_held_has_a_link_and_what_is_decided_none(desk: Desk) -> None:
    with desk.asked() as held:
        told, base = held.review["answer"], f"http://{desk.front}/in/front/answer/"
        assert re.fullmatch(re.escape(base) + "[A-Za-z0-9_-]{43}", told)
        assert held.text.endswith(told)
        post(held.link, act="block")
        over = desk.told("decided")
        assert over["review"]["id"] == held.review["id"]
        assert (over["review"]["answer"], told in str(over)) == (None, False)


def test_chats_are_told_the_link(fresh: Desk) -> None:
    for chat in ("slack", "mattermost", "google-chat", "discord", "teams"):
        fresh.settle(answer_listen=HERE, format=chat)
        with fresh.home.spawn("-c", "echo odd thing", program=REDLANE_SH) as shell:
            while b"/answer/" not in (told := fresh.hook.next()).body:
                pass
            (link,) = re.findall(rb'(http://[\d.:]+/answer/[\w-]{43})"', told.body)
            assert (b'"Action.OpenUrl"' in told.body) == (chat == "teams")
            assert post(link.decode(), act="block").status == 200
        assert shell.returncode == REFUSED


MARKUP = "'<script>x</script><b onclick=x>&amp;</b>'"


def test_a_page_says_all_hides_nothing_and_changes_nothing(desk: Desk) -> None:
    with desk.asked(f"echo odd thing {MARKUP} '\u202e' '\x1b[2J'") as held:
        page, again = send(held.link), send(held.link)
        names = ("context", "policy", "reason", "session", "deadline")
        told = [held.review[each] for each in names]
        told += [str(desk.home.user), f"{MARKUP} '⟨U+202E⟩' '⟨U+001B⟩[2J'"]
        assert [each for each in told if each not in page.said] == []
        assert not re.search("<script|<b |\u202e|\x1b", page.text)
        assert (page.status, again.text, desk.is_held(held)) == (200, page.text, True)
        (action,) = re.findall('<form.* action="(.*?)"', page.text) or [""]
        assert urljoin(held.review["answer"], action) == held.review["answer"]


PAGES = [
    ("echo odd thing on a page", "", {"block", "allow", "allow-10m"}),
    ("$CMD odd thing", "", {"block", "allow"}), ("sh s.sh", LONG, {"block", "show"}),
    (f"echo odd thing {SECRET}", SECRET, {"block", "show"}),
    (f"echo odd thing {LONG}", LONG, {"block", "show"}),
]  # fmt: skip


@pytest.mark.parametrize(("command", "hidden", "acts"), PAGES, ids=range(len(PAGES)))
def test_only_what_is_all_shown_can_be_allowed(
    desk: Desk, command: str, hidden: str, acts: set[str]
) -> None:
    (desk.home.user / "s.sh").write_text(f"echo odd thing {LONG}\n")
    with desk.asked(command) as held:
        first, whole = send(held.link), post(held.link, act="show")
        assert first.acts == acts
        assert not (hidden and hidden in first.said)
        assert (whole.status, hidden in whole.said) == (200, True)
        assert whole.acts - {"allow-10m"} == {"block", "allow"}
        assert desk.is_held(held)


ACTS = [("allow", "allowed", ""), ("allow-10m", "allowed", "for <now>")]
ACTS += [("block", "blocked", "not today"), ("block", "blocked", "é" * 500)]


@pytest.mark.parametrize(("act", "state", "note"), ACTS)
def test_a_button_decides(desk: Desk, act: str, state: str, note: str) -> None:
    with desk.asked() as held:
        reply = post(held.link, act=act, note=note)
        out, err = held.shell.communicate(timeout=20)
        assert (reply.status, state in reply.said) == (200, True)
        ended = (0, held.command[5:] + "\n") if state == "allowed" else (REFUSED, "")
        assert (held.shell.returncode, out) == ended
        assert note in err or state == "allowed"
        shown = [desk.shown(held)[e] for e in ("state", "decided_by", "by", "note")]
        assert shown == [state, "person", "the answer link", note or None]


def test_only_for_ten_minutes_the_same_needs_nobody(desk: Desk) -> None:
    with desk.asked() as held:
        post(held.link, act="allow")
        with desk.asked(held.command) as again:
            post(again.link, act="allow-10m")
            again.shell.communicate(timeout=20)
            assert desk.home.shell("-c", held.command).code == 0


ENDS: dict[str, Callable[[Desk, Held], object]] = {
    "by the link": lambda _, held: post(held.link, act="allow"),
    "elsewhere": lambda desk, held: desk.home.run("review", "block", held.review["id"]),
    "by nobody": lambda _, held: held.shell.terminate(),
    "in time": lambda _, held: held.shell.wait(20),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_is_over_is_gone(fresh: Desk, end: str) -> None:
    fresh.settle(seconds=1 if end == "in time" else 60, answer_listen=HERE)
    with fresh.asked() as held:
        ENDS[end](fresh, held)
        wait_for(lambda: not fresh.is_held(held))
        shown = fresh.shown(held)
        told = (shown["state"], shown["by"] or "", held.command)
        for reply in (send(held.link), post(held.link, act="allow")):
            assert (reply.status, reply.acts) == (410, set())
            assert [each in reply.said for each in told] == [True, True, False]
        assert fresh.shown(held) == shown


BODIES = ["act=approve", "act=ALLOW", "note=allow", "", '{"act": "allow"}']
BODIES += [f"act=allow&{each}" for each in ("note=" + "n" * 501, "x" * 16 * 1024)]
NONE = [("POST", each) for each in [*BODIES, "act=allow-10m"]]
NONE += [(each, "act=allow") for each in ("HEAD", "PUT", "DELETE", "PATCH", "OPTIONS")]


@pytest.mark.parametrize(("method", "body"), NONE, ids=lambda each: each[:12])
def test_what_is_no_answer_decides_nothing(desk: Desk, method: str, body: str) -> None:
    with desk.asked("$CMD odd thing") as held:
        status = send(held.link, method, body).status
        assert status in (range(400, 500) if method == "POST" else {405})
        assert desk.is_held(held)


def test_what_is_no_link_is_not_found(desk: Desk) -> None:
    with desk.asked() as held:
        token = held.link[-43:]
        tokens = [token[:-1], f"{token}A", f"{token}=", "A" * 43, token.swapcase(), ""]
        tokens += [f"{token}/", f"{token}/x", held.review["id"]]
        tokens += [token[:-1] + each for each in "ABCD" if token[-1] != each]
        links = [held.link.replace(token, each) for each in tokens]
        paths = ("", "answer", f"x/answer/{token}", f"Answer/{token}", token)
        links += [f"http://{desk.listens}/{each}" for each in paths]
        both = [(send(each).status, post(each, act="allow").status) for each in links]
        assert both == [(404, 404)] * len(links)
        assert desk.is_held(held)


def request(method: str, link: str, host: str) -> str:
    head = f"{method} {link} HTTP/1.1\r\nHost: {host}\r\n"
    head += "Proxy-Authorization: Basic @AUTH@\r\n"
    body = f"Content-Type: {FORM}\r\nContent-Length: 9\r\n\r\nact=allow"
    return head + (body if method == "POST" else "\r\n")


FETCH = """
import contextlib, socket, sys
host, port, get, post, *ours = sys.argv[1:]
for asked, each in zip([post, get] * 16, map(int, ours)):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as made:
        with contextlib.suppress(OSError):  # IP_LOCAL_PORT_RANGE, since Linux 6.3
            made.setsockopt(0, 51, (each << 16 | each).to_bytes(4, sys.byteorder))
        made.connect((host, int(port)))
        made.sendall(asked.encode())
        print(made.recv(12).decode())
"""
WAYS: dict[str, tuple[str, ...]] = {
    "itself": (), "child": ("timeout", "60"), "its port": (), "its port by IPv6": (),
    "orphan": ("sh", "-c", 'setsid --fork "$@" | cat', "sh"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_nobody_in_a_session_uses_it(lab: Proxied, desk: Desk, way: str) -> None:
    words, is_shared = WAYS[way], "port" in way
    host, port = desk.listens.split(":")
    with desk.asked() as held, ExitStack() as stack:
        keep, path = stack.enter_context, f"/answer/{held.link[-43:]}"
        servers = [keep(socket.create_server((host, 0))) for _ in range(32)]
        others = [keep(socket.create_connection(e.getsockname())) for e in servers]
        ours = [str(each.getsockname()[1] if is_shared else 0) for each in others]
        to = f"::ffff:{host}" if "IPv6" in way else host
        asks = [request(each, path, desk.listens) for each in ("GET", "POST")]
        ran = lab.run(*words, sys.executable, "-c", FETCH, to, port, *asks, *ours)
        assert ran.out == "HTTP/1.1 403\n" * 32, ran
        assert desk.is_held(held)


NAMES = ("localhost", "LOCALHOST", "localhost.")
HOSTS = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.000.000.001",
    "0", "0.0.0.0", "[::ffff:127.0.0.1]", "[::1]", "[::]", "%31%32%37.0.0.1", *NAMES,
]  # fmt: skip


def test_no_session_reaches_it_through_the_proxy(lab: Proxied, desk: Desk) -> None:
    places = [(e, desk.listens) for e in HOSTS] + [(e, desk.front) for e in NAMES]
    with desk.asked() as held:
        for name, place in places:
            host = f"{name}:{place.partition(':')[2]}"
            link = f"http://{host}/answer/{held.link[-43:]}"
            for way in (("GET", link), ("POST", link), ("CONNECT", host)):
                said = lab.agent().raw(request(*way, host).encode(), whole=True)["data"]
                assert said[9:10] in (b"4", b"5", b""), (way, said)
        assert desk.is_held(held)
        assert lab.agent().request(f"{lab.http}/text").status == 200


def test_a_link_is_for_its_own_review(desk: Desk) -> None:
    with desk.asked() as one, desk.asked("", "run", "--", "bash") as other:
        told = [(each.review["session"], each.link) for each in (one, other)]
        assert len(set(sum(told, ()))) == 4
        assert post(one.link, act="allow").status == 200
        assert [desk.is_held(each) for each in (one, other)] == [False, True]


def test_a_reload_takes_links_away_and_gives_them(fresh: Desk) -> None:
    fresh.settle(answer_listen=HERE)
    with fresh.asked() as first:
        assert send(first.link).status == 200
        fresh.settle()
        with suppress(ConnectionRefusedError):
            assert send(first.link).status == 404
        with fresh.asked() as second:
            assert (second.link, "/answer/" in second.text) == ("", False)
        fresh.settle(answer_listen=HERE)
        with fresh.asked() as third:
            assert post(third.link, act="block").status == 200
        assert fresh.is_held(first)


def test_an_address_that_is_taken_is_told_and_stops_nothing(fresh: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        fresh.settle(answer_listen=f"127.0.0.1:{taken.getsockname()[1]}")
        said = fresh.home.everything_said(fresh.home.run("status"))
        assert "review.webhook.answer_listen" in said
        with fresh.asked() as held:
            assert (held.link, "/answer/" in held.text) == ("", False)


def test_another_daemon_knows_no_link_of_before(fresh: Desk) -> None:
    fresh.settle(answer_listen=HERE)
    with fresh.asked() as held:
        fresh.home.stop()
        fresh.settle(answer_listen=urlsplit(held.link).netloc)
        assert {send(held.link).status, post(held.link, act="allow").status} == {404}


def test_the_token_is_written_nowhere(desk: Desk) -> None:
    with desk.asked() as held:
        listed = desk.home.run("review", "list", "--json").out
        for act in ("show", "none", "allow", "allow"):
            post(held.link, act=act)
        held.shell.communicate(timeout=20)
        assert "answer" not in desk.shown(held)
        token, files = held.link[-43:], desk.home.dir.rglob("*")
        written = [e for e in files if e.is_file() and token.encode() in e.read_bytes()]
        assert (written, token in listed + str(desk.shown(held))) == ([], False)
