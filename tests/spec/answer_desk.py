"""Somebody who answers by the links of a webhook, for tests."""

import base64
import html
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

from hook import Hook
from spec.cases import simple
from spec.redlane_home import REDLANE, REDLANE_SH, Home

from redlane.model.password import hashed

__all__ = [
    "FORM",
    "HERE",
    "KNOWN",
    "OURS",
    "PASSWORD",
    "POLICIES",
    "Desk",
    "Held",
    "Reply",
    "basic",
    "front_desk",
    "post",
    "send",
]

POLICIES = {"flag": simple("Flag", "odd thing", context="Shell", reason="it is <odd>")}
HERE = "127.0.0.1:0"
PASSWORD = "a password of ours"
KNOWN, OURS = hashed(PASSWORD), f":{PASSWORD}"
FORM = "application/x-www-form-urlencoded"
GUARDED = {"no-store", "no-referrer", "nosniff"}
GUARDED |= {"default-src 'none'", "frame-ancestors 'none'"}


class Reply(NamedTuple):
    status: int
    text: str
    said: str
    acts: set[str]


def basic(login: str) -> str:
    return f"Basic {base64.b64encode(login.encode()).decode()}"


def send(
    link: str, method: str = "GET", body: str | None = None, login: str = OURS
) -> Reply:
    """Make a request; whatever comes back, nobody keeps it or shows it elsewhere."""
    at = urlsplit(link)
    sent = {"Content-Type": FORM} | ({"Authorization": basic(login)} if login else {})
    with closing(HTTPConnection(at.hostname or "", at.port, timeout=20)) as connection:
        connection.request(method, at.path, body, sent)
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
        if "answer_listen" in told:
            told = {"answer_password": KNOWN, **told}
        self.home.settings(review={"timeout_seconds": seconds, "webhook": told})
        if self.home.run("reload").code != 0:
            self.home.start("--role", "agent")


@contextmanager
def front_desk(home: Home) -> Iterator[Desk]:
    """One to whose `front`, where people are to go, no session may come."""
    with closing(Hook()) as hook, closing(Hook()) as front:
        place = f"localhost:{urlsplit(front.url).port}"
        with socket.create_server(("127.0.0.1", 0)) as server:
            made = Desk(home, hook, f"127.0.0.1:{server.getsockname()[1]}", place)
        made.settle(answer_listen=made.listens, answer_url=f"http://{place}/in/front/")
        yield made
        assert front.is_empty
