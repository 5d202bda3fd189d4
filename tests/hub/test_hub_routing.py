"""Routing: overlapping paths, and what versions and names may be called."""

from typing import Any

import falcon
import falcon.testing
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.app import falcon_app
from redlane_hub.http.operations import Access, Bound, Call, Operation, Raw, operation
from redlane_hub.http.routing import Route, routes

A = "/api/v1/artifacts"
UUID = "00000000-0000-4000-8000-00000000000a"
OTHER = "00000000-0000-4000-8000-00000000000b"


class Nobody:
    """Knows no token."""

    def viewer_id(self, _token: str) -> None:
        return None

    def account(self, _user_id: str) -> None:
        return None


def serving(*declared: tuple[str, str]) -> falcon.testing.TestClient:
    """A client of an application whose operations answer with their own path."""

    def bound(method: str, path: str) -> Any:
        @operation(Operation(method, path, Access.ANYONE, path))
        def handler(_self: object, call: Call[None, None]) -> Raw:
            names = " ".join(f"{name}={value}" for name, value in call.path.items())
            return Raw(f"{method} {path} {names}".strip().encode(), "text/plain")

        return handler

    members = {f"m{place}": bound(*each) for place, each in enumerate(declared)}
    resource = type("Resource", (), members)()
    return falcon.testing.TestClient(falcon_app([resource], Nobody(), 100))


DECLARED = [
    ("GET", "/health"),
    ("POST", A),
    ("GET", f"{A}/search"),
    ("GET", f"{A}/{{name}}/{{version}}"),
    ("GET", f"{A}/{{name}}/{{version}}/members"),
    ("GET", f"{A}/{{name}}/{{version}}/resolve"),
    ("POST", f"{A}/{{artifact_id}}/yank"),
    ("DELETE", f"{A}/{{artifact_id}}/yank"),
    ("POST", f"{A}/{{artifact_id}}/endorsements"),
    ("GET", f"{A}/{{artifact_id}}/endorsements"),
    ("DELETE", f"{A}/{{artifact_id}}/endorsements/{{endorsement_id}}"),
]

REACHED = {
    "health": ("GET", "/health", "GET /health"),
    "search": ("GET", f"{A}/search", f"GET {A}/search"),
    "a version": ("GET", f"{A}/n/1.0", "{name}/{version} name=n version=1.0"),
    "named search": (
        "GET",
        f"{A}/search/1.0",
        "{name}/{version} name=search version=1.0",
    ),
    "version search": (
        "GET",
        f"{A}/n/search",
        "{name}/{version} name=n version=search",
    ),
    "version yank": ("GET", f"{A}/n/yank", "{name}/{version} name=n version=yank"),
    "version members": (
        "GET",
        f"{A}/n/members",
        "{name}/{version} name=n version=members",
    ),
    "version resolve": (
        "GET",
        f"{A}/n/resolve",
        "{name}/{version} name=n version=resolve",
    ),
    "members": ("GET", f"{A}/n/1/members", "/members name=n version=1"),
    "members of version members": (
        "GET",
        f"{A}/n/members/members",
        "/members name=n version=members",
    ),
    "members of version endorsements": (
        "GET",
        f"{A}/n/endorsements/members",
        "/members name=n version=endorsements",
    ),
    "resolve of version endorsements": (
        "GET",
        f"{A}/n/endorsements/resolve",
        "/resolve name=n version=endorsements",
    ),
    "resolve of version yank": (
        "GET",
        f"{A}/n/yank/resolve",
        "/resolve name=n version=yank",
    ),
    "yank": ("POST", f"{A}/{UUID}/yank", f"/yank artifact_id={UUID}"),
    "unyank": (
        "DELETE",
        f"{A}/{UUID}/yank",
        f"DELETE {A}/{{artifact_id}}/yank artifact_id={UUID}",
    ),
    "endorsements": (
        "GET",
        f"{A}/{UUID}/endorsements",
        f"GET {A}/{{artifact_id}}/endorsements artifact_id={UUID}",
    ),
    "withdraw": (
        "DELETE",
        f"{A}/{UUID}/endorsements/{OTHER}",
        f"artifact_id={UUID} endorsement_id={OTHER}",
    ),
    "name with a dot": ("GET", f"{A}/a.b/1+2", "name=a.b version=1+2"),
    "escaped slash": ("GET", f"{A}/a%20b/1", "name=a b version=1"),
}


@pytest.mark.parametrize(("method", "path", "said"), REACHED.values(), ids=REACHED)
def test_a_path_reaches_its_operation(method: str, path: str, said: str) -> None:
    answer = serving(*DECLARED).simulate_request(method, path)
    assert answer.status_code == 200
    assert answer.text.endswith(said)


