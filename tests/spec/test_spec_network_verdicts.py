"""Block answers, Allow passes, Modify rewrites: what becomes of a request."""

import gzip
from typing import Any

import pytest
from origins.routes import CODINGS
from proxied import Proxied
from spec.cases import executable, modify, regex, simple

REDACT = {"type": "Regex", "pattern": "secret-\\d+", "replacement": "[redacted]"}
LONGER = {"type": "Regex", "pattern": "short", "replacement": "much longer than that"}
ELSEWHERE = {"type": "Regex", "pattern": "/from\\b", "replacement": "/to"}
BROKEN = {"type": "Executable", "command": "/bin/false"}
SHOUT = {"type": "Executable", "command": "/usr/bin/tr s S"}
NETWORK = {"context": "Network"}
POLICIES = {
    "no-bad": simple("Block", "bad-word", reason="not that word", **NETWORK),
    "no-worse": regex("Block", "worse-\\d", **NETWORK),
    "fine": simple("Allow", "allowed-marker", **NETWORK),
    "redact": modify("secret-", REDACT, **NETWORK),
    "longer": modify("make-longer", LONGER, **NETWORK),
    "elsewhere": modify("/from", ELSEWHERE, **NETWORK),
    "broken": modify("break-it", BROKEN, **NETWORK),
    "shout": modify("shout-it", SHOUT, **NETWORK),
    "checker": executable("Block", "/bin/grep -q told-by-checker", **NETWORK),
    "gone": executable("Block", "/nonexistent/checker", **NETWORK),
    "only-inbound": simple("Block", "inbound-word", context="Inbound"),
    "everywhere": simple("Block", "word-of-all"),
}
ROLES = {
    "agent": [each for each in POLICIES if each != "gone"],
    "failing": ["gone"],
    "late": ["redact", "late"],
}
POLICIES["late"] = simple("Block", "[redacted]", **NETWORK)
SETTINGS = {"tls": {"intercept": True}}


def _said(lab: Proxied, marker: str) -> bytes:
    """The one body that reached the origin under a path, its coding taken off."""
    (seen,) = lab.origin.reached(marker)
    assert seen.header("content-length") in ([str(seen.length)], []), seen
    body = seen.body
    for coding in reversed(",".join(seen.header("content-encoding")).split(",")):
        if coding.strip():
            body = UNCODED[coding.strip()](body)
    return body


def _unbrotli(data: bytes) -> bytes:
    import brotli  # noqa: PLC0415  # one row needs it

    return bytes(brotli.decompress(data))


def _unzstd(data: bytes) -> bytes:
    import zstandard  # noqa: PLC0415  # as above

    return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(data))


UNCODED = {"gzip": gzip.decompress, "br": _unbrotli, "zstd": _unzstd}

WAYS: dict[str, dict[str, Any]] = {
    "h1": {},
    "tls": {"secure": True},
    "h2": {"secure": True, "http2": True},
}


