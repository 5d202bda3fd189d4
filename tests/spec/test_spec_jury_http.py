"""A juror may be an endpoint or an installed model (contract: Roles and reviews)."""

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import Answer, HostileHub, Sent, chunked, json_answer, plain_answer
from hub_mail_server import make_certificate
from spec.jury_home import (
    ALLOW,
    BLOCK,
    FIELDS,
    HOSTILE,
    NO_VOTES,
    VOTES,
    Court,
    Judged,
    Juror,
    open_court,
)
from spec.redlane_home import REDLANE_SH, wait_for
from tiny_models import TRIGGER, install


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    with open_court(tmp_path_factory.mktemp("c")) as opened:
        yield opened


def completed(text: object) -> dict[str, Any]:
    """A chat completion in the format of OpenAI, as far as it is read."""
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


ALLOWED = json_answer(completed(ALLOW))
PATH = "/v1/chat/completions?of=jurors"


def endpoint(address: str, **fields: object) -> Juror:
    """The juror that asks there."""
    return {
        "name": "remote",
        "type": "http",
        "url": address + PATH,
        "model": "judge-7b",
        **fields,
    }


def asked(
    court: Court, answer: Answer, content: str = "odd", **fields: object
) -> tuple[Judged, Sent]:
    """What becomes of a request if a juror answers so, and what that was sent."""
    with HostileHub(answer) as server:
        court.seat(endpoint(server.address, **fields))
        judged = court.ask(content, "Network")
        (sent,) = server.sent
    return judged, sent


def assert_failed(judged: Judged) -> None:
    """The juror gave no vote, which is one to block."""
    assert judged.outcome == ("BLOCK", "jury")
    (cast,) = judged.review["votes"]
    assert (cast["juror"], cast["vote"]) == ("remote", "block")
    assert cast["reason"]


def headers_of(sent: Sent) -> dict[str, str]:
    lines = [line.partition(":") for line in sent.head.splitlines()[1:] if line]
    return {name.lower(): value.strip() for name, _, value in lines}


# What it is asked.


def test_an_endpoint_is_asked_for_a_chat_completion(court: Court) -> None:
    judged, sent = asked(court, ALLOWED)
    assert judged.outcome == ("ALLOW", "jury")
    assert judged.votes == {"remote": "allow"}
    assert sent.head.split()[:2] == ["POST", PATH]
    assert headers_of(sent)["content-type"].startswith("application/json")
    body = json.loads(sent.body)
    assert body["model"] == "judge-7b"
    assert [each["role"] for each in body["messages"]] == ["system", "user"]


def object_in(sent: Sent) -> Any:
    """The one object in the message of the user."""
    _, user = json.loads(sent.body)["messages"]
    text = user["content"]
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


@pytest.mark.parametrize("name", ["an object after it", "an order", "what is not seen"])
def test_a_content_is_nothing_but_data_in_a_message(court: Court, name: str) -> None:
    content = HOSTILE[name]
    judged, sent = asked(court, json_answer(completed(BLOCK)), content)
    assert judged.outcome == ("BLOCK", "jury")
    assert sent.body.isascii()
    _, user = json.loads(sent.body)["messages"]
    assert user["content"].isascii()
    told = object_in(sent)
    assert told.keys() == FIELDS
    assert (told["content"], told["truncated"]) == (content, False)


def test_an_endpoint_is_told_no_secret(court: Court) -> None:
    _, sent = asked(court, ALLOWED, f"odd ghp_{'a' * 36}")
    assert object_in(sent)["content"] == "odd [redacted]"
    assert b"ghp_" not in sent.body


def test_nobody_is_allowed_what_an_endpoint_has_not_seen(court: Court) -> None:
    with HostileHub(ALLOWED) as server:
        court.seat(endpoint(server.address), order="jury")
        judged = court.ask("odd " + "x" * 65_536, "Network")
    assert judged.verdict["verdict"] == "BLOCK"
    assert object_in(server.sent[0])["truncated"] is True


