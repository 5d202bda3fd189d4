"""What a request is authorized by is left alone by a transform that spares it."""

import pytest

from redlane.contexts.network.content import NetworkContent

REQUEST = (
    b"POST https://%b@a.example/x?q=x HTTP/1.1\n"
    b"authorization: Bearer x\ncookie: x\nx-api-key: x\nx-author: x\nx-note: x\n\n%b"
)


def written(data: bytes) -> bytes:
    content = NetworkContent(data)
    return content.rewritten_beside_credentials(lambda t: t.replace(b"x", b"y")).data


def test_all_but_credentials_is_rewritten() -> None:
    assert written(REQUEST % (b"x:x", b"x and x")) == (
        b"POST https://x:x@a.eyample/y?q=y HTTP/1.1\n"
        b"authorization: Bearer x\ncookie: x\nx-api-key: x\nx-author: y\nx-note: y\n\n"
        b"y and y"
    )


def test_without_them_it_has_neither_headers_nor_user() -> None:
    content = NetworkContent(REQUEST % (b"x:x", b"body")).without_credentials()
    assert content.data == (
        b"POST https://a.example/x?q=x HTTP/1.1\nx-author: x\nx-note: x\n\nbody"
    )


def test_bytes_that_are_no_text_stay_where_nothing_is_changed() -> None:
    content = NetworkContent(REQUEST % (b"u", b"\xff\xfe\x00"))
    changed = content.rewritten_beside_credentials(
        lambda text: text.decode(errors="replace").replace("q=x", "q=y").encode()
    )
    assert changed.data.endswith(b"\n\n\xff\xfe\x00")
    assert b"q=y" in changed.data


@pytest.mark.parametrize("data", [b"no request", b"CONNECT a.example:443 HTTP/1.1\n\n"])
def test_what_has_no_credentials_stays_as_it_is(data: bytes) -> None:
    assert NetworkContent(data).without_credentials().data == data
    assert written(data) == data.replace(b"a.example", b"a.eyample")