def _base(lab: Proxied, way: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    told = dict(way)
    return (lab.https if told.pop("secure", False) else lab.http), told


@pytest.mark.parametrize("way", WAYS)
def test_a_block_is_an_answer_that_is_not_retried(lab: Proxied, way: str) -> None:
    base, told = _base(lab, WAYS[way])

    outcome = lab.agent().post(f"{base}/echo?not-retried-{way}", b"a bad-word", **told)

    assert outcome.blocked_by == "no-bad"
    assert "not that word" in outcome.json["reason"]
    assert lab.origin.reached(f"not-retried-{way}") == []


@pytest.mark.parametrize("way", WAYS)
def test_after_a_block_the_connection_serves_on(lab: Proxied, way: str) -> None:
    base, told = _base(lab, WAYS[way])
    told["keep"] = f"kept-{way}"

    blocked = lab.agent().post(f"{base}/echo", b"a bad-word" * 10_000, **told)
    passed = lab.agent().post(f"{base}/mirror", b"a good one", **told)

    assert blocked.blocked_by == "no-bad"
    assert passed.body == b"a good one"


BLOCKED: dict[str, tuple[str, bytes]] = {
    "no-bad": ("/bad-word", b""),
    "no-worse": ("/echo?worse-7", b""),
    "checker": ("/echo", b"this is told-by-checker"),
    "everywhere": ("/echo", b"the word-of-all contexts"),
    "broken": ("/echo", b"break-it"),
}


@pytest.mark.parametrize("policy", BLOCKED)
def test_it_names_the_policy(lab: Proxied, policy: str) -> None:
    path, body = BLOCKED[policy]

    outcome = lab.agent().post(lab.http + path, body)

    assert outcome.blocked_by == policy
    assert lab.origin.reached(path if not body else body.decode()) == []


def test_a_checker_that_fails_blocks_all(lab: Proxied) -> None:
    outcome = lab.agent("failing").request(f"{lab.http}/text?failing-checker")

    assert outcome.blocked_by == "gone"
    assert lab.origin.reached("failing-checker") == []


def test_an_inbound_policy_does_not_see_requests(lab: Proxied) -> None:
    assert lab.agent().post(f"{lab.http}/status/201", b"inbound-word").status == 201


def test_an_allow_supersedes(lab: Proxied) -> None:
    body = b"bad-word secret-1 allowed-marker"

    outcome = lab.agent().post(f"{lab.http}/mirror", body)

    assert (outcome.status, outcome.body) == (200, body)


def test_an_unmatched_request_passes_untouched(lab: Proxied) -> None:
    outcome = lab.agent().post(f"{lab.http}/mirror?untouched", b"\0\xff\r\n harmless")

    assert outcome.body == b"\0\xff\r\n harmless"


REWRITTEN: dict[str, dict[str, Any]] = {
    "text": {"body": b"key secret-42 end"},
    "chunked": {"pieces": [b"key secr", b"et-42 end"]},
    "gzip": {
        "body": gzip.compress(b"key secret-42 end"),
        "headers": {"content-encoding": "gzip"},
    },
    "br": {
        "body": CODINGS["br"](b"key secret-42 end"),
        "headers": {"content-encoding": "br"},
    },
    "zstd": {
        "body": CODINGS["zstd"](b"key secret-42 end"),
        "headers": {"content-encoding": "zstd"},
    },
    "stacked": {
        "body": CODINGS["br"](gzip.compress(b"key secret-42 end")),
        "headers": {"content-encoding": "gzip, br"},
    },
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", REWRITTEN)
def test_a_body_is_rewritten(lab: Proxied, form: str, way: str) -> None:
    base, told = _base(lab, WAYS[way])
    url = f"{base}/echo?rewritten-{form}-{way}"

    outcome = lab.agent().request(url, "POST", **REWRITTEN[form], **told)

    assert outcome.status == 200, outcome
    assert _said(lab, f"rewritten-{form}-{way}") == b"key [redacted] end"


def test_the_rewritten_body_keeps_its_charset(lab: Proxied) -> None:
    body = "ä secret-42 ß".encode("iso-8859-1")
    kind = {"content-type": "text/plain; charset=iso-8859-1"}

    lab.agent().post(f"{lab.http}/echo?in-latin", body, headers=kind)

    assert _said(lab, "in-latin") == "ä [redacted] ß".encode("iso-8859-1")


@pytest.mark.parametrize("way", WAYS)
def test_a_longer_body_has_the_right_length(lab: Proxied, way: str) -> None:
    base, told = _base(lab, WAYS[way])
    url = f"{base}/echo?make-longer-{way}"

    outcome = lab.agent().post(url, b"short, short", **told)

    assert outcome.status == 200, outcome
    said = _said(lab, f"make-longer-{way}")
    assert said == b"much longer than that, much longer than that"


@pytest.mark.parametrize("way", WAYS)
def test_the_request_line_is_rewritten(lab: Proxied, way: str) -> None:
    base, told = _base(lab, WAYS[way])
    path = lab.origin.serve("/to", b"elsewhere")

    outcome = lab.agent().post(f"{base}/from?line-{way}", b"kept", **told)

    assert outcome.body == b"elsewhere"
    (seen,) = lab.origin.reached(f"line-{way}")
    assert (seen.method, seen.target) == ("POST", f"{path}?line-{way}")
    assert seen.body == b"kept"


def test_a_program_rewrites(lab: Proxied) -> None:
    lab.agent().post(f"{lab.http}/echo?by-program", b"shout-it: yes")

    assert _said(lab, "by-program") == b"Shout-it: yeS"


def test_what_was_rewritten_is_judged_again(lab: Proxied) -> None:
    outcome = lab.agent("late").post(f"{lab.http}/echo?again", b"secret-1")

    assert outcome.blocked_by == "late"
    assert lab.origin.reached("again") == []


def test_a_modify_is_an_event_with_both(lab: Proxied) -> None:
    lab.agent().post(f"{lab.http}/echo?modify-event", b"secret-77")

    event = lab.event("modify-event")
    assert event["verdict"] == "MODIFY"
    assert event["policy"] == "redact"
    assert "[redacted]" in event["modified"]


def test_a_role_that_changes_holds_for_the_next_request(lab: Proxied) -> None:
    agent = lab.new_agent("open")
    before = agent.post(f"{lab.http}/echo", b"bad-word", keep="kept")
    ran = lab.home.run("session", "set-role", "agent", "--session", agent.session)
    after = agent.post(f"{lab.http}/echo", b"bad-word", keep="kept")

    assert ran.code == 0, ran
    assert before.status == 200
    assert after.blocked_by == "no-bad"
