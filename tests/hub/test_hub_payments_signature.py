"""The header that says who sent a webhook, and when."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.payments.signature import is_genuine

SECRET = "whsec_test"
BODY = b'{"id":"evt_1"}'
NOW = 1_900_000_000


def digest(moment: str = str(NOW), body: bytes = BODY, secret: str = SECRET) -> str:
    message = moment.encode() + b"." + body
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


GENUINE = {
    "plain": f"t={NOW},v1={digest()}",
    "the other way round": f"v1={digest()},t={NOW}",
    "with an older scheme": f"t={NOW},v1={digest()},v0=6ffbb59b",
    "second of two": f"t={NOW},v1={'0' * 64},v1={digest()}",
    "first of two": f"t={NOW},v1={digest()},v1=nonsense",
    "spaces after commas": f"t={NOW}, v1={digest()}",
    "the moment twice": f"t={NOW},t={NOW},v1={digest()}",
}


@pytest.mark.parametrize("header", GENUINE.values(), ids=GENUINE.keys())
def test_signature_of_the_secret_is_genuine(header: str) -> None:
    assert is_genuine(SECRET, header, BODY, NOW)


FORGED = {
    "none": "",
    "commas only": ",,,",
    "no moment": f"v1={digest()}",
    "no signature": f"t={NOW}",
    "empty signature": f"t={NOW},v1=",
    "only an older scheme": f"t={NOW},v0={digest()}",
    "another secret": f"t={NOW},v1={digest(secret='whsec_other')}",
    "another body": f"t={NOW},v1={digest(body=BODY + b' ')}",
    "another moment": f"t={NOW + 1},v1={digest()}",
    "two moments": f"t={NOW},t={NOW + 1},v1={digest()}",
    "upper case": f"t={NOW},v1={digest().upper()}",
    "half of it": f"t={NOW},v1={digest()[:32]}",
    "beyond ASCII": f"t={NOW},v1=é{digest()}",
    "a sign": f"t=+{NOW},v1={digest('+' + str(NOW))}",
    "a fraction": f"t={NOW}.0,v1={digest(str(NOW) + '.0')}",
    "other digits": f"t=١٩,v1={digest('١٩')}",
    "too many digits": f"t={'9' * 5000},v1={digest()}",
    "underscores": f"t=1_900_000_000,v1={digest('1_900_000_000')}",
}


@pytest.mark.parametrize("header", FORGED.values(), ids=FORGED.keys())
def test_everything_else_is_not(header: str) -> None:
    assert not is_genuine(SECRET, header, BODY, NOW)


@pytest.mark.parametrize(
    ("apart", "genuine"),
    [(0, True), (300, True), (-300, True), (301, False), (-301, False)],
)
def test_clocks_may_be_five_minutes_apart_either_way(
    apart: int, *, genuine: bool
) -> None:
    header = f"t={NOW},v1={digest()}"
    assert is_genuine(SECRET, header, BODY, NOW + apart) is genuine


def test_no_secret_verifies_nothing() -> None:
    header = f"t={NOW},v1={digest(secret='')}"
    assert not is_genuine("", header, BODY, NOW)


@given(header=st.text(max_size=200), body=st.binary(max_size=50))
def test_nonsense_is_refused_quietly(header: str, body: bytes) -> None:
    assert not is_genuine(SECRET, header, body, NOW)


@given(place=st.integers(0, len(BODY) - 1), bit=st.integers(0, 7))
def test_any_changed_bit_is_noticed(place: int, bit: int) -> None:
    changed = bytearray(BODY)
    changed[place] ^= 1 << bit
    assert not is_genuine(SECRET, f"t={NOW},v1={digest()}", bytes(changed), NOW)
