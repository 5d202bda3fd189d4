"""The webhook's answer link: who has it and the password decides, once."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from urllib.parse import urljoin, urlsplit

import pytest
from hook import Hook
from proxied import Proxied
from spec import answer_desk
from spec.answer_desk import HERE, KNOWN, PASSWORD, Desk, Held, front_desk, post, send
from spec.held import REFUSED
from spec.redlane_home import REDLANE_SH, Home, wait_for

from redlane.model.password import is_password

POLICIES = answer_desk.POLICIES
LONG, SECRET = "x" * 110_000, "ghp_" + "a" * 36


@pytest.fixture
def fresh(home: Home) -> Iterator[Desk]:
    with closing(Hook()) as hook:
        yield Desk(home, hook)


@pytest.fixture(scope="module")
def desk(lab: Proxied) -> Iterator[Desk]:
    with front_desk(lab.home) as made:
        yield made


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
    known = {"answer_password": KNOWN} if listen else {}
    home.settings(review={"webhook": {"secret": "s", **told, **known}})
    checked = home.check()
    assert checked.code == ((listen, url) in WRONG)
    assert all("answer_" in json.dumps(each) for each in checked.errors)


LACKING: list[dict[str, object]] = [
    {"answer_listen": HERE}, {"answer_password": KNOWN},
    {"answer_listen": HERE, "answer_password": PASSWORD},
]  # fmt: skip


@pytest.mark.parametrize("given", LACKING)
def test_a_link_wants_a_password(home: Home, given: dict[str, object]) -> None:
    home.settings(review={"webhook": {"url": "https://h/", "secret": "s", **given}})
    checked = home.check()
    assert checked.code == 1
    assert all("redlane review password" in json.dumps(e) for e in checked.errors)


def test_a_password_is_made_by_a_command(home: Home) -> None:
    makes = ("review", "password", "--password-stdin")
    made = home.run(*makes, stdin=f"{PASSWORD}\n")
    assert is_password(PASSWORD, made.out.removesuffix("\n"))
    short = home.run(*makes, stdin="short\n")
    assert (short.code, short.out, len(short.err.splitlines())) == (2, "", 1)


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


ALL = {"block", "allow", "allow-10m"}
PAGES = [
    ("echo odd thing on a page", "a page", ALL), ("sh s.sh", "odd thing in it", ALL),
    ("$CMD odd thing", "$CMD", {"block", "allow"}),
    (f"echo odd thing {SECRET}", SECRET, ALL),
    (f"echo odd thing {LONG}", LONG, {"block"}),
]  # fmt: skip


@pytest.mark.parametrize(("command", "part", "acts"), PAGES, ids=range(len(PAGES)))
def test_only_what_is_all_shown_can_be_allowed(
    desk: Desk, command: str, part: str, acts: set[str]
) -> None:
    (desk.home.user / "s.sh").write_text("echo odd thing in it\n")
    with desk.asked(command) as held:
        page = send(held.link)
        assert page.acts == acts
        assert (part in page.said) == ("allow" in acts)
        assert desk.is_held(held)


@pytest.mark.parametrize("login", ["", ":", f"{PASSWORD}:", f"ada:{PASSWORD}x", "ada"])
def test_without_the_password_nothing_is_shown_or_decided(
    desk: Desk, login: str
) -> None:
    with desk.asked() as held:
        for method, body in (("GET", None), ("POST", "act=allow")):
            reply = send(held.link, method, body, login)
            assert (reply.status, "odd thing" in reply.said) == (401, False)
        assert desk.is_held(held)


def test_ten_wrong_passwords_end_a_link(desk: Desk) -> None:
    with desk.asked() as held:
        tries = [send(held.link, login=f":{each}").status for each in "abcdefghij"]
        assert tries == [401] * 10
        assert send(held.link).status == 404
        assert desk.is_held(held)


def test_who_decides_may_say_a_name(desk: Desk) -> None:
    with desk.asked() as held:
        assert send(held.link, "POST", "act=block", f"ada:{PASSWORD}").status == 200
        assert desk.shown(held)["by"] == "ada by the answer link"


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