MALFORMED = {
    "endorsements of a name": ("GET", f"{A}/n/endorsements", "artifact_id"),
    "endorsing a name": ("POST", f"{A}/n/endorsements", "artifact_id"),
    "yanking a name": ("POST", f"{A}/n/yank", "artifact_id"),
    "unyanking a name": ("DELETE", f"{A}/n/yank", "artifact_id"),
    "withdrawing by name": ("DELETE", f"{A}/{UUID}/endorsements/1", "endorsement_id"),
    "withdrawing members": (
        "DELETE",
        f"{A}/{UUID}/endorsements/members",
        "endorsement_id",
    ),
}


@pytest.mark.parametrize(("method", "path", "name"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_id_is_refused_in_plain_text(
    method: str, path: str, name: str
) -> None:
    answer = serving(*DECLARED).simulate_request(method, path)
    assert answer.status_code == 400
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.text == f"{name} in the path must be a UUID"


ALLOWED = {
    "health": ("/health", {"GET", "HEAD"}),
    "artifacts": (A, {"POST"}),
    "search": (f"{A}/search", {"GET", "HEAD"}),
    "a version": (f"{A}/n/1", {"GET", "HEAD"}),
    "yank": (f"{A}/n/yank", {"GET", "HEAD", "POST", "DELETE"}),
    "endorsements": (f"{A}/n/endorsements", {"GET", "HEAD", "POST"}),
    "endorsements members": (
        f"{A}/n/endorsements/members",
        {"GET", "HEAD", "DELETE"},
    ),
}


@pytest.mark.parametrize(("path", "allowed"), ALLOWED.values(), ids=ALLOWED)
def test_a_wrong_method_is_told_the_right_ones(path: str, allowed: set[str]) -> None:
    answer = serving(*DECLARED).simulate_request("PUT", path)
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == allowed | {"OPTIONS"}
    assert answer.json == {"error": "PUT is not allowed here"}


UNKNOWN = [
    "/",
    "/api/v1",
    f"{A}/",
    f"{A}/n",
    f"{A}/n/",
    f"{A}/n/1/",
    f"{A}/n/1/other",
    f"{A}/n/1/members/",
    f"{A}//1",
    f"/{A}/n/1",
    "/health/",
    "/HEALTH",
    "/api/v2/artifacts/search",
    f"{A}/search/",
    "/%00",
]


@pytest.mark.parametrize("path", UNKNOWN)
def test_an_unknown_route_is_not_found(path: str) -> None:
    answer = serving(*DECLARED).simulate_request("GET", path)
    assert (answer.status_code, answer.json) == (404, {"error": "no such route"})


SEGMENTS = st.sampled_from(["a", "b", "{x}", "{y}"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=4, unique_by=lambda each: each)
TEMPLATES = st.lists(
    st.tuples(
        st.sampled_from(["GET", "POST"]), PATHS.map(lambda each: "/" + "/".join(each))
    ),
    min_size=1,
    max_size=5,
)


def fields(path: str) -> int:
    return path.count("{")


def matches(path: str, concrete: list[str]) -> bool:
    wanted = path.removeprefix("/").split("/")
    return len(wanted) == len(concrete) and all(
        one.startswith("{") or one == other
        for one, other in zip(wanted, concrete, strict=True)
    )


@given(
    TEMPLATES,
    st.sampled_from(["GET", "POST"]),
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4),
)
def test_every_path_reaches_the_most_literal_operation_that_matches(
    declared: list[tuple[str, str]], method: str, concrete: list[str]
) -> None:
    unique = list(dict.fromkeys(declared))
    matching = [
        path for way, path in unique if way == method and matches(path, concrete)
    ]
    answer = serving(*unique).simulate_request(method, "/" + "/".join(concrete))
    if matching:
        assert answer.status_code == 200
        reached = answer.text.split()[1]
        assert reached in matching
        assert fields(reached) == min(map(fields, matching))
    else:
        assert answer.status_code in {404, 405}


def test_a_route_gives_each_operation_its_own_names() -> None:
    declared = Operation("GET", "/a/{name}/{version}", Access.ANYONE, "")
    found = Route(("a", "{}", "yank")).names(Bound(declared, lambda _call: None))
    assert found == (("name", "p1", "{}"), ("version", "p2", "yank"))


def test_a_path_is_a_route_of_its_own_and_meets_others_once() -> None:
    every = [
        Bound(Operation(method, path, Access.ANYONE, ""), lambda _call: None)
        for method, path in DECLARED
    ]
    templates = [each.template for each in routes(every)]
    assert len(set(templates)) == len(templates)
    assert f"{A}/{{p3}}/{{p4}}" in templates
    assert f"{A}/{{p3}}/endorsements/members" in templates
