"""`redlane hub` as processes: who is asked, as whom, what is shown, how it ends."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import HostileHub, json_answer
from hub_process import HubProcess
from preloaded import run_preloaded

from redlane.hubclient import Hub, Release

PROGRAM = (str(Path(sys.executable).with_name("redlane")), "hub")
SECONDS = 60.0
PASSWORD = "correct horse"
NOWHERE = "http://127.0.0.1:1"
HISTORY = {"id": "no-force-push", "pattern": "\u202epush\x07"}
HOSTILE = "\x1b[2J\x9b\u202e\u2066\r\n\u2028\u200b"


@dataclass
class Person:
    """Somebody's HOME, and the environment of the commands there."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)

    def start(
        self, words: tuple[str | bytes, ...], *before: str, **streams: Any
    ) -> "subprocess.Popen[bytes]":
        command = [*before, *PROGRAM, *words]
        return subprocess.Popen(command, env=self.environment, cwd=self.home, **streams)

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], **self.env}

    def run(self, *words: str | bytes, stdin: bytes = b"") -> tuple[int, str, str]:
        done = run_preloaded(
            (*PROGRAM, *words), stdin, self.environment, self.home, SECONDS
        )
        return done[0], done[1].decode(), done[2].decode()

    def json(self, *words: str) -> Any:
        code, out, err = self.run(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    def settings(self, value: object) -> None:
        file = self.home / ".redlane" / "settings.json"
        file.parent.mkdir()
        file.write_text(json.dumps(value))

    def typed(self, *words: str, answers: tuple[bytes, ...]) -> tuple[int, str]:
        """Run it at a terminal of its own, and answer each question in turn."""
        ours, theirs = pty.openpty()
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        with self.start(words, "setsid", "--ctty", **streams) as process:
            os.close(theirs)
            try:
                shown = "".join(answered(ours, each) for each in (*answers, None))
            finally:
                process.kill()
                os.close(ours)
        return process.returncode, shown


def answered(terminal: int, answer: bytes | None) -> str:
    """What is shown until the next question, or with no answer to the end."""
    shown = b""
    with suppress(OSError):  # nobody is there any more
        while answer is None or not shown.endswith(b": "):
            shown += os.read(terminal, 1000)
        os.write(terminal, answer)
    return shown.decode()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A hub with some artifacts of ada's, who is logged in; bob may not publish."""
    process = HubProcess(tmp_path_factory.mktemp("hub"))
    process.start()
    try:
        with Hub(f"http://{process.host}:{process.port}") as made:
            for each in ("ada", "bob"):
                made.register(f"{each}@example.org", PASSWORD)
            process.approve("ada@example.org")
            made.login("ada@example.org", PASSWORD)
            content = json.dumps(HISTORY)
            for name, version, about, tags in (
                ("git-history", "1.0", "Keeps history", ("git", "safe")),
                ("git-history", "2.0", "Keeps all history", ("git",)),
                ("secrets", "1", "Keeps secrets off git", ("safe",)),
            ):
                made.publish(Release(name, version, content, about, tags))
            yanked = made.publish(Release("git-history", "3.0", content))
            made.yank(yanked.id, "eats history")
            made.endorse(made.artifact("git-history", "2.0").id, "official")
            yield made
    finally:
        process.stop()


@pytest.fixture
def person(hub: Hub, tmp_path: Path) -> Person:
    return Person(tmp_path, {"REDLANE_HUB_URL": hub.address})


def one_line(err: str) -> bool:
    return err.startswith("redlane: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "variable", "setting", "asked"),
    [
        ("https://one", "https://two", "https://three", "https://one"),
        (None, "https://two", "https://three", "https://two"),
        (None, None, "https://three", "https://three"),
        (None, "", "HTTPS://Three:443/", "https://three"),
    ],
)
def test_hub_is_the_options_then_the_environments_then_the_settings(
    tmp_path: Path, option: str | None, variable: str | None, setting: str, asked: str
) -> None:
    someone = Person(tmp_path)
    if variable is not None:
        someone.env["REDLANE_HUB_URL"] = variable
    someone.settings({"hub": {"url": setting}})
    code, _, err = someone.run("logout", *(("--hub", option) if option else ()))
    assert (code, err) == (0, f"redlane: nobody was logged in to {asked}\n")


NAMES = {"team": "https://team", "own": "http://127.0.0.1:9"}


@pytest.mark.parametrize("where", ["option", "variable", "setting"])
def test_hub_is_named_as_the_settings_name_it(tmp_path: Path, where: str) -> None:
    someone = Person(tmp_path)
    if where == "variable":
        someone.env["REDLANE_HUB_URL"] = "team"
    url = "team" if where == "setting" else "https://setting"
    someone.settings({"hub": {"url": url, "names": NAMES}})
    option = ("--hub", "team") if where == "option" else ()
    code, _, err = someone.run("logout", *option)
    assert (code, err) == (0, "redlane: nobody was logged in to https://team\n")


UNNAMED: dict[str, tuple[Mapping[str, object] | None, str]] = {
    "nowhere": (None, "no hub is named: say --hub URL"),
    "null": ({"hub": {"url": None}}, "no hub is named: say --hub URL"),
    "other type": ({"hub": {"url": 5}}, "settings.json: hub.url: "),
    "no address": ({"hub.url": "ada@example.org"}, "'ada@example.org' is none"),
    "no name": ({"hub": {"url": "taem", "names": NAMES}}, "hub.names: own, team"),
    "names of another type": ({"hub.names": {"team": 5}}, "settings.json: hub.names: "),
}


@pytest.mark.parametrize(("settings", "words"), UNNAMED.values(), ids=UNNAMED)
def test_hub_that_is_not_named_is_one_line_and_exit_2(
    tmp_path: Path, settings: object, words: str
) -> None:
    someone = Person(tmp_path)
    if settings:
        someone.settings(settings)
    code, out, err = someone.run("search")
    assert (code, out, one_line(err)) == (2, "", True)
    assert words in err


def test_account_from_its_making_to_logging_out(person: Person, hub: Hub) -> None:
    email, stdin = "cyd@example.org", f"{PASSWORD}\nnot read\n".encode()
    code, out, err = person.run("register", email, "--password-stdin", stdin=stdin)
    assert (code, out, one_line(err)) == (0, "", True)
    code, out, err = person.run("login", email, "--password-stdin", stdin=stdin)
    told = f"redlane: logged in to {hub.address} as {email}, for 30 days\n"
    assert (code, out, err) == (0, "", told)
    who = f"{email} on {hub.address}: waits for approval to publish\n"
    assert person.run("whoami") == (0, who, "")
    assert person.run("whoami", "--all") == (0, f"{email} on {hub.address}\n", "")
    assert person.json("whoami", "--all") == [{"hub": hub.address, "email": email}]
    assert person.run("logout") == (0, "", f"redlane: logged out of {hub.address}\n")
    assert not [*(person.home / ".redlane" / "hub-logins").iterdir()]
    code, _, err = person.run("whoami")
    assert (code, one_line(err)) == (1, True)


def test_token_of_the_environment_comes_before_the_kept_one(
    person: Person, hub: Hub
) -> None:
    stdin = PASSWORD.encode()
    person.run("login", "bob@example.org", "--password-stdin", stdin=stdin)
    person.env["REDLANE_HUB_TOKEN"] = f"{hub.token}\n"
    found = person.json("whoami")
    names = ["hub", "id", "email", "is_endorsed", "is_approved", "created_at"]
    assert [*found] == names
    assert (found["email"], found["is_approved"]) == ("ada@example.org", True)


@pytest.mark.parametrize("words", [("login", "a@b.c"), ("register", "a@b.c")])
def test_without_a_terminal_no_password_is_read(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    with HostileHub(json_answer({})) as there:
        done = Person(tmp_path).run(*words, "--hub", there.address, stdin=b"pw\n")
    assert (done[:2], there.sent, one_line(done[2])) == ((2, ""), [], True)
    assert "--password-stdin" in done[2]


def test_new_password_is_asked_twice_and_not_shown(tmp_path: Path) -> None:
    answer = json_answer({"id": "1", "email": "a@b.c"}, "201 Created")
    with HostileHub(answer) as there:
        words = ("register", "a@b.c", "--hub", there.address)
        code, shown = Person(tmp_path).typed(*words, answers=(b"s3cret\n", b"s3cret\n"))
    assert (code, shown.count("password: "), shown.count("more: ")) == (0, 1, 1)
    assert "s3cret" not in shown
    (sent,) = there.sent
    assert json.loads(sent.body) == {"email": "a@b.c", "password": "s3cret"}


def test_known_password_is_asked_once(person: Person) -> None:
    words = ("login", "ada@example.org")
    code, shown = person.typed(*words, answers=(f"{PASSWORD}\n".encode(),))
    assert (code, shown.count("password: "), "more: " in shown) == (0, 1, False)
    assert person.json("whoami")["email"] == "ada@example.org"


@pytest.mark.parametrize(
    ("answers", "exit_code"),
    [((b"one\n", b"two\n"), 2), ((b"one\n", b"\4"), 2), ((b"\4",), 2), ((b"\3",), 130)],
    ids=["another", "end", "end at once", "Ctrl-C"],
)
def test_nothing_is_sent_without_the_same_password_twice(
    tmp_path: Path, answers: tuple[bytes, ...], exit_code: int
) -> None:
    with HostileHub(json_answer({})) as there:
        words = ("register", "a@b.c", "--hub", there.address)
        code, shown = Person(tmp_path).typed(*words, answers=answers)
    assert (code, there.sent) == (exit_code, [])
    assert "internal error" not in shown


ENDS: dict[str, tuple[tuple[str | bytes, ...], int, str]] = {
    "no such account": (("login", "nobody", "--password-stdin"), 1, "credentials"),
    "taken": (("register", "ada@example.org", "--password-stdin"), 1, "registered"),
    "not there": (("show", "nothing"), 1, "artifact 'nothing'"),
    "no such version": (("show", "secrets@2"), 1, "the hub says: "),
    "no name": (("show", ".."), 1, "no artifact"),
    "no version": (("show", "secrets@"), 1, "nothing of the name"),
    "unreachable": (("search", "--hub", NOWHERE), 4, "Connection refused"),
    "no address": (("search", "--hub", "hub"), 2, "'hub' is none"),
    "no number": (("search", "--limit", "x"), 2, "--limit"),
    "no command": ((), 2, "COMMAND"),
    "no text": (("search", b"\xff"), 2, "is no text"),
    "no password": (("login", "a@b.c", "--password-stdin"), 2, "is not UTF-8"),
}


@pytest.mark.parametrize(("words", "code", "told"), ENDS.values(), ids=ENDS)
def test_failure_is_one_line_and_a_code(
    person: Person, words: tuple[str | bytes, ...], code: int, told: str
) -> None:
    stdin = b"\xff\n" if "a@b.c" in words else b"battery staple\n"
    found, out, err = person.run(*words, stdin=stdin)
    assert (found, out, one_line(err)) == (code, "", True)
    assert told in err
    assert "internal error" not in err


def test_search_lists_the_newest_first_and_unpainted(person: Person) -> None:
    person.env["TERM"] = "xterm"
    code, out, err = person.run("search")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "secrets@1  ada@example.org: Keeps secrets off git",
        "git-history@2.0  ada@example.org: Keeps all history",
        "git-history@1.0  ada@example.org: Keeps history",
    ]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("GIT",), ["secrets@1", "git-history@2.0", "git-history@1.0"]),
        (("--tag", "safe"), ["secrets@1", "git-history@1.0"]),
        (("--tag", "safe", "HISTORY"), ["git-history@1.0"]),
        (("--tag", "safe", "nothing"), []),
        (("--tag", "saf"), []),
    ],
)
def test_search_finds_by_text_and_tag(
    person: Person, words: tuple[str, ...], found: list[str]
) -> None:
    listed = person.json("search", *words)
    assert [f"{each['name']}@{each['version']}" for each in listed] == found


