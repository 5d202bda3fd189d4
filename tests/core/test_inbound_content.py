"""What policies see of a response."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.contexts.inbound.content import InboundContent
from redlane.contexts.parse import parse_content
from redlane.model.content import Reader
from redlane.model.policy import Action, Context

PAGE = b"<p>safe</p><!-- hid&#100;en -->"
CONTENT = InboundContent(PAGE)


@pytest.mark.parametrize("action", [Action.BLOCK, Action.FLAG])
def test_block_and_flag_see_the_body_and_its_text(action: Action) -> None:
    views = CONTENT.views(action, Reader.PATTERN)
    assert views[0] == PAGE
    assert [view.strip() for view in views[1:]] == [b"safe", b"hidden"]
    data, text = CONTENT.views(action, Reader.CHECKER)
    assert data == PAGE
    assert text.split() == [b"safe", b"hidden"]


@pytest.mark.parametrize("reader", Reader)
def test_allow_sees_the_text_alone_and_as_one(reader: Reader) -> None:
    (text,) = CONTENT.views(Action.ALLOW, reader)
    assert text.split() == [b"safe", b"hidden"]


@pytest.mark.parametrize("reader", Reader)
def test_modify_sees_the_body(reader: Reader) -> None:
    assert CONTENT.views(Action.MODIFY, reader) == (PAGE,)
    changed = CONTENT.rewritten(lambda data: data.replace(b"safe", b"other"))
    assert changed.data == PAGE.replace(b"safe", b"other")
    assert changed.views(Action.ALLOW, reader)[0].split() == [b"other", b"hidden"]


def test_plain_text_is_one_view() -> None:
    content = InboundContent(b"plain text")
    assert content.views(Action.BLOCK, Reader.PATTERN) == (b"plain text",)
    assert content.views(Action.FLAG, Reader.CHECKER) == (b"plain text",)


def test_a_binary_body_is_its_own_text() -> None:
    body = b"\x89PNG\r\n\x1a\nsecret"
    content = InboundContent(body)
    assert content.texts == ()
    assert b"secret" in content.views(Action.BLOCK, Reader.PATTERN)[0]
    assert content.views(Action.ALLOW, Reader.CHECKER) == (body,)


def test_a_body_in_another_charset_is_read_and_kept_as_utf8() -> None:
    body = "тайна".encode("koi8-r")
    content = InboundContent(body, content_type="text/plain; charset=koi8-r")
    assert content.data == "тайна".encode()
    assert parse_content(Context.INBOUND, "тайна".encode("utf-16")).data == (
        "тайна".encode()
    )


def test_texts_that_are_given_are_not_extracted() -> None:
    content = InboundContent(PAGE, (b"given", b"more"))
    assert content.views(Action.BLOCK, Reader.PATTERN) == (PAGE, b"given", b"more")
    assert content.views(Action.ALLOW, Reader.PATTERN) == (b"given\nmore",)
    assert InboundContent(b"\xff\xfea\0", ()).data == b"\xff\xfea\0"


def test_it_judges_alike_from_its_bytes_alone() -> None:
    parsed = parse_content(Context.INBOUND, PAGE)
    for action in Action:
        for reader in Reader:
            assert parsed.views(action, reader) == CONTENT.views(action, reader)


@given(st.binary(max_size=200))
def test_any_bytes_are_content(data: bytes) -> None:
    content = parse_content(Context.INBOUND, data)
    for action in Action:
        for view in content.views(action, Reader.PATTERN):
            view.decode()
        content.views(action, Reader.CHECKER)
