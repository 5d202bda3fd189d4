"""The checks in front of a handler: which there are, and in which order."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import falcon.testing
import pytest
from hub_instance import Running, bearer, new_hub

from redlane_hub.app import falcon_app
from redlane_hub.http.operations import Access, Call, Operation, Raw, operation

UUID = "00000000-0000-4000-8000-00000000000a"
LARGEST = 200


@dataclass(frozen=True, slots=True)
class Form:
    text: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    limit: int = 20


@dataclass(frozen=True, slots=True)
class Shown:
    text: str | None


class Things:
    """One operation of each kind."""

    def __init__(self) -> None:
        self.calls: list[Call[Any, Any]] = []

    def take(self, call: Call[Any, Any]) -> Shown:
        self.calls.append(call)
        return Shown("é")

    @operation(Operation("GET", "/open", Access.ANYONE, "", returns=Shown))
    def open(self, call: Call[Any, Any]) -> Shown:
        return self.take(call)

    @operation(Operation("GET", "/mine", Access.OPTIONAL, "", returns=Shown))
    def optional(self, call: Call[Any, Any]) -> Shown:
        return self.take(call)

    @operation(Operation("GET", "/placeholder", Access.PLACEHOLDER, "", returns=Shown))
    def placeholder(self, call: Call[Any, Any]) -> Shown:
        return self.take(call)

    @operation(Operation("GET", "/account", Access.ACCOUNT, "", returns=Shown))
    def account(self, call: Call[Any, Any]) -> Shown:
        return self.take(call)

    @operation(
        Operation(
            "POST",
            "/approved/{artifact_id}",
            Access.APPROVED,
            "",
            status=201,
            body=Form,
            query=Query,
            returns=Shown,
        )
    )
    def approved(self, call: Call[Any, Any]) -> Shown:
        return self.take(call)

    @operation(Operation("DELETE", "/open", Access.ANYONE, "", status=204))
    def delete(self, call: Call[Any, Any]) -> None:
        self.take(call)

    @operation(Operation("GET", "/raw", Access.ANYONE, ""))
    def raw(self, _call: Call[Any, Any]) -> Raw:
        return Raw(b"x", "text/css", {"Cache-Control": "no-cache"}, 203)


@dataclass(frozen=True)
class Site:
    things: Things
    client: falcon.testing.TestClient
    hub: Running

    def call(
        self, method: str, path: str, token: str | None = None, **options: Any
    ) -> falcon.testing.Result:
        headers = {**bearer(token), **options.pop("headers", {})}
        return self.client.simulate_request(method, path, headers=headers, **options)

    def post(self, body: bytes, **headers: str) -> falcon.testing.Result:
        """A request that all checks before the body's let through."""
        token = self.hub.register("approved@b.c")
        sent = {each.replace("_", "-"): text for each, text in headers.items()}
        return self.call("POST", f"/approved/{UUID}", token, body=body, headers=sent)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    hub = new_hub(tmp_path)
    things = Things()
    app = falcon_app([things], hub.hub._accounts, LARGEST)
    return Site(things, falcon.testing.TestClient(app), hub)


ORDER = {
    "malformed id": ("malformed", None, 400),
    "no token": (UUID, None, 401),
    "placeholder": (UUID, "user@placeholder.invalid", 403),
    "not approved": (UUID, "waiting@b.c", 403),
    "query": (UUID, "approved@b.c", 400),
    "media type": (UUID, "approved@b.c", 415),
    "too large": (UUID, "approved@b.c", 413),
    "not JSON": (UUID, "approved@b.c", 400),
    "not the form": (UUID, "approved@b.c", 400),
    "handler": (UUID, "approved@b.c", 201),
}
BODIES = {
    "too large": b'{"text": [' + b" " * LARGEST,
    "not JSON": b'{"text": [',
    "not the form": b'{"text": []}',
    "handler": b'{"text": "a"}',
}


@pytest.mark.parametrize("stage", ORDER)
def test_checks_come_in_their_order(site: Site, stage: str) -> None:
    """Whatever is wrong further on, the first check that fails answers."""
    artifact_id, email, status = ORDER[stage]
    token = site.hub.register(email, approve="waiting" not in email) if email else "x"
    place = list(ORDER).index(stage)
    early = place <= list(ORDER).index("query")
    typed = place > list(ORDER).index("media type")
    answer = site.call(
        "POST",
        f"/approved/{artifact_id}",
        token,
        query_string="limit=x" if early else "limit=3",
        body=BODIES.get(stage, BODIES["too large"]),
        headers={"Content-Type": "application/json" if typed else "text/plain"},
    )
    assert answer.status_code == status
    assert len(site.things.calls) == (stage == "handler")


def test_a_handler_gets_what_was_sent(site: Site) -> None:
    token = site.hub.register("a@b.c")
    answer = site.call(
        "POST",
        f"/approved/{UUID.upper()}",
        token,
        query_string="limit=3&other=1",
        json={"text": "t", "number": 2, "other": None},
    )
    (call,) = site.things.calls
    assert (answer.status_code, answer.json) == (201, {"text": "é"})
    assert call.body == Form("t", 2)
    assert call.query == Query(3)
    assert call.path == {"artifact_id": UUID}
    assert call.account.email == "a@b.c"
    assert call.viewer_id == call.account.id
    assert not call.head


