"""Whatever a request body is wrapped in, what is inside is judged.

Each wrapping comes twice: around what a policy blocks, and around harmless text, which
passes and arrives as it was sent.
"""

import base64
import gzip

import pytest
from origins.wrappings import FORM, WRAPPINGS, Wrapping
from proxied import Proxied
from spec.cases import regex, simple

SECRET, HARMLESS = b"the launch-code is 0000", b"the weather is dull today"
POLICIES = {
    "secret": simple("Block", "launch-code", context="Network"),
    "shaped": regex("Block", "K-\\d{4}-é", context="Network"),
}
SETTINGS = {"tls": {"intercept": True}}


def _post(lab: Proxied, row: Wrapping, body: bytes) -> tuple[int, bytes]:
    url = f"{lab.http}/mirror?{row.id}"
    outcome = lab.agent().post(url, body, headers=dict(row.headers))
    if outcome.status == 403:
        assert outcome.blocked_by == "secret"
    return outcome.status, outcome.body


@pytest.mark.parametrize("row", WRAPPINGS, ids=lambda row: row.id)
def test_what_is_inside_is_judged(lab: Proxied, row: Wrapping) -> None:
    assert _post(lab, row, row.wrap(SECRET))[0] == 403


@pytest.mark.parametrize("row", WRAPPINGS, ids=lambda row: row.id)
def test_what_is_harmless_arrives_as_it_was(lab: Proxied, row: Wrapping) -> None:
    body = row.wrap(HARMLESS)  # once: gzip writes down the second of its making

    assert _post(lab, row, body) == (200, body)


QUERIES: dict[str, str] = {
    "plain": "q=launch-code",
    "percent": "q=%6C%61unch%2Dcode",
    "twice": "q=%256C%2561unch%252Dcode",
    "base64": f"q={base64.b64encode(SECRET).decode()}",
    "base64-url": f"q={base64.urlsafe_b64encode(SECRET).rstrip(b'=').decode()}",
    "hex": f"q={SECRET.hex()}",
    "key": "launch-code=1",
}


@pytest.mark.parametrize("query", QUERIES)
def test_what_the_url_holds_is_judged(lab: Proxied, query: str) -> None:
    outcome = lab.agent().request(f"{lab.http}/text?{QUERIES[query]}")

    assert outcome.blocked_by == "secret"


@pytest.mark.parametrize(
    "path", ["/launch%2Dcode", "/a/%6c%61unch-code/b", "/x;launch-code"]
)
def test_what_the_path_holds_is_judged(lab: Proxied, path: str) -> None:
    assert lab.agent().request(lab.http + path).blocked_by == "secret"


SHAPES: dict[str, tuple[bytes, str]] = {
    "utf-8": ("K-1234-é".encode(), "text/plain; charset=utf-8"),
    "latin-1": ("K-1234-é".encode("latin-1"), "text/plain; charset=iso-8859-1"),
    "windows": ("K-1234-é".encode("cp1252"), "text/plain; charset=windows-1252"),
    "utf-16": ("K-1234-é".encode("utf-16"), "text/plain; charset=utf-16"),
    "json": (b'{"a": "K-1234-\\u00e9"}', "application/json"),
    "form": (b"a=K-1234-%C3%A9", FORM),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_text_is_text_in_every_charset(lab: Proxied, shape: str) -> None:
    body, kind = SHAPES[shape]

    outcome = lab.agent().post(f"{lab.http}/echo", body, headers={"content-type": kind})

    assert outcome.blocked_by == "shaped"


@pytest.mark.parametrize("way", ["tls", "h2"])
def test_a_coding_is_taken_off_in_tls_too(lab: Proxied, way: str) -> None:
    gzipped = {"content-encoding": "gzip"}
    body = gzip.compress(SECRET)

    outcome = lab.agent().post(
        f"{lab.https}/echo", body, headers=gzipped, http2=way == "h2"
    )

    assert outcome.blocked_by == "secret"
