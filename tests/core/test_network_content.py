"""What policies see of a request."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.contexts.network.content import NetworkContent, RequestLine
from redlane.contexts.parse import parse_content
from redlane.errors import ContentError
from redlane.model.content import Reader
from redlane.model.policy import Action, Context

LINE = RequestLine(b"POST", b"https://EXAMPLE.com/a?q=%41")
BODY = b'{"a": "\\u0073ecret"}'
CONTENT = NetworkContent.of_request(LINE, (), BODY)
OUTER = (Action.ALLOW, Action.MODIFY)
INNER = (Action.BLOCK, Action.FLAG)


@pytest.mark.parametrize("action", OUTER)
@pytest.mark.parametrize("reader", Reader)
def test_allow_and_modify_see_the_request_as_it_is(
    action: Action, reader: Reader
) -> None:
    assert CONTENT.views(action, reader) == (CONTENT.data,)
    assert CONTENT.data == b"POST https://EXAMPLE.com/a?q=%41 HTTP/1.1\n\n" + BODY


@pytest.mark.parametrize("action", INNER)
def test_block_and_flag_see_each_text_inside(action: Action) -> None:
    views = CONTENT.views(action, Reader.PATTERN)
    assert views[0] == CONTENT.data
    assert b"POST https://example.com/a?q=A HTTP/1.1" in views
    assert b"secret" in views
    assert b"A" in views


@pytest.mark.parametrize("action", INNER)
def test_checkers_see_the_request_and_all_that_is_inside_as_one(
    action: Action,
) -> None:
    data, inside = CONTENT.views(action, Reader.CHECKER)
    assert data == CONTENT.data
    assert inside == b"\n".join(CONTENT.texts)
    plain = NetworkContent(b"plain")
    assert plain.views(action, Reader.CHECKER) == (b"plain",)


def test_texts_that_are_given_are_not_worked_out() -> None:
    content = NetworkContent(CONTENT.data, (b"given",))
    assert content.texts == (b"given",)
    assert content.problem is None
    assert content.views(Action.BLOCK, Reader.PATTERN) == (CONTENT.data, b"given")
    assert NetworkContent(CONTENT.data, ()).texts == ()


def test_it_judges_alike_from_its_bytes_alone() -> None:
    parsed = parse_content(Context.NETWORK, CONTENT.data)
    for action in Action:
        for reader in Reader:
            assert parsed.views(action, reader) == CONTENT.views(action, reader)


def test_headers_are_read_when_they_are_shown() -> None:
    password = base64.b64encode(b"user:password-of-ours").decode().encode()
    content = NetworkContent.of_request(
        LINE, ((b"authorization", b"Basic " + password), (b"cookie", b"a=%73x")), b""
    )
    assert b"user:password-of-ours" in content.texts
    assert b"a=sx" in content.texts


def test_the_type_in_the_headers_is_that_of_the_body() -> None:
    body = "тайна".encode("koi8-r")
    kind = b"text/plain; charset=koi8-r"
    shown = NetworkContent.of_request(LINE, ((b"content-type", kind),), body)
    assert "тайна".encode() in shown.texts
    told = NetworkContent.of_request(LINE, (), body, kind.decode())
    assert "тайна".encode() in told.texts


def test_addresses_stand_in_the_hosts_place() -> None:
    content = NetworkContent.of_request(LINE, (), b"", addresses=("10.0.0.1",))
    assert b"POST https://10.0.0.1/a?q=%41 HTTP/1.1" in content.texts


def test_a_modify_gives_another_request() -> None:
    def change(data: bytes) -> bytes:
        return data.replace(b"EXAMPLE.com", b"other.example").replace(b"s", b"5")

    request = CONTENT.rewritten(change).request()
    assert request.line == RequestLine(b"POST", b"http5://other.example/a?q=%41")
    assert request.body == BODY.replace(b"s", b"5")


def test_what_a_modify_leaves_must_be_a_request() -> None:
    with pytest.raises(ContentError):
        CONTENT.rewritten(lambda _: b"gone").request()


def test_what_is_no_request_is_judged_as_a_body() -> None:
    content = parse_content(Context.NETWORK, b'{"a": "\\u0073ecret"}')
    assert b"secret" in content.views(Action.BLOCK, Reader.PATTERN)


def test_a_body_with_too_much_in_it_is_a_problem() -> None:
    body = b"".join(b"--XX\r\nA: %d\r\n\r\nx\r\n" % number for number in range(1_500))
    content = NetworkContent.of_request(LINE, (), body)
    assert content.problem is not None
    assert CONTENT.problem is None


def test_patterns_get_valid_utf8() -> None:
    content = NetworkContent.of_request(LINE, (), b"\xff\xfesecret\xff")
    for view in content.views(Action.BLOCK, Reader.PATTERN):
        view.decode()


@given(st.binary(max_size=200))
def test_any_bytes_are_content(data: bytes) -> None:
    content = parse_content(Context.NETWORK, data)
    for action in Action:
        for view in content.views(action, Reader.PATTERN):
            view.decode()
        content.views(action, Reader.CHECKER)
