"""Bodies larger than what is buffered, in both directions take `oversize_action`.

`flag` forwards and records a FLAG, `block` refuses, `allow` forwards and records.
"""

import gzip
from pathlib import Path

import pytest
from origins.routes import noise
from proxied import MakeLab, Proxied
from spec.cases import simple

LIMIT = 64 * 1024
POLICIES = {
    "out": simple("Block", "outgoing-word", context="Network"),
    "back": simple("Block", "incoming-word", context="Inbound"),
}
ACTIONS = ("flag", "block", "allow")
TEXT = b"nothing to see here, move on\n"
LARGE = TEXT * (4 * LIMIT // len(TEXT))


@pytest.fixture(scope="module", params=ACTIONS)
def action(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def oversized(make_lab: MakeLab, action: str) -> Proxied:
    scan = {"oversize_action": action, "max_buffer_bytes": "64KB"}
    return make_lab(POLICIES, inbound_scan=scan, tls={"intercept": True})


WAYS = pytest.mark.parametrize("way", ["h1", "tls", "h2"])


def _base(lab: Proxied, way: str) -> str:
    return lab.http if way == "h1" else lab.https


@WAYS
def test_a_large_request(oversized: Proxied, action: str, way: str) -> None:
    marker = f"large-{action}-{way}"
    url = f"{_base(oversized, way)}/echo?{marker}"
    body = LARGE + b"outgoing-word"

    outcome = oversized.agent().post(url, body, http2=way == "h2")

    reached = oversized.origin.reached(marker)
    if action == "block":
        assert outcome.blocked_by is None
        assert "64" in outcome.json["reason"] or "oversize" in outcome.json["reason"]
        assert reached == []
    else:
        assert outcome.json["length"] == len(body)
        assert len(reached) == 1
    _recorded(oversized, marker, "Network", action)


@WAYS
def test_a_large_response(oversized: Proxied, action: str, way: str) -> None:
    marker = f"large-answer-{action}-{way}"
    body = marker.encode() + LARGE + b"incoming-word"
    path = oversized.origin.serve(f"/{marker}", body)

    outcome = oversized.agent().request(_base(oversized, way) + path, http2=way == "h2")

    if action == "block":
        assert outcome.blocked_by is None
    else:
        assert (outcome.status, outcome.body) == (200, body)
    _recorded(oversized, marker, "Inbound", action)


def _recorded(lab: Proxied, marker: str, context: str, action: str) -> None:
    verdicts = {each["verdict"] for each in lab.events(marker, context)}
    wanted = {"flag": "FLAG", "block": "BLOCK", "allow": "ALLOW"}[action]
    assert wanted in verdicts, verdicts
    assert verdicts <= {wanted, "ALLOW"}


def test_a_large_response_without_a_length(oversized: Proxied, action: str) -> None:
    pieces = [f"chunks-{action}".encode(), *[LARGE[:50_000]] * 4]
    path = oversized.origin.serve(f"/large-chunks-{action}", pieces)

    outcome = oversized.agent().request(oversized.http + path)

    if action == "block":
        assert outcome.failed or outcome.blocked_by is None
    else:
        assert outcome.body == b"".join(pieces)
    _recorded(oversized, f"chunks-{action}", "Inbound", action)


def test_a_body_that_is_large_once_decoded(oversized: Proxied, action: str) -> None:
    url = f"{oversized.http}/status/201?bomb-{action}"
    coded = {"content-encoding": "gzip"}

    outcome = oversized.agent().post(url, gzip.compress(LARGE), headers=coded)

    if action == "block":
        assert outcome.blocked_by is None
    else:
        assert outcome.status == 201
    _recorded(oversized, f"bomb-{action}", "Network", action)


def test_an_answer_that_is_large_once_decoded(oversized: Proxied, action: str) -> None:
    body = f"back-{action}".encode() + LARGE
    path = oversized.origin.serve(
        f"/bomb-{action}", gzip.compress(body), content_encoding="gzip"
    )

    outcome = oversized.agent().request(oversized.http + path)

    if action == "block":
        assert outcome.blocked_by is None
    else:
        assert outcome.body == body
    _recorded(oversized, f"back-{action}", "Inbound", action)


def test_the_line_of_a_large_request_is_judged(oversized: Proxied, action: str) -> None:
    url = f"{oversized.http}/echo?outgoing-word-{action}"

    outcome = oversized.agent().post(url, LARGE)

    assert outcome.blocked_by in ("out", None)
    assert outcome.blocked_by == "out" or action == "block"
    assert oversized.origin.reached(f"outgoing-word-{action}") == []


def test_what_was_buffered_is_judged(oversized: Proxied, action: str) -> None:
    url = f"{oversized.http}/echo?start-{action}"

    outcome = oversized.agent().post(url, b"outgoing-word" + LARGE)

    assert outcome.status == 403
    assert oversized.origin.reached(f"start-{action}") == []


def test_what_was_buffered_of_an_answer_is_judged(
    oversized: Proxied, action: str
) -> None:
    path = oversized.origin.serve(f"/start-{action}", b"incoming-word" + LARGE)

    assert oversized.agent().request(oversized.http + path).status == 403


@pytest.mark.parametrize("size", [LIMIT - 1000, LIMIT])
def test_up_to_the_limit_all_is_judged(oversized: Proxied, size: int) -> None:
    word = b"incoming-word"
    path = oversized.origin.serve(f"/fits-{size}", LARGE[: size - len(word)] + word)
    sent = LARGE[: size - len(word)] + b"outgoing-word"[-len(word) :]

    back = oversized.agent().request(oversized.http + path)
    out = oversized.agent().post(f"{oversized.http}/echo", sent)

    assert back.blocked_by == "back"
    assert out.blocked_by == "out"


def test_a_large_binary_download_is_untouched(oversized: Proxied, action: str) -> None:
    marker = f"picture-{action}"
    body = b"\x89PNG\r\n\x1a\n" + marker.encode() + noise(6 * LIMIT)
    path = oversized.origin.serve(f"/{marker}", body, "image/png")

    outcome = oversized.agent().request(oversized.http + path)

    if outcome.status != 403 or action != "block":
        assert outcome.body == body
    assert oversized.events(marker, "Inbound")


# Larger than memory may grow.

BIG = 209_715_200


def _peak(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(each.split()[1]) * 1024 for each in lines if "VmHWM" in each)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_large_body_streams_in_little_memory(
    make_lab: MakeLab, direction: str
) -> None:
    lab = make_lab(POLICIES, tls={"intercept": True})
    lab.agent().request(f"{lab.https}/text")
    if direction == "down":
        script = f'curl -sS "{lab.https}/big?bytes={BIG}" | wc -c'
    else:
        script = f"head -c {BIG} /dev/zero | curl -sS -T - {lab.https}/echo"

    ran = lab.run("/bin/bash", "-c", script)

    assert str(BIG) in ran.out, ran
    assert max(map(_peak, lab.processes())) < 200 * 1024 * 1024
