"""Credentials of sessions: made of a key, and by nobody without it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.membership.proxy_tokens import ProxyTokens

KEY = bytes(range(32))
TOKENS = ProxyTokens(KEY)


@pytest.mark.parametrize("session", ["4f2a90c1d2", "u1000-4f2a90c1d2"])
def test_a_credential_is_its_sessions_again_after_a_restart(session: str) -> None:
    made = TOKENS.credential(session)

    assert ProxyTokens(KEY).session_of(made) == session
    assert re.fullmatch(r"[a-z0-9-]+:[a-z2-7]{32}", made)


def test_a_token_is_the_beginning_of_an_hmac() -> None:
    assert ProxyTokens(b"k" * 32).credential("abc") == (
        "abc:v5q3ne4rf36fnyxen6kjogpkccu6qdli"
    )


FOREIGN = {
    "none": None,
    "no-text": 7,
    "empty": "",
    "id-alone": "one",
    "no-token": "one:",
    "no-id": f":{TOKENS.credential('one').partition(':')[2]}",
    "of-another-session": f"two:{TOKENS.credential('one').partition(':')[2]}",
    "of-another-key": ProxyTokens(bytes(32)).credential("one"),
    "upper-case": TOKENS.credential("one").upper(),
    "cut": TOKENS.credential("one")[:-1],
    "longer": TOKENS.credential("one") + "a",
    "padded": TOKENS.credential("one") + "=",
    "not-ascii": "one:é",
    "surrogate": "one:\udc80",
    "huge": "one:" + "a" * 1_000_000,
}


@pytest.mark.parametrize("credential", FOREIGN.values(), ids=FOREIGN)
def test_what_is_no_credential_is_nobodys(credential: object) -> None:
    assert TOKENS.session_of(credential) is None


@given(st.text(max_size=60))
def test_nothing_is_guessed(text: str) -> None:
    assert TOKENS.session_of(text) is None
