"""Which bearer tokens the hub believes (hub API: Authentication)."""

import json
import time
from typing import Any

import pytest
from spec.hub_client import Account, HubClient
from spec.hub_tokens import HS256, SECRET, claims_of, encode, forge, part

ME = "/api/v1/me"
NOBODY = "00000000-0000-4000-8000-000000000000"
HOUR = 3600
VISIBILITIES = "public", "private"


def test_token_is_believed_by_its_signature_and_expiry_alone(
    anyone: HubClient, newcomer: Account
) -> None:
    token = forge(claims_of(newcomer.id))

    assert anyone.signed_in(token).get(ME).json["id"] == newcomer.id


def test_address_in_a_token_is_not_shown(anyone: HubClient, newcomer: Account) -> None:
    token = forge(claims_of(newcomer.id, email="admin@example.com"))

    assert anyone.signed_in(token).get(ME).json["email"] == newcomer.email


def unsigned(algorithm: str, user_id: str) -> str:
    header = {"alg": algorithm, "typ": "JWT"}
    return f"{part(header)}.{part(claims_of(user_id))}."


SIGNATURES = "empty", "truncated", "longer", "padded", "other", "dot", "loose-bits"


def with_signature(change: str, user_id: str) -> str:
    text, _, signature = forge(claims_of(user_id)).rpartition(".")
    changed = {
        "empty": "",
        "truncated": signature[:-2],
        "longer": signature + "AA",
        "padded": signature + "=",
        "other": encode(bytes(32)),
        "dot": signature + ".",
        # The last character holds two bits that belong to no byte.
        "loose-bits": signature[:-1] + chr(ord(signature[-1]) + 1),
    }
    return f"{text}.{changed[change]}"


def claims_text(user_id: str, expiry: str) -> bytes:
    return f'{{"sub":"{user_id}","email":"a@b","exp":{expiry}}}'.encode()


def without(claim: str, user_id: str) -> dict[str, Any]:
    return {k: v for k, v in claims_of(user_id).items() if k != claim}


def bad_tokens(me: str) -> dict[str, str]:
    good = forge(claims_of(me))
    now = int(time.time())
    return {
        "empty": "",
        "word": "nonsense",
        "one-dot": good.rpartition(".")[0],
        "four-parts": good + ".x",
        "no-parts": "..",
        "none": unsigned("none", me),
        "None": unsigned("None", me),
        "NONE": unsigned("NONE", me),
        "nOnE": unsigned("nOnE", me),
        "none-with-a-signature": forge(claims_of(me), {"alg": "none"}),
        "no-alg": forge(claims_of(me), {"typ": "JWT"}),
        "rs256-header": forge(claims_of(me), HS256 | {"alg": "RS256"}),
        "hs384-header-only": forge(claims_of(me), HS256 | {"alg": "HS384"}),
        "hs384": forge(claims_of(me), HS256 | {"alg": "HS384"}, hashed_with="HS384"),
        "hs512": forge(claims_of(me), HS256 | {"alg": "HS512"}, hashed_with="HS512"),
        "hs256-lower-case": forge(claims_of(me), HS256 | {"alg": "hs256"}),
        "crit": forge(claims_of(me), HS256 | {"crit": ["x"], "x": 1}),
        "header-no-object": forge(claims_of(me), ["HS256"]),
        "header-no-json": forge(claims_of(me), b"{"),
        "wrong-secret": forge(claims_of(me), secret="another secret"),
        "no-secret": forge(claims_of(me), secret=""),
        "secret-in-capitals": forge(claims_of(me), secret=SECRET.upper()),
        **{f"signature-{kind}": with_signature(kind, me) for kind in SIGNATURES},
        "claims-changed": forge(claims_of(NOBODY)).rpartition(".")[0]
        + "."
        + good.rpartition(".")[2],
        "expired": forge(claims_of(me, exp=now - 1)),
        "expired-long-ago": forge(claims_of(me, exp=0)),
        "expires-before-the-epoch": forge(claims_of(me, exp=-1)),
        "no-expiry": forge(without("exp", me)),
        "expiry-null": forge(claims_of(me, exp=None)),
        "expiry-text": forge(claims_of(me, exp=str(now + HOUR))),
        "expiry-boolean": forge(claims_of(me, exp=True)),
        "expiry-nan": forge(claims_text(me, "NaN")),
        "expiry-infinity": forge(claims_text(me, "Infinity")),
        "expiry-list": forge(claims_of(me, exp=[now + HOUR])),
        "no-subject": forge(without("sub", me)),
        "subject-null": forge(claims_of(me, sub=None)),
        "subject-number": forge(claims_of(me, sub=1)),
        "subject-word": forge(claims_of("admin")),
        "subject-empty": forge(claims_of("")),
        "subject-with-space": forge(claims_of(f" {me}")),
        "subject-with-newline": forge(claims_of(f"{me}\n")),
        "subject-sql": forge(claims_of("' OR 1=1 --")),
        "account-gone": forge(claims_of(NOBODY)),
        "claims-no-object": forge([claims_of(me)]),
        "claims-null": forge(None),
        "claims-no-json": forge(b"{"),
        "claims-no-utf8": forge(b'{"sub":"\xff"}'),
        "claims-twice": forge(
            json.dumps(claims_of(NOBODY))[:-1].encode() + f',"sub":"{me}"}}'.encode()
        ),
        "huge": forge(claims_of(me, junk="x" * 10_000)) + "x",
    }


@pytest.mark.parametrize("kind", bad_tokens(NOBODY))
def test_token_is_refused(anyone: HubClient, newcomer: Account, kind: str) -> None:
    token = bad_tokens(newcomer.id)[kind]

    answer = anyone.signed_in(token).get(ME)

    assert answer.status == 401
    assert answer.error


