"""`redlane models` shares models through a hub: whole, by who signed them, or not."""

import json
import ssl
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import Answer, HostileHub, RoutedHub, json_answer, plain_answer
from hub_people import Person, fingerprint_of, people_of
from model_home import (
    FILES,
    HERS,
    KEY,
    OTHER,
    Home,
    Made,
    cut,
    cut_piece,
    of_one_file,
    published,
    raw,
    rest,
)
from nacl.signing import SigningKey
from origins.certificates import Authority
from tiny_models import TRIGGER, install, install_ngrams

from redlane.cli.main import main

REFUSED, NOT_REACHED, EITHER = (1,), (4,), (1, 4)
GRAPH = "model.onnx"
MEGABYTE = 1024 * 1024
WHERE = ["in it", "on a server"]
Codes = tuple[int, ...]
Content = dict[str, Any]


@pytest.fixture(scope="module")
def hub() -> Iterator[RoutedHub]:
    with RoutedHub() as made:
        yield made


@pytest.fixture
def home(
    hub: RoutedHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Home:
    hub.routes = {}
    hub.sent.clear()
    return Home.made(tmp_path / "home", hub, monkeypatch, capfd)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A model with one file."""
    return Made.of(install_ngrams(tmp_path_factory.mktemp("made")))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A model with two files, its graph before its tokenizer."""
    return Made.of(install(tmp_path_factory.mktemp("made")))


@pytest.fixture
def former(home: Home) -> Home:
    """A home with version 2 of tiny, which came from the hub, signed by KEY."""
    source = f"{home.hub.address}/artifacts/tiny/2#{HERS}"
    install_ngrams(home.models, version="2", source=source)
    return home


def test_artifact_is_the_manifest_with_the_files_in_it(home: Home) -> None:
    folder = install(home.models)
    out = home.run("artifact", "tiny")
    assert (json.loads(out), out.count("\n")) == (Made.of(folder).whole, 1)


@pytest.mark.parametrize("end", ["", "/"])
def test_artifact_names_where_the_files_are(home: Home, end: str) -> None:
    made, address = Made.of(install(home.models)), "https://example.org"
    found = home.run("artifact", "tiny", "--url", f"{address}{FILES}".rstrip("/") + end)
    assert json.loads(found) == made.at(address)


def test_no_artifact_is_printed_of_what_is_not_whole(home: Home) -> None:
    folder = install(home.models)
    (folder / GRAPH).write_bytes(b"another")
    home.refused(REFUSED, "is not what model.json says", "artifact", "tiny")
    home.refused(REFUSED, "is not installed", "artifact", "other")


@pytest.mark.parametrize(("where", "name"), [(WHERE[0], "tiny"), (WHERE[1], "b")])
def test_pulled_model_scores_and_is_what_it_was(
    home: Home, tiny: Made, where: str, name: str
) -> None:
    home.sharing(tiny, where)
    home.run("pull", "tiny", "--name", name, "--most", tiny.size)
    source = f"{home.hub.address}/artifacts/tiny/1#{HERS}"
    assert home.shown(name) == {**tiny.document, "name": name, "source": source}
    assert home.run("verify", name) == f"{name}: every file is what it was\n"
    text = home.models / "text"
    text.write_text(f"a {TRIGGER} a")
    [scored] = json.loads(home.run("test", name, text, "--json"))
    assert scored["score"] > 0.9


UNCHECKED: dict[str, dict[str, Any]] = {
    "unsigned": {"key": None},
    "by the hub's word": {"content_schema": None},
}


@pytest.mark.parametrize("fields", UNCHECKED.values(), ids=UNCHECKED)
def test_key_that_was_not_checked_is_not_noted(
    home: Home, tiny: Made, fields: dict[str, Any]
) -> None:
    home.telling(tiny.whole, **fields)
    home.run("pull", "tiny@1", "--trust-new")
    assert home.shown()["source"] == f"{home.hub.address}/artifacts/tiny/1"


def test_path_that_exists_comes_before_a_name_of_the_hub(home: Home) -> None:
    install_ngrams(Path.cwd(), licence="mine")
    home.run("pull", "tiny")
    assert (home.shown()["licence"], home.hub.sent) == ("mine", [])


WORDS = ["no/such", "a b", "tiny@", "@1", ".x", "é", "tiny@1@2", "tiny\n", "x" * 200]


@pytest.mark.parametrize("word", WORDS)
def test_word_that_no_hub_has_is_refused_unasked(home: Home, word: str) -> None:
    home.refused(REFUSED, "is no file or folder here", "pull", word)
    assert home.hub.sent == []


WAYS: dict[str, Any] = {
    "address": ["lab", {}, ["--hub", "HUB"]],
    "name": ["http://127.0.0.1:1", {"names": {"lab": "HUB"}}, ["--hub", "lab"]],
    "setting": ["", {"url": "HUB"}, []],
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_hub_is_named_as_for_other_commands(
    home: Home, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    text = json.dumps(way).replace("HUB", home.hub.address)
    address, settings, words = json.loads(text)
    monkeypatch.setenv("REDLANE_HUB_URL", address)
    home.models.mkdir(parents=True)
    home.models.with_name("settings.json").write_text(json.dumps({"hub": settings}))
    home.refused(REFUSED, "the hub says: ", "pull", "tiny", *words)
    assert home.hub.sent


def test_hub_that_is_not_reached_is_told_apart(home: Home) -> None:
    words = ("pull", "tiny", "--hub", "http://127.0.0.1:1")
    home.refused(NOT_REACHED, "cannot be reached", *words)


UNWANTED: dict[str, tuple[str, Content]] = {
    "no tag": ("has not the tag 'model'", {"tags": ["models"]}),
    "no such version": ("not found", {"named": "tiny@2"}),
    "new key": ("say --trust-new", {"key": OTHER}),
    "unsigned": ("say --trust-new", {"key": None}),
}


@pytest.mark.parametrize(("says", "fields"), UNWANTED.values(), ids=UNWANTED)
def test_what_the_hub_command_refuses_is_told_once(
    home: Home, tiny: Made, says: str, fields: Content
) -> None:
    home.telling(tiny.whole, **fields)
    home.refused(REFUSED, says, "pull", "tiny@1")


NO_NAME, NO_SOURCE = "which is no name of a file", "must have `base64` or `url`"
CONTENTS: dict[str, tuple[str, Content | None]] = {
    "nothing": ("there are no `sources`", None),
    "listed sources": ("there are no `sources`", {"sources": [GRAPH]}),
    "no source": (NO_SOURCE, {"sources": {"other": {"base64": ""}}}),
    "text as source": (NO_SOURCE, {"sources": {GRAPH: "https://example.org"}}),
    "no base64": ("is no base64", {"sources": {GRAPH: {"base64": "é"}}}),
    "another file": ("is not what", {"sources": {GRAPH: {"base64": ""}}}),
    "file elsewhere": (NO_NAME, of_one_file("../x", b"")),
    "manifest as file": (NO_NAME, of_one_file("model.json", b"")),
    "unknown kind": ("`kind` is 'pickle'", {"kind": "pickle"}),
    "long": ("longer than", {"licence": "x" * MEGABYTE}),
    "no graph": ("it cannot be used", of_one_file(GRAPH, b"")),
}


@pytest.mark.parametrize(("says", "change"), CONTENTS.values(), ids=CONTENTS)
def test_content_that_is_no_model_brings_nothing(
    home: Home, tiny: Made, says: str, change: Content | None
) -> None:
    home.telling(change and {**tiny.whole, **change})
    home.refused(REFUSED, says, "pull", "tiny")


URLS: dict[str, tuple[Codes, str]] = {
    "ftp://127.0.0.1/x": (REFUSED, "is no address with https"),
    "http://[::1/x": (REFUSED, "http://[::1/x"),
    "HUB/é": (REFUSED, "/"),
    "http://a..b/x": (EITHER, "http://a..b/x"),
    "http://127.0.0.1:1/x": (NOT_REACHED, "cannot be reached"),
}


@pytest.mark.parametrize(("url", "told"), URLS.items(), ids=URLS)
def test_address_that_gives_nothing_brings_nothing(
    home: Home, tiny: Made, url: str, told: tuple[Codes, str]
) -> None:
    url = url.replace("HUB", home.hub.address)
    home.telling({**tiny.document, "sources": {GRAPH: {"url": url}}})
    home.refused(*told, "pull", "tiny")


BIG = b"x" * 16 * MEGABYTE
ANSWERS: dict[str, tuple[Codes, str, Answer]] = {
    "not there": (REFUSED, "status 404", plain_answer(b"", "404 Not Found")),
    "no address": (EITHER, "", raw("302 Found\r\nLocation: http://[::1")),
    "no length": (EITHER, "", raw("200 OK\r\nContent-Length: \xb2", b"x")),
    "long length": (EITHER, "", raw(f"200 OK\r\nContent-Length: {'9' * 5000}", b"x")),
}


@pytest.mark.parametrize(("codes", "says", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_server_that_gives_another_file_brings_nothing(
    home: Home, tiny: Made, codes: Codes, says: str, answer: Answer
) -> None:
    home.serving(tiny, model=answer)
    home.refused(codes, says, "pull", "tiny")


ENDLESS = {
    "file": raw("200 OK", BIG),
    "redirect": raw("302 Found\r\nLocation: /elsewhere", BIG),
    "piece": raw("200 OK\r\nTransfer-Encoding: chunked", b"-1\r\n" + BIG),
}


@pytest.mark.parametrize("answer", ENDLESS.values(), ids=ENDLESS)
def test_answer_takes_no_more_memory_than_may_come(
    home: Home, tiny: Made, answer: Answer
) -> None:
    home.serving(tiny, model=answer)
    tracemalloc.start()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    home.refused(EITHER, "", "pull", "tiny", "--most", 1000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most - before < 8 * MEGABYTE


def test_what_was_there_stays_and_a_wrong_file_does_not(
    former: Home, tiny: Made
) -> None:
    former.serving(tiny, model=plain_answer(b"x" * tiny.size))
    former.refused(REFUSED, "is not what", "pull", "tiny@1")
    assert list((former.models / ".partial").iterdir()) == []


@pytest.mark.parametrize("cutting", [cut, cut_piece], ids=["whole", "pieces"])
def test_pull_goes_on_where_it_was_cut(
    home: Home, tiny: Made, cutting: Callable[[bytes], Answer]
) -> None:
    graph = tiny.files[GRAPH]
    home.serving(tiny, model=cutting(graph))
    home.refused(NOT_REACHED, "pull again", "pull", "tiny")
    home.serving(tiny, model=rest(graph))
    home.run("pull", "tiny")
    first, second = home.asked(GRAPH)
    assert ("Range:" in first, "Range: bytes=40-" in second) == (False, True)


def test_file_that_has_come_does_not_come_again(home: Home, pair: Made) -> None:
    tokenizer = pair.files["tokenizer.json"]
    home.serving(pair, tokenizer=cut(tokenizer))
    home.refused(NOT_REACHED, "pull again", "pull", "tiny")
    home.serving(pair, tokenizer=rest(tokenizer))
    home.run("pull", "tiny")
    assert len(home.asked(GRAPH)) == 1


def test_file_that_was_cut_may_have_another_name_by_now(home: Home, tiny: Made) -> None:
    home.serving(tiny, model=cut(tiny.files[GRAPH]))
    home.refused(NOT_REACHED, "pull again", "pull", "tiny")
    files = {"new.onnx": tiny.document["files"][GRAPH]}
    sources = {"new.onnx": tiny.at(home.hub.address)["sources"][GRAPH]}
    home.telling({**tiny.document, "files": files, "sources": sources})
    home.hub.routes[FILES] = plain_answer(tiny.files[GRAPH])
    home.run("pull", "tiny")


@pytest.mark.parametrize("where", WHERE)
def test_all_files_together_may_be_no_longer_than_is_said(
    home: Home, pair: Made, where: str
) -> None:
    home.sharing(pair, where)
    words = ("pull", "tiny", "--most", pair.size - 1)
    home.refused(REFUSED, "bytes that may come", *words)


def test_what_came_before_is_no_longer_than_is_said(home: Home, tiny: Made) -> None:
    almost = raw(f"200 OK\r\nContent-Length: {tiny.size + 1}", tiny.files[GRAPH])
    home.serving(tiny, model=almost)
    home.refused(NOT_REACHED, "pull again", "pull", "tiny")
    home.serving(tiny, model=plain_answer(b"", "416 Range Not Satisfiable"))
    home.refused(REFUSED, "bytes that may come", "pull", "tiny", "--most", 10)


@pytest.mark.parametrize("kind", ["address", "redirect", "none"])
def test_files_come_over_http_only_where_the_hub_does(
    home: Home, tiny: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    authority = Authority(tmp_path / "authority")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.bundle))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.issue())
    plain = home.hub.address + FILES + GRAPH
    home.hub.routes[FILES] = file = plain_answer(tiny.files[GRAPH])
    with HostileHub(tls=tls) as safe:
        url = plain if kind == "address" else f"{safe.address}{FILES}{GRAPH}"
        content = {**tiny.document, "sources": {GRAPH: {"url": url}}}
        told = published(content, "tiny@1", KEY)
        if kind == "redirect":
            file = raw(f"302 Found\r\nLocation: {plain}")
        safe._answers = (json_answer(told), file)
        words = ("pull", "tiny@1", "--hub", safe.address)
        if kind == "none":
            home.run(*words)
        else:
            home.refused(REFUSED, plain, *words)
    assert home.asked(GRAPH) == []


OTHERS = f"is signed by {fingerprint_of(OTHER)}, and not by {HERS}"
UNLIKE: dict[str, tuple[str, str, SigningKey | None, str]] = {
    "older": ("tiny@1.9", "tiny", KEY, "is older than 2"),
    "another key": ("tiny@3", "tiny", OTHER, OTHERS),
    "another key, exactly": ("tiny@1", "tiny@1", OTHER, OTHERS),
    "another name": ("new@3", "new", OTHER, OTHERS),
    "no key": ("tiny@3", "tiny", None, "is not signed"),
}


@pytest.mark.parametrize(("named", "asked", "key", "says"), UNLIKE.values(), ids=UNLIKE)
def test_model_of_a_hub_is_replaced_by_its_publisher_alone(
    former: Home, tiny: Made, named: str, asked: str, key: SigningKey | None, says: str
) -> None:
    former.telling(tiny.whole, named, key)
    words = ("pull", asked, "--name", "tiny", "--trust-new")
    former.refused(REFUSED, says, *words)


def test_older_model_comes_where_just_that_is_asked_for(
    former: Home, tiny: Made
) -> None:
    former.telling(tiny.whole)
    former.run("pull", "tiny@1")
    assert former.shown()["version"] == "1"


def test_key_that_is_told_to_replace_another_one_signs_for_it(
    former: Home, tiny: Made
) -> None:
    new = fingerprint_of(OTHER)
    assert main(["hub", "trust", new, "--replaces", HERS]) == 0
    former.telling(tiny.whole, "tiny@3", OTHER)
    former.run("pull", "tiny")
    assert former.shown()["source"].endswith(f"/artifacts/tiny/3#{new}")


def test_what_one_publishes_another_one_pulls_and_updates(tmp_path: Path) -> None:
    with people_of(tmp_path, "ada") as (_, (account,)):
        ada, me = account.at(tmp_path / "ada"), Person(account.address, tmp_path)
        install_ngrams(ada.redlane / "models")
        ada.ok("keys", "generate")
        key = ada.told("keys", "add")["fingerprint"]
        _, out, _ = ada.run("models", "artifact", "tiny")
        for version, words in (("1", ("--trust-new",)), ("2", ())):
            how = ("--any-json", "--tag", "model", "--sign")
            ada.push(f"tiny@{version}", *how, content=json.loads(out))
            code, _, error = me.run("models", "pull", "tiny", *words)
            assert code == 0, error
            source = f"{me.address}/artifacts/tiny/{version}#{key}"
            assert me.read("models/tiny/model.json")["source"] == source
        text = me.write("text", f"a {TRIGGER} a")
        code, out, _ = me.run("models", "test", "tiny", str(text), "--json")
        assert (code, json.loads(out)[0]["score"] > 0.9) == (0, True)
