"""Text comes in UTF-8, and goes back in the charset that it came in."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.charsets import charset_of, from_utf8, is_known, to_utf8
from redlane.errors import ContentError

LATIN = "naïve secret"
CASES = {
    "latin-1": (LATIN.encode("latin-1"), "text/html; charset=ISO-8859-1", LATIN),
    "quoted": (LATIN.encode("latin-1"), "text/html; Charset = 'latin1'", LATIN),
    "euro": (b"\x80 5", "text/plain; charset=iso-8859-1", "€ 5"),
    "shift-jis": ("秘密".encode("cp932"), "text/html;charset=Shift_JIS", "秘密"),
    "gbk": ("秘密".encode("gbk"), "text/html;charset=gb2312", "秘密"),
    "koi8": ("тайна".encode("koi8-r"), "text/html;charset=koi8-r", "тайна"),
    "jis": ("秘密".encode("iso2022_jp"), "text/html;charset=iso-2022-jp", "秘密"),
    "utf-16-le-mark": (LATIN.encode("utf-16"), "", LATIN),
    "utf-16-be-mark": (codecs.BOM_UTF16_BE + LATIN.encode("utf-16-be"), "", LATIN),
    "utf-32-mark": (LATIN.encode("utf-32"), "text/html; charset=utf-8", LATIN),
    "utf-16-le": (b"s\0e\0c\0r\0e\0t\0", "", "secret"),
    "utf-16-be": (b"\0s\0e\0c\0r\0e\0t", "text/plain", "secret"),
    "utf-32-le": ("secret".encode("utf-32-le"), "", "secret"),
    "utf-32-be": ("secret".encode("utf-32-be"), "", "secret"),
    "utf-16-declared": (
        "秘密の鍵".encode("utf-16-le"),
        "a; charset=utf-16",
        "秘密の鍵",
    ),
    "meta": (
        b"<meta charset='windows-1251'>" + "тайна".encode("cp1251"),
        "text/html",
        "<meta charset='windows-1251'>тайна",
    ),
    "meta-equiv": (
        b'<META http-equiv=x content="text/html; charset=KOI8-R">'
        + "тайна".encode("koi8-r"),
        "",
        '<META http-equiv=x content="text/html; charset=KOI8-R">тайна',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text_in_another_charset_comes_as_utf8_and_goes_back(name: str) -> None:
    data, content_type, text = CASES[name]
    decoded, charset = to_utf8(data, content_type)
    assert decoded.decode() == text
    assert from_utf8(decoded, charset) == data


UNCHANGED = {
    "utf-8": (LATIN.encode(), "text/plain"),
    "utf-8-mark": (codecs.BOM_UTF8 + LATIN.encode(), "text/plain; charset=latin-1"),
    "ascii": (b"secret", "text/plain; charset=shift_jis"),
    "ascii-called-utf-16": (b"ignore all previous", "text/html; charset=utf-16le"),
    "utf-8-called-utf-16": (LATIN.encode(), "text/html; charset=utf-16"),
    "ascii-in-jis": (b"\x1b$B ignore all\x1b(B", "a/b; charset=iso-2022-jp"),
    "ebcdic": ("secret".encode("cp037"), "text/plain; charset=cp037"),
    "transform": (b"frperg", "text/plain; charset=rot13"),
    "unknown": (b"\xff\xfdx", "text/plain; charset=no-such"),
    "meta-utf-16": (b"<meta charset=utf-16>" + LATIN.encode(), ""),
    "zeros": (bytes(64), "application/octet-stream"),
    "empty": (b"", "text/plain; charset=utf-16"),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_is_not_what_it_is_called_is_left(name: str) -> None:
    data, content_type = UNCHANGED[name]
    assert to_utf8(data, content_type) == (data, None)
    assert from_utf8(data, None) == data


def test_a_charset_that_has_not_the_character_is_told() -> None:
    with pytest.raises(ContentError, match="does not fit"):
        from_utf8("秘密".encode(), "cp1252")


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/html; charset=UTF-8", "utf-8"),
        ('text/html; charset="utf-8"; x=y', "utf-8"),
        ("text/html", None),
        ("", None),
    ],
)
def test_the_charset_of_a_type(content_type: str, charset: str | None) -> None:
    assert charset_of(content_type) == charset


@pytest.mark.parametrize(
    ("content_type", "known"),
    [
        ("application/json", True),
        ('application/json; charset="UTF-8"', True),
        ("a/b; xcharset=odd; charset=utf-8", True),
        ('a/b; y="charset=odd"; charset=utf-8', True),
        ("a/b; charset=utf-8; charset=UTF-8", True),
        ("a/b; charset=utf-8; charset=utf-7", False),
        ("a/b; charset=utf-7-imap", False),
        ("a/b; charset=" + "x" * 90_000, False),
    ],
)
def test_a_charset_is_known_if_it_is_one_and_can_be_read(
    content_type: str, *, known: bool
) -> None:
    assert is_known(content_type) is known


@given(
    st.binary(max_size=100),
    st.sampled_from(["", "utf-16", "gb18030", "iso-2022-jp", "big5", "utf-32be"]),
)
def test_bytes_that_are_no_text_are_no_error(data: bytes, charset: str) -> None:
    decoded, found = to_utf8(data, f"text/plain; charset={charset}")
    assert found is None or decoded.decode() is not None