@pytest.fixture(scope="module")
def paths(author: Account) -> dict[str, str]:
    """Where one public and one private artifact of the author stand."""
    names = {kind: author.publish(visibility=kind)["name"] for kind in VISIBILITIES}
    return {kind: f"/api/v1/artifacts/{name}/1" for kind, name in names.items()}


@pytest.mark.parametrize("kind", bad_tokens(NOBODY))
def test_refused_token_is_anonymous_where_none_is_needed(
    anyone: HubClient, author: Account, paths: dict[str, str], kind: str
) -> None:
    client = anyone.signed_in(bad_tokens(author.id)[kind])

    statuses = [client.get(paths[visibility]).status for visibility in VISIBILITIES]

    assert statuses == [200, 404]


def test_forged_token_with_the_secret_sees_what_is_private(
    anyone: HubClient, author: Account, paths: dict[str, str]
) -> None:
    client = anyone.signed_in(forge(claims_of(author.id)))

    assert client.get(paths["private"]).status == 200


def headers(token: str) -> dict[str, str]:
    return {
        "no-scheme": token,
        "lower-case": f"bearer {token}",
        "capitals": f"BEARER {token}",
        "two-spaces": f"Bearer  {token}",
        "tab": f"Bearer\t{token}",
        "no-space": f"Bearer{token}",
        "colon": f"Bearer: {token}",
        "basic": f"Basic {token}",
        "token-scheme": f"Token {token}",
        "bearer-only": "Bearer",
        "quoted": f'Bearer "{token}"',
        "something-after": f"Bearer {token} x",
        "comma": f"Bearer {token},Bearer {token}",
        "after-basic": f"Basic eDp5, Bearer {token}",
        "empty": "",
    }


@pytest.mark.parametrize("kind", headers(""))
def test_authorization_is_matched_literally(
    anyone: HubClient, newcomer: Account, kind: str
) -> None:
    head = {"Authorization": headers(newcomer.token)[kind]}

    assert anyone.send("GET", ME, headers=head).status == 401


def test_two_authorization_headers_are_no_credential(
    anyone: HubClient, newcomer: Account
) -> None:
    with anyone.connection() as connection:
        connection.putrequest("GET", ME)
        for token in (newcomer.token, newcomer.token):
            connection.putheader("Authorization", f"Bearer {token}")
        connection.endheaders()
        assert connection.getresponse().status in {400, 401}


@pytest.mark.parametrize("name", ["token", "access_token", "Authorization", "session"])
def test_cookie_is_never_a_credential(
    anyone: HubClient, newcomer: Account, name: str
) -> None:
    cookies = {"Cookie": f"{name}={newcomer.token}"}

    assert anyone.send("GET", ME, headers=cookies).status == 401


@pytest.mark.parametrize("name", ["token", "access_token", "authorization"])
def test_query_is_never_a_credential(
    anyone: HubClient, newcomer: Account, name: str
) -> None:
    assert anyone.get(ME, **{name: newcomer.token}).status == 401


@pytest.mark.parametrize("path", ["/api/v1/login", "/api/v1/me", "/health"])
def test_no_cookie_is_ever_set(newcomer: Account, path: str) -> None:
    body = {"email": newcomer.email, "password": newcomer.password}
    answer = newcomer.http.post(path, body) if "login" in path else None
    answer = answer or newcomer.http.get(path)

    assert answer.status == 200
    assert answer.header("Set-Cookie") is None


NEED_TOKEN = {
    "me": ("GET", ME),
    "email": ("PATCH", "/api/v1/me/email"),
    "password": ("PATCH", "/api/v1/me/password"),
    "checkout": ("POST", "/api/v1/me/checkout-session"),
    "subscription": ("GET", "/api/v1/me/subscription"),
    "new-key": ("POST", "/api/v1/me/signing-keys"),
    "keys": ("GET", "/api/v1/me/signing-keys"),
    "revoke-key": ("DELETE", f"/api/v1/me/signing-keys/{'0' * 64}"),
    "publish": ("POST", "/api/v1/artifacts"),
    "yank": ("POST", f"/api/v1/artifacts/{NOBODY}/yank"),
    "unyank": ("DELETE", f"/api/v1/artifacts/{NOBODY}/yank"),
    "endorse": ("POST", f"/api/v1/artifacts/{NOBODY}/endorsements"),
    "unendorse": ("DELETE", f"/api/v1/artifacts/{NOBODY}/endorsements/{NOBODY}"),
}
CREDENTIALS = {"missing": None, "wrong": "nonsense", "gone": forge(claims_of(NOBODY))}


@pytest.mark.parametrize("token", CREDENTIALS.values(), ids=CREDENTIALS.keys())
@pytest.mark.parametrize("route", NEED_TOKEN.values(), ids=NEED_TOKEN.keys())
def test_route_needs_a_token_of_an_account(
    anyone: HubClient, route: tuple[str, str], token: str | None
) -> None:
    method, path = route
    client = anyone.signed_in(token)

    bodiless = method in {"GET", "DELETE"} or "checkout" in path
    answer = client.send(method, path) if bodiless else client.call(method, path, {})

    assert answer.status == 401
    assert answer.error


ODD_EXPIRIES = {
    "huge": 10**30,
    "beyond-floats": 10**400,
    "float": 4e9,
    "big-float": 1e308,
}


@pytest.mark.parametrize("expiry", ODD_EXPIRIES.values(), ids=ODD_EXPIRIES.keys())
def test_odd_expiry_is_believed_or_refused_and_breaks_nothing(
    anyone: HubClient, newcomer: Account, expiry: float
) -> None:
    token = forge(claims_of(newcomer.id, exp=expiry))

    assert anyone.signed_in(token).get(ME).status in {200, 401}