HEADERS = {
    "none": None,
    "empty": "",
    "scheme alone": "Bearer",
    "scheme and space": "Bearer ",
    "small letters": "bearer TOKEN",
    "capitals": "BEARER TOKEN",
    "two spaces": "Bearer  TOKEN",
    "tab": "Bearer\tTOKEN",
    "token alone": "TOKEN",
    "other scheme": "Token TOKEN",
    "basic": "Basic dTpw",
    "quoted": 'Bearer "TOKEN"',
    "two headers": "Bearer TOKEN,Bearer TOKEN",
    "two schemes": "Basic dTpw, Bearer TOKEN",
    "another token": "Bearer x.y.z",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_nobody_is_known_by_another_header(site: Site, header: str | None) -> None:
    token = site.hub.register("a@b.c")
    headers = {}
    if header is not None:
        headers["Authorization"] = header.replace("TOKEN", token)
    headers["Cookie"] = f"token={token}; Authorization=Bearer {token}"
    refused = site.call("GET", "/account", headers=headers)
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert refused.json == {"error": "missing or invalid token"}
    assert site.call("GET", "/mine", headers=headers).status_code == 200
    assert site.things.calls[0].viewer_id is None


def test_an_optional_token_says_who_looks(site: Site) -> None:
    token = site.hub.register("a@b.c")
    site.call("GET", "/mine", token)
    site.hub.clock.advance(days=30)
    site.call("GET", "/mine", token)
    valid, expired = site.things.calls
    assert valid.viewer_id is not None
    assert expired.viewer_id is None
    with pytest.raises(LookupError):
        _ = valid.account


def test_where_anyone_may_call_a_token_is_ignored(site: Site) -> None:
    site.call("GET", "/open", site.hub.register("a@b.c"))
    assert site.things.calls[0].viewer_id is None


def test_a_placeholder_account_may_only_where_it_says_so(site: Site) -> None:
    token = site.hub.register("user@placeholder.invalid")
    assert site.call("GET", "/placeholder", token).status_code == 200
    refused = site.call("GET", "/account", token)
    assert refused.status_code == 403
    assert refused.json == {"error": "set a real email address first"}


def test_an_account_that_waits_may_not_where_approval_is_asked(site: Site) -> None:
    token = site.hub.register("a@b.c", approve=False)
    assert site.call("GET", "/account", token).status_code == 200
    refused = site.call("POST", f"/approved/{UUID}", token)
    assert refused.status_code == 403
    assert refused.json == {"error": "your account is pending admin approval"}


MEDIA_TYPES = {
    "application/json": 201,
    "Application/JSON": 201,
    "application/json; charset=utf-8": 201,
    "application/json;charset=UTF-8": 201,
    'application/json ; charset="utf-8"': 201,
    "application/json; profile=x": 201,
    "": 415,
    "text/plain": 415,
    "application/jsonp": 415,
    "application/problem+json": 415,
    "application/json, text/plain": 415,
    "text/json": 415,
    "application/x-www-form-urlencoded": 415,
    "multipart/form-data; boundary=application/json": 415,
}


@pytest.mark.parametrize(("media_type", "status"), MEDIA_TYPES.items())
def test_a_body_says_that_it_is_json(site: Site, media_type: str, status: int) -> None:
    answer = site.post(b'{"text": "a"}', Content_Type=media_type)
    assert answer.status_code == status
    if status == 415:
        assert answer.json == {"error": "send the body as application/json"}


BAD_BODIES = {
    "empty": (b"", "the body is not valid JSON: line 1 column 1: Expecting value"),
    "spaces": (b"  ", "the body is not valid JSON: line 1 column 3: Expecting value"),
    "null": (b"null", "the body must be a JSON object"),
    "array": (b"[]", "the body must be a JSON object"),
    "not UTF-8": (
        b'{"text": "\xff"}',
        "the body is not valid JSON: the text is not valid UTF-8",
    ),
    "twice": (
        b'{"text": "a", "text": "a"}',
        'the body is not valid JSON: the key "text" stands there twice',
    ),
    "missing": (b"{}", "'text' is required"),
    "null field": (b'{"text": null}', "'text' is required"),
}


@pytest.mark.parametrize(("body", "message"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_bad_body_is_refused_in_one_line(
    site: Site, body: bytes, message: str
) -> None:
    answer = site.post(body, Content_Type="application/json")
    assert (answer.status_code, answer.json) == (400, {"error": message})
    assert site.things.calls == []


def test_a_body_may_be_as_large_as_the_limit_and_no_larger(site: Site) -> None:
    whole = b'{"text": "a"}'.ljust(LARGEST)
    assert site.post(whole, Content_Type="application/json").status_code == 201
    token = site.hub.register("b@b.c")
    refused = site.call(
        "POST",
        f"/approved/{UUID}",
        token,
        body=whole + b" ",
        headers={"Content-Type": "application/json"},
    )
    assert refused.status_code == 413
    assert refused.json == {"error": "the body is over the limit of 200 bytes"}


def test_a_body_where_none_is_needed_is_ignored(site: Site) -> None:
    answer = site.call("GET", "/open", body=b"\xff" * 9999)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.content == '{"text": "é"}'.encode()


def test_nothing_is_answered_with_no_body(site: Site) -> None:
    answer = site.call("DELETE", "/open")
    assert (answer.status_code, answer.content) == (204, b"")
    assert "Content-Type" not in answer.headers


def test_a_ready_answer_goes_out_as_it_is(site: Site) -> None:
    answer = site.call("GET", "/raw")
    assert (answer.status_code, answer.content) == (203, b"x")
    assert answer.headers["Content-Type"] == "text/css"
    assert answer.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["/open", "/raw", "/account"])
def test_head_is_get_without_its_body(site: Site, path: str) -> None:
    got, head = (site.call(method, path) for method in ("GET", "HEAD"))
    assert head.content == b""
    assert head.status_code == got.status_code
    assert head.headers == got.headers


def test_a_handler_learns_that_only_the_headers_are_asked_for(site: Site) -> None:
    site.call("HEAD", "/open")
    assert site.things.calls[0].head