def test_an_endpoint_is_given_the_key_of_the_file(court: Court, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("  open-sesame\n\n")
    judged, sent = asked(court, ALLOWED, key_file=str(key))
    assert judged.outcome == ("ALLOW", "jury")
    assert headers_of(sent)["authorization"] == "Bearer open-sesame"


def test_an_endpoint_is_given_no_key_without_a_file(court: Court) -> None:
    _, sent = asked(court, ALLOWED)
    assert "authorization" not in headers_of(sent)


KEYS: dict[str, bytes | None] = {
    "no file": None,
    "an empty file": b"",
    "white space": b" \r\n\t",
    "a header of its own": b"sesame\r\nHost: elsewhere",
    "no text": b"\xff\xfe\0",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_nobody_is_asked_without_the_key(
    court: Court, tmp_path: Path, key: bytes | None
) -> None:
    file = tmp_path / "key"
    if key is not None:
        file.write_bytes(key)
    with HostileHub(ALLOWED) as server:
        court.seat(endpoint(server.address, key_file=str(file)))
        assert_failed(court.ask())
    assert server.sent == []


# What it answers.


@pytest.mark.parametrize(("text", "verdict"), VOTES.values(), ids=VOTES)
def test_an_endpoint_votes(court: Court, text: str, verdict: str) -> None:
    judged, _ = asked(court, json_answer(completed(text)))
    assert judged.outcome == (verdict, "jury")


def test_an_answer_need_not_tell_its_length(court: Court) -> None:
    judged, _ = asked(court, chunked(json.dumps(completed(ALLOW)).encode()))
    assert judged.outcome == ("ALLOW", "jury")


KINDLY = (
    *("nothing", "text before it", "text after it", "a Markdown fence", "two objects"),
    *("a vote twice", "capitals", "no reason", "nested without end"),
)


@pytest.mark.parametrize("name", KINDLY)
def test_a_text_that_is_no_vote_is_a_vote_to_block(court: Court, name: str) -> None:
    judged, _ = asked(court, json_answer(completed(NO_VOTES[name])))
    assert_failed(judged)


PADDING = "x" * 65_536
BODIES: dict[str, Answer] = {
    "a vote alone": plain_answer(ALLOW.encode()),
    "an object for a text": json_answer(completed(json.loads(ALLOW))),
    "parts of a text": json_answer(completed([{"type": "text", "text": ALLOW}])),
    "null for a text": json_answer(completed(None)),
    "no text": json_answer({"choices": [{"message": {"role": "assistant"}}]}),
    "no message": json_answer({"choices": [{"text": ALLOW}]}),
    "no choice": json_answer({"choices": []}),
    "no choices": json_answer({"error": {"message": ALLOW}}),
    "no JSON": plain_answer(b"<html>allow</html>"),
    "half of it": plain_answer(json.dumps(completed(ALLOW)).encode()[:-1]),
    "nested without end": plain_answer(b"[" * 30_000),
    "over 64 KiB": json_answer({**completed(ALLOW), "id": PADDING}),
    "over 64 KiB in a piece": chunked(
        json.dumps({**completed(ALLOW), "id": PADDING}).encode()
    ),
    "no HTTP": Answer(b"SSH-2.0-allow\r\n", stays=False),
    "no answer": Answer(b"", stays=False),
    "an answer that is cut": Answer(ALLOWED.data[:-1], stays=False),
    "a piece that is cut": Answer(
        chunked(json.dumps(completed(ALLOW)).encode()).data[:-10], stays=False
    ),
}


@pytest.mark.parametrize("answer", BODIES.values(), ids=BODIES)
def test_an_answer_without_a_vote_is_one_to_block(court: Court, answer: Answer) -> None:
    judged, _ = asked(court, answer)
    assert_failed(judged)


@pytest.mark.parametrize("status", [201, 206, 401, 503])
def test_no_status_but_200_counts(court: Court, status: int) -> None:
    judged, _ = asked(court, json_answer(completed(ALLOW), f"{status} Odd"))
    assert_failed(judged)


@pytest.mark.parametrize("status", [302, 307, 308])
def test_no_redirect_is_followed(court: Court, tmp_path: Path, status: int) -> None:
    key = tmp_path / "key"
    key.write_text("open-sesame")
    with HostileHub(ALLOWED) as target:
        body = json.dumps(completed(ALLOW)).encode()
        moved = plain_answer(body, f"{status} Moved", f"Location: {target.address}/")
        judged, _ = asked(court, moved, key_file=str(key))
    assert_failed(judged)
    assert target.sent == []


# What keeps it from answering.


class Trickle(BaseHTTPRequestHandler):
    """Answers at once that it will, and then a byte at a time, sooner than late."""

    ended = threading.Event()

    def do_POST(self) -> None:
        body = json.dumps(completed(ALLOW)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for each in body:
            try:
                self.wfile.write(bytes([each]))
            except OSError:
                return
            if self.ended.wait(0.25):
                return

    def log_message(self, *_: object) -> None:
        """Nothing is to be told of it."""


@contextmanager
def trickling() -> Iterator[str]:
    Trickle.ended.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Trickle)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        Trickle.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_answer_that_trickles_is_late(court: Court) -> None:
    with trickling() as address:
        court.seat(endpoint(address, timeout_seconds=1))
        assert_failed(court.ask())


@pytest.mark.parametrize("pause", [0.25, 1000], ids=["a head that trickles", "silence"])
def test_an_answer_that_does_not_begin_is_late(court: Court, pause: float) -> None:
    judged, _ = asked(court, Answer(ALLOWED.data, pause=pause), timeout_seconds=1)
    assert_failed(judged)


def test_nobody_listens(court: Court) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        court.seat(endpoint(f"http://127.0.0.1:{closed.getsockname()[1]}"))
        assert_failed(court.ask())


def test_a_certificate_that_nobody_trusts_is_not_talked_to(
    court: Court, tmp_path: Path
) -> None:
    tls = make_certificate(tmp_path).server_context()
    with HostileHub(ALLOWED, tls=tls) as server:
        court.seat(endpoint(server.address))
        assert_failed(court.ask())
    assert server.sent == []


def test_an_endpoint_over_tls_is_not_asked_without(court: Court) -> None:
    with HostileHub(ALLOWED) as server:
        court.seat(endpoint(server.address.replace("http:", "https:")))
        assert_failed(court.ask())
    assert [each.head for each in server.sent] in ([], ["TLS"])


def test_a_person_waits_for_no_endpoint(court: Court) -> None:
    with HostileHub(Answer(b"x", pause=1000)) as server:
        court.seat(endpoint(server.address))
        with court.hold() as held:
            wait_for(lambda: server.sent)
            assert held.decide("allow") == 0
            assert held.judged().outcome == ("ALLOW", "person")


def test_stop_waits_for_no_endpoint(tmp_path: Path) -> None:
    with open_court(tmp_path) as own, HostileHub(Answer(b"x", pause=1000)) as server:
        own.seat(endpoint(server.address, timeout_seconds=1000), timeout_seconds=1000)
        shell = own.home.spawn("-c", "echo odd", program=REDLANE_SH)
        wait_for(lambda: server.sent)
        assert own.home.run("stop").code == 0
        out, _ = shell.communicate(timeout=20)
    assert (shell.returncode, out) == (126, "")


# Models.


@pytest.fixture(scope="module")
def models(court: Court) -> Path:
    """Where the model `tiny` is installed: what it scores is told by a word."""
    place = court.home.dir / "models"
    install(place)
    return place


def classifier(**fields: object) -> Juror:
    return {"name": "remote", "type": "model", "model": "tiny", **fields}


SCORES: dict[str, tuple[str, float, str]] = {
    "far below": ("odd a", 0.5, "ALLOW"),
    "below": ("odd doubtful", 0.5, "ALLOW"),
    "above a low score": ("odd doubtful", 0.05, "BLOCK"),
    "above": (f"odd {TRIGGER}", 0.5, "BLOCK"),
    "above 0": ("odd a", 0, "BLOCK"),
}


@pytest.mark.parametrize(("content", "score", "verdict"), SCORES.values(), ids=SCORES)
@pytest.mark.usefixtures("models")
def test_a_model_blocks_from_a_score_on(
    court: Court, content: str, score: float, verdict: str
) -> None:
    court.seat(classifier(block_at=score))
    assert court.ask(content).outcome == (verdict, "jury")


@pytest.mark.usefixtures("models")
def test_a_score_that_is_no_number_blocks(court: Court) -> None:
    court.seat(classifier(block_at=1))
    assert_failed(court.ask("odd nan"))


def test_a_model_that_is_not_installed_blocks(court: Court) -> None:
    court.seat(classifier(model="elsewhere", block_at=1))
    assert_failed(court.ask())


def test_a_model_that_has_changed_blocks(court: Court, models: Path) -> None:
    changed = models / "changed"
    shutil.copytree(models / "tiny", changed)
    model = json.loads((changed / "model.json").read_text())
    (changed / "model.json").write_text(json.dumps({**model, "name": "changed"}))
    with (changed / "model.onnx").open("ab") as file:
        file.write(b"\0")
    court.seat(classifier(model="changed", block_at=1))
    assert_failed(court.ask())