def test_search_says_that_there_is_more(person: Person) -> None:
    code, out, err = person.run("search", "--limit", "2")
    assert (code, out.count("\n"), one_line(err)) == (0, 2, True)
    assert "there are more than 2" in err
    assert person.run("search", "--limit", "3")[2] == ""


def test_show_tells_all_of_the_newest_that_is_not_yanked(person: Person) -> None:
    code, out, err = person.run("show", "git-history")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "name:        git-history@2.0"
    assert "description: Keeps all history" in lines
    assert "endorsed:    official by ada@example.org" in lines
    assert "signature:   none" in lines
    assert not out.count("yanked")
    assert lines[-5:] == [
        "content:",
        "| {",
        '|   "id": "no-force-push",',
        '|   "pattern": "⟨U+202E⟩push\\u0007"',
        "| }",
    ]


def test_show_tells_why_a_version_is_yanked(person: Person) -> None:
    out = person.run("show", "git-history@3.0")[1].splitlines()
    assert out[:2] == ["name:        git-history@3.0", "yanked:      eats history"]


COMMON = "id name version description owner owner_is_endorsed tags downloads "
COMMON += "visibility created_at yanked artifact_type "
WHOLE = "content content_hash content_schema signed key_fingerprint signature_valid "
WHOLE += "yanked_reason dependencies endorsements"


def test_json_has_the_documented_fields(person: Person) -> None:
    assert {*person.json("search")[0]} == {*COMMON.split()}
    found = person.json("show", "git-history@2.0")
    assert {*found} == {*COMMON.split(), *WHOLE.split()}
    assert found["content"] == HISTORY
    assert found["endorsements"][0]["level"] == "official"


def hostile(value: object) -> Any:
    """The same with all texts made hostile; content has a hostile key, too."""
    if isinstance(value, dict):
        made = {key: hostile(each) for key, each in value.items()}
        return made | ({"content": {HOSTILE: HOSTILE}} if "content" in made else {})
    if isinstance(value, list):
        return [hostile(each) for each in value]
    return value + HOSTILE if isinstance(value, str) else value


def test_nothing_of_a_hostile_hub_reaches_the_terminal_raw(person: Person) -> None:
    listed = person.json("search", "history")
    whole = person.json("show", "git-history@2.0")
    endorsed = whole.pop("endorsements")
    answers = ({"results": listed, "total": 1}, whole, endorsed, {"error": "no"})
    with HostileHub(*(json_answer(hostile(each)) for each in answers)) as there:
        done = [
            person.run(*words, "--hub", there.address)
            for words in (("search",), ("show", "x@1"), ("show", "x@1"))
        ]
    shown = "".join(out + err for _, out, err in done)
    assert [code for code, _, _ in done] == [0, 0, 4]
    assert len(shown) > 1000
    assert [each for each in shown if not each.isprintable() and each != "\n"] == []


def test_unencrypted_hub_elsewhere_is_told(tmp_path: Path) -> None:
    someone = Person(tmp_path, {"http_proxy": NOWHERE})
    code, _, err = someone.run("search", "--hub", "http://hub.test")
    assert (code, err.count("\n")) == (4, 2)
    assert err.startswith("redlane: http://hub.test is asked without encryption")
